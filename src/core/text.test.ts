import { describe, expect, test } from 'vitest'
import { printable, printableLines } from './text.ts'

describe('untrusted text cannot', () => {
  for (const [name, text, shown] of [
    ['clear the screen', '\u001b[2J', '\\u001b[2J'],
    ['clear it with a C1 character', '\u009b2J', '\\u009b2J'],
    ['ring the bell or move the cursor back', '\u0007\b\r', '\\u0007\\u0008\\u000d'],
    ['break the line with a Unicode line separator', 'a\u2028b\u2029', 'a\\u2028b\\u2029'],
    ['reverse the reading direction', '\u202egpj.exe', '\\u202egpj.exe'],
    ['contain invisible characters', '\ufeff\u200f', '\\ufeff\\u200f'],
  ] as const) {
    test(name, () => {
      expect(printable(text)).toBe(shown)
      expect(printableLines(text)).toBe(shown)
    })
  }
})

test('line breaks and tabs are escaped in single-line text and kept in multi-line text', () => {
  expect(printable('a\n\tb')).toBe('a\\u000a\\u0009b')
  expect(printableLines('a\n\tb')).toBe('a\n\tb')
})

test('letters of every script are unchanged', () => {
  const text = 'Zoë, 木, 👩‍👧, שלום, e\u0301'
  expect(printable(text)).toBe(text)
})
