import assert from 'node:assert/strict'
import { test } from 'vitest'
import { validityOf } from './plans.ts'

for (const [months, expected] of [
  [undefined, 'no expiry'],
  [1, '1 month'],
  [3, '3 months'],
  [12, '1 year'],
  [18, '18 months'],
  [24, '2 years'],
] as const) {
  test(`${months} months: ${expected}`, () => assert.equal(validityOf({ months }), expected))
}
