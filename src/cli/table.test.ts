import { expect, test } from 'vitest'
import { table, wrapList } from './table.ts'

test('columns line up, and no line ends in blanks', () => {
  expect(
    table([
      ['A', 'LONGER', 'C'],
      ['wide', 'x', ''],
      ['a', '', 'z'],
    ]),
  ).toEqual(['A     LONGER  C', 'wide  x', 'a             z'])
})

test('a cell of several lines makes its row as high', () => {
  expect(
    table([
      ['a', 'one\ntwo', 'b'],
      ['c', 'x', 'd'],
    ]),
  ).toEqual(['a  one  b', '   two', 'c  x    d'])
})

for (const [text, width, wrapped] of [
  ['', 10, ''],
  ['one', 10, 'one'],
  ['one,two', 10, 'one,two'],
  ['one,two,three', 8, 'one,two,\nthree'],
  ['far-too-long-for-it,b', 5, 'far-too-long-for-it,\nb'],
] as const) {
  test(`${text || 'nothing'} in ${width} columns`, () =>
    expect(wrapList(text, width)).toBe(wrapped))
}
