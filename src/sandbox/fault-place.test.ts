import { expect, test } from 'vitest'
import { faultPlace } from './fault-place.ts'

test('a fault is told by its kind and its place', () => {
  const place = faultPlace(new RangeError('too far'))
  expect(place).toMatch(/^RangeError at .*src\/sandbox\/fault-place\.test\.ts:5:\d+/)
  expect(place).not.toMatch(/file:/)
})

for (const [name, quoted] of [
  ['plain words', 'the private words of a mail'],
  ['a line that looks like a place', 'bad charset\n    at private (words.ts:1:1)'],
  ['signs that a replacement would read', "$& $' private $1"],
] as const) {
  test(`a fault does not quote ${name}`, () => {
    for (const fault of [new Error(quoted), quoted]) {
      expect(faultPlace(fault)).toMatch(/^Error at /)
      expect(faultPlace(fault)).not.toMatch(/private/)
    }
  })
}
