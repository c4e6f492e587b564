import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Problem } from '../../base/problem.ts'
import { isOperatorLocalPart, isReservedLocalPart, parsePrefix, randomLocalPart } from './prefix.ts'

function codeOf(text: string): string {
  try {
    return parsePrefix(text)
  } catch (error) {
    if (error instanceof Problem) return error.code
    throw error
  }
}

describe('a prefix', () => {
  for (const [name, text, expected] of [
    ['may be one letter', 'a', 'a'],
    ['may be digits', '007', '007'],
    ['is lower-cased', 'Ann.Smith', 'ann.smith'],
    ['may have single separators inside', 'a.b_c-d', 'a.b_c-d'],
    ['may have 64 octets', 'a'.repeat(64), 'a'.repeat(64)],
    ['may not have 65 octets', 'a'.repeat(65), 'invalid_prefix'],
    ['may not be empty', '', 'invalid_prefix'],
    ['may not start with a separator', '.a', 'invalid_prefix'],
    ['may not end with a separator', 'a-', 'invalid_prefix'],
    ['may not have two separators in a row', 'a..b', 'invalid_prefix'],
    ['may not have two different separators in a row', 'a._b', 'invalid_prefix'],
    ['may not be a separator', '-', 'invalid_prefix'],
    ['may not have a plus', 'a+b', 'invalid_prefix'],
    ['may not have an @', 'a@box.example', 'invalid_prefix'],
    ['may not have blanks', ' a', 'invalid_prefix'],
    ['may not have a line break', 'a\n', 'invalid_prefix'],
    ['may not have a NUL', 'a\0', 'invalid_prefix'],
    ['may not have letters outside ASCII', 'zoë', 'invalid_prefix'],
    ['may not have a Kelvin sign, which lower-cases to k', '\u212aim', 'invalid_prefix'],
    ['may not have a dotted capital I', '\u0130an', 'invalid_prefix'],
    ['may not have full-width letters', 'ａ', 'invalid_prefix'],
    ['may not have Arabic digits', '١', 'invalid_prefix'],
    ['may not be quoted', '"a"', 'invalid_prefix'],
  ] as const) {
    test(name, () => expect(codeOf(text)).toBe(expected))
  }
})

describe('reserved names are refused', () => {
  const names = `postmaster abuse hostmaster webmaster admin administrator root security noc support info sales marketing
    usenet news uucp ftp www noreply no-reply mailer-daemon ssl-admin ssladmin ssladministrator sysadmin billing help
    unsubscribe daemon nobody dmarc`
  for (const name of names.split(/\s+/)) {
    test(name, () => expect(codeOf(name)).toBe('reserved_prefix'))
  }

  for (const name of [
    'ssl.admin',
    'ssl_admin',
    'SSL-Admin',
    'post.master',
    'a-d-m-i-n',
    'no_reply',
  ]) {
    test(`${name}, with any separators`, () => expect(codeOf(name)).toBe('reserved_prefix'))
  }

  for (const name of ['admin2', 'administer', 'rooted', 'myabuse', 'newsletter']) {
    test(`but ${name} is allowed`, () => expect(codeOf(name)).toBe(name))
  }
})

test('the message names the parameter and the allowed values', () => {
  expect(() => parsePrefix('a..b')).toThrow(/^prefix: use 1 to 64 of a-z and 0-9/)
  expect(() => parsePrefix('Root')).toThrow(/^prefix: "root" is reserved/)
})

test('a plus tag does not hide a reserved name spelled with it', () => {
  expect(isReservedLocalPart('post+master')).toBe(true)
})

test('only postmaster and abuse are operator addresses', () => {
  expect(
    ['postmaster', 'abuse', 'post.master', 'admin', 'Postmaster', ''].map(isOperatorLocalPart),
  ).toEqual([true, true, false, false, false, false])
})

const nameFrom = (number: bigint) => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(number)
  return randomLocalPart(() => bytes)
}

test('a random name is a valid prefix of pronounceable syllables, shorter than 20 characters', () => {
  fc.assert(
    fc.property(fc.bigInt(0n, 2n ** 64n - 1n), (number) => {
      const name = nameFrom(number)
      expect(parsePrefix(name)).toBe(name)
      expect(name).toMatch(/^([b-z][aeiou]){3}\.([b-z][aeiou]){3}\d{3}$/)
      expect(name.length).toBeLessThan(20)
    }),
  )
})

test('a random name has at least 40 random bits: every part is drawn independently', () => {
  let scale = 1n
  let bits = 0
  for (const [start, end, choices] of PARTS) {
    const names = Array.from({ length: choices }, (_, drawn) => nameFrom(BigInt(drawn) * scale))
    expect(new Set(names).size).toBe(choices)
    expect(new Set(names.map((name) => name.slice(0, start) + name.slice(end))).size).toBe(1)
    scale *= BigInt(choices)
    bits += Math.log2(choices)
  }
  expect(bits, `${bits} bits`).toBeGreaterThanOrEqual(40)
})

/** Where each part of a name is, and its number of choices. */
const PARTS = [
  ...[0, 2, 4, 7, 9, 11].map((start) => [start, start + 2, 50] as const),
  [13, 16, 1_000] as const,
]
