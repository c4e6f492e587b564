import assert from 'node:assert/strict'
import { test } from 'vitest'
import { orderTermText, priceText, termText, validityText } from './price.ts'

for (const [cents, currency, words] of [
  [500, 'usd', '5 USD'],
  [4_550, 'eur', '45.50 EUR'],
  [500, 'jpy', '500 JPY'],
  [123_456_00, 'usd', '123,456 USD'],
] as const) {
  test(`${cents} of ${currency} is ${words}`, () => {
    assert.equal(priceText({ cents, currency }), words)
  })
}

for (const [months, renews, term, validity] of [
  [null, false, 'once', 'No expiry'],
  [1, true, 'a month', 'Valid for a month'],
  [12, true, 'a year', 'Valid for a year'],
  [12, false, 'for a year', 'Valid for a year'],
  [3, true, 'every 3 months', 'Valid for 3 months'],
  [24, false, 'for 2 years', 'Valid for 2 years'],
] as const) {
  test(`${months} months${renews ? ' and again' : ''}: ${term}`, () => {
    assert.equal(termText({ months, renews }), term)
    assert.equal(validityText(months), validity)
  })
}

test('an order’s term is known in the reader’s words, or said as the API says it', () => {
  assert.equal(orderTermText('a year'), 'a year')
  assert.equal(orderTermText('every 5 months'), 'every 5 months')
})
