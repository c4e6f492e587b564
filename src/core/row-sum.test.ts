import { expect, test } from 'vitest'
import { bytesHash, isSameSum, NO_ROWS, plusRows, type Row } from './row-sum.ts'

const ANN = { id: 1, name: 'Ann', left: null }
const BOB = { id: 2, name: 'Bob', left: 5 }
const sumOf = (...rows: Row[]) => plusRows(NO_ROWS, rows)

test('the same rows have the same sum, in any order and grouping, whatever the order of columns', () => {
  const { id, ...rest } = BOB
  const other = plusRows(plusRows(NO_ROWS, [{ ...rest, id }]), [ANN])
  expect(isSameSum(sumOf(ANN, BOB), other)).toBe(true)
})

test('bytes count as their hash', () => {
  const bytes = Buffer.from('mail')
  expect(isSameSum(sumOf({ bytes }), sumOf({ bytes: bytesHash(bytes) }))).toBe(true)
})

for (const [name, rows] of [
  ['a row less', [ANN]],
  ['a row twice', [ANN, BOB, BOB]],
  ['one row for another', [ANN, ANN]],
  ['a value that is another', [ANN, { ...BOB, left: 6 }]],
  ['a number that is a text', [ANN, { ...BOB, left: '5' }]],
  ['nothing that is an empty text', [{ ...ANN, left: '' }, BOB]],
  [
    'two values exchanged',
    [
      { ...ANN, name: 'Bob' },
      { ...BOB, name: 'Ann' },
    ],
  ],
  ['a column more', [{ ...ANN, more: null }, BOB]],
] as const) {
  test(`${name} makes a difference`, () => {
    expect(isSameSum(sumOf(ANN, BOB), sumOf(...rows))).toBe(false)
  })
}
