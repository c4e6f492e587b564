import { describe, expect, test } from 'vitest'
import { matchesSender, parseSenderPattern } from './sender-pattern.ts'

describe('a sender', () => {
  for (const [pattern, sender, expected] of [
    ['ann@shop.test', 'Ann@Shop.test', true],
    ['ANN@SHOP.TEST', 'ann@shop.test', true],
    ['ann@shop.test', 'joann@shop.test', false],
    ['ann@shop.test', 'ann@mail.shop.test', false],
    ['shop.test', 'ann@shop.test', true],
    ['shop.test', 'ann@mail.shop.test', true],
    ['shop.test', 'ann@myshop.test', false],
    ['shop.test', 'ann@shop.test.evil.test', false],
    ['shop.test', 'shop.test@evil.test', false],
    ['shop.test', 'shop.test', false],
    ['shop.test', '', false],
    ['STRASSE.test', 'ann@straße.test', true],
    ['"a b"@shop.test', '"a b"@shop.test', undefined],
    ['"a@b"@shop.test', '"A@B"@shop.test', true],
  ] as const) {
    test(`${sender} ${expected ? 'matches' : 'does not match'} ${pattern}`, () => {
      const parsed = parseSenderPattern(pattern)
      expect(parsed && matchesSender(parsed, sender)).toBe(expected)
    })
  }

  for (const text of [
    '',
    '@',
    '@shop.test',
    'ann@',
    'a b.test',
    'shop..test',
    '.test',
    'a,b',
    'x'.repeat(321),
    // Folded it would have 166 characters: the length is that of what was sent.
    `${'e\u0301'.repeat(161)}.test`,
  ]) {
    test(`${JSON.stringify(text.slice(0, 20))} is neither an address nor a domain`, () => {
      expect(parseSenderPattern(text)).toBeUndefined()
    })
  }
})
