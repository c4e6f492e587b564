import { expect, test } from 'vitest'
import { negotiateLanguage, textDirection } from './languages.ts'

for (const [header, expected] of [
  [undefined, 'en'],
  ['', 'en'],
  ['de', 'de'],
  ['DE-at', 'de'],
  ['de-CH,en;q=0.9', 'de'],
  ['en;q=0.5, ar;q=0.9', 'ar'],
  ['sw, zh-Hant-TW;q=0.8, en;q=0.1', 'zh'],
  ['fr;q=0, es;q=0.1', 'es'],
  ['sw', 'en'],
  ['*', 'en'],
  ['pt;q=nonsense', 'en'],
  ['constructor, __proto__', 'en'],
  [`${'x'.repeat(100_000)},de`, 'en'],
] as const) {
  test(`${header?.slice(0, 40)} selects ${expected}`, () => {
    expect(negotiateLanguage(header)).toBe(expected)
  })
}

test('only Arabic runs from right to left', () => {
  expect(textDirection('ar')).toBe('rtl')
  expect(textDirection('zh')).toBe('ltr')
})
