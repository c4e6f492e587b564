import { expect, test } from 'vitest'
import de from './locales/de.json' with { type: 'json' }
import en from './locales/en.json' with { type: 'json' }
import zh from './locales/zh.json' with { type: 'json' }
import { formatPrice, formatTerm, planFeatures, translateTerm } from './plan-text.ts'
import { type Translate, translate } from './translate.ts'

const t: Translate = (name, values = {}) => translate(en[name], 'en', values)

for (const [cents, currency, expected] of [
  [500, 'usd', '$5'],
  [4_550, 'eur', '€45.50'],
  [500, 'jpy', '¥500'],
  [123_456_00, 'usd', '$123,456'],
] as const) {
  test(`${cents} of ${currency} is ${expected}`, () => {
    expect(formatPrice(cents, currency, 'en')).toBe(expected)
  })
}

test('the price is written as the language writes prices', () => {
  expect(formatPrice(123_456_50, 'usd', 'de')).toBe('123.456,50\u00a0$')
})

for (const [months, renews, term, validity] of [
  [undefined, false, 'once', 'No expiry'],
  [1, true, 'a month', 'Valid for a month'],
  [12, true, 'a year', 'Valid for a year'],
  [12, false, 'for a year', 'Valid for a year'],
  [3, true, 'every 3 months', 'Valid for 3 months'],
  [24, false, 'for 2 years', 'Valid for 2 years'],
] as const) {
  test(`${months} months${renews ? ', renewed' : ''}: ${term}`, () => {
    expect(formatTerm({ months, renews }, t)).toBe(term)
    const limits = { requests: 1_000, perDay: undefined, domains: 0 }
    const plan = { ...limits, months, renews, support: '' }
    expect(planFeatures(plan, t)).toStrictEqual([
      '1,000 requests',
      'No daily limit',
      validity,
      ...(renews ? ['Renews automatically'] : []),
    ])
  })
}

for (const [domains, expected] of [
  [1, '1 domain of your own'],
  [5, '5 domains of your own'],
] as const) {
  test(`a plan names ${domains} of its domains`, () => {
    const limits = { requests: 1, perDay: undefined, months: undefined, renews: false }
    expect(planFeatures({ ...limits, domains, support: '' }, t)).toContain(expected)
  })
}

test('the term of an order is translated if it is a common one', () => {
  const inGerman: Translate = (name, values = {}) => translate(de[name], 'de', values)
  expect(translateTerm('once', inGerman)).toBe('einmalig')
  expect(translateTerm('a year', inGerman)).toBe('pro Jahr')
  expect(translateTerm('for a month', inGerman)).toBe('für einen Monat')
  expect(translateTerm('every 5 months', inGerman)).toBe('every 5 months')
  // Chinese has no plural, but does not say "every 1 year" either.
  const inChinese: Translate = (name, values = {}) => translate(zh[name], 'zh', values)
  expect(translateTerm('a year', inChinese)).toBe('每年')
})
