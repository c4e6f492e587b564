import { describe, expect, test } from 'vitest'
import { foldCase } from './case-folding.ts'

describe('texts are equal without case', () => {
  for (const [name, one, other] of [
    ['ASCII', 'Code', 'cODE'],
    ['German sharp s, small and capital', 'Straße', 'STRASSE'],
    ['German capital sharp s', 'STRAẞE', 'strasse'],
    ['Greek sigma inside and at the end of a word', 'ΟΔΟΣ', 'οδοσ'],
    ['Greek final sigma', 'οδος', 'ΟΔΟΣ'],
    ['Turkish capital I with a dot is i and a dot', 'İ', 'i\u0307'],
    ['an accent as a character of its own', 'CAFÉ', 'cafe\u0301'],
    ['two accents in another order', 'q\u0307\u0323', 'Q\u0323\u0307'],
    ['a ligature', 'ﬁn', 'FIN'],
    ['the Kelvin sign', '\u212a', 'k'],
    ['letters beyond the first plane', '𐐀', '𐐨'],
  ] as const) {
    test(name, () => expect(foldCase(one)).toBe(foldCase(other)))
  }
})

describe('texts are different', () => {
  for (const [name, one, other] of [
    ['Turkish dotless i', 'ı', 'i'],
    ['Turkish dotless i and capital I', 'ı', 'I'],
    ['with and without an accent', 'cafe', 'café'],
    ['CJK', '中', '文'],
    ['emoji with another skin tone', '👍🏽', '👍🏿'],
  ] as const) {
    test(name, () => expect(foldCase(one)).not.toBe(foldCase(other)))
  }
})

test('every character folds like those that a regular expression ignores the case of', () => {
  // Regular expressions use Unicode's simple case folding, where one character never becomes two.
  const wrong: string[] = []
  for (let point = 0; point < 0x1_10000; point += 1) {
    if (point >= 0xd800 && point < 0xe000) continue
    const char = String.fromCodePoint(point)
    for (const cased of [char.toLowerCase(), char.toUpperCase()]) {
      if (cased === char || [...cased].length > 1 || cased.normalize('NFC') !== cased) continue
      const isSame = new RegExp(`^${escaped(char)}$`, 'iu').test(cased)
      if (isSame !== (foldCase(char) === foldCase(cased))) wrong.push(`${char} ${cased}`)
    }
  }
  expect(wrong).toEqual([])
})

function escaped(char: string): string {
  return `\\u{${char.codePointAt(0)?.toString(16)}}`
}

test('folding twice changes nothing more', () => {
  for (const text of ['STRAẞE', 'ΟΔΟΣ', 'İıIi', 'ﬁ', 'Q\u0307\u0323', 'ᾼ']) {
    expect(foldCase(foldCase(text))).toBe(foldCase(text))
  }
})

test('runs of more than 30 marks are not put in order as a whole, which would take quadratic time', () => {
  const [above, below] = ['\u0301', '\u0323']
  const mixed = (count: number) => foldCase(`q${above.repeat(count)}${below.repeat(count)}`)
  expect(mixed(10)).toBe(foldCase(`q${below.repeat(10)}${above.repeat(10)}`))
  // Composed or not, and once folded, the joiners are in the same places.
  for (const marks of [
    above.repeat(29),
    above.repeat(40),
    `${'\u0344'.repeat(20)}${below.repeat(70)}`,
  ]) {
    expect(foldCase(`é${marks}`)).toBe(foldCase(`E\u0301${marks}`))
    expect(foldCase(foldCase(`é${marks}`))).toBe(foldCase(`é${marks}`))
  }
  expect(mixed(30)).toBe(`q${above.repeat(30)}\u034f${below.repeat(30)}\u034f`)
})
