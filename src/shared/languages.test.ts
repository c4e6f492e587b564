import assert from 'node:assert/strict'
import { test } from 'vitest'
import { directionOf, negotiateLanguage } from './languages.ts'

for (const [accepted, expected] of [
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
  test(`${accepted?.slice(0, 40)} is answered in ${expected}`, () => {
    assert.equal(negotiateLanguage(accepted), expected)
  })
}

test('only Arabic is written from right to left', () => {
  assert.equal(directionOf('ar'), 'rtl')
  assert.equal(directionOf('zh'), 'ltr')
})
