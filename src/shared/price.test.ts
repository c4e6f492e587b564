import { expect, test } from 'vitest'
import { priceText, termText, validityOf } from './plan.ts'

for (const [priceCents, currency, expected] of [
  [500, 'usd', '5 USD'],
  [4_500, 'usd', '45 USD'],
  [450, 'eur', '4.50 EUR'],
  [5, 'usd', '0.05 USD'],
  [0, 'usd', '0 USD'],
  [500, 'jpy', '500 JPY'],
  [1_234, 'kwd', '1.234 KWD'],
] as const) {
  test(`${priceCents} of ${currency} is ${expected}`, () => {
    expect(priceText({ priceCents, currency })).toBe(expected)
  })
}

for (const [months, renews, expected] of [
  [undefined, false, 'once'],
  [12, true, 'a year'],
  [12, false, 'for a year'],
  [1, true, 'a month'],
  [1, false, 'for a month'],
  [3, true, 'every 3 months'],
  [3, false, 'for 3 months'],
] as const) {
  test(`${months ?? 'no'} months, ${renews ? 'renewed' : 'not renewed'}: ${expected}`, () => {
    expect(termText({ months, renews })).toBe(expected)
  })
}

for (const [months, expected] of [
  [undefined, 'no expiry'],
  [1, '1 month'],
  [3, '3 months'],
  [12, '1 year'],
  [18, '18 months'],
  [24, '2 years'],
] as const) {
  test(`${months} months: ${expected}`, () => expect(validityOf({ months })).toBe(expected))
}
