import { describe, expect, test } from 'vitest'
import { previewOf, printable, printableLines } from './text.ts'

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

describe('a preview', () => {
  for (const [name, text, shown] of [
    ['is on one line', '\n Your\r\n\tcode:\u00a0\u20281 \n', 'Your code: 1'],
    ['has 120 characters, not half a pair', '👩'.repeat(121), '👩'.repeat(120)],
    ['does not end in a space', `${'a'.repeat(119)} b`, 'a'.repeat(119)],
    ['has no controls that reverse or hide text', 'a\u202eb\u0007\u0000c', 'abc'],
    ['has no lone surrogate', 'a\ud83d', 'a\ufffd'],
    ['of a text that begins with blanks begins with its words', `${' '.repeat(5_000)}a`, 'a'],
    ['of an empty text is empty', '', ''],
  ] as const) {
    test(name, () => expect(previewOf(text)).toBe(shown))
  }
})
