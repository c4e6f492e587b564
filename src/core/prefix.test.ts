import assert from 'node:assert/strict'
import { describe, expect, test } from 'vitest'
import { isOperatorLocalPart, isReservedLocalPart, parsePrefix, randomLocalPart } from './prefix.ts'
import { Problem } from './problem.ts'

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

const bytes =
  (...values: number[]) =>
  () =>
    Uint8Array.from(values)

test('every byte selects a different word', () => {
  const all = Array.from({ length: 256 }, (_, byte) =>
    randomLocalPart(bytes(byte, byte, 0, 0, 0, 0, 0)),
  )
  const words = all.map((name) => name.replace(/\d+$/, '').split('.'))
  assert.equal(new Set(words.map(([adjective]) => adjective)).size, 256)
  assert.equal(new Set(words.map(([, noun]) => noun)).size, 256)
})

test('every generated name is a valid prefix', () => {
  for (let byte = 0; byte < 256; byte += 1) {
    const name = randomLocalPart(bytes(byte, 255 - byte, byte, byte, byte, byte, byte))
    assert.equal(parsePrefix(name), name)
    assert.match(name, /^[a-z]{2,12}\.[a-z]{2,12}[0-9]{8}$/)
  }
})

test('every random byte matters', () => {
  const names = new Set<string>()
  for (let changed = 0; changed < 7; changed += 1) {
    names.add(
      randomLocalPart(
        bytes(...Array.from({ length: 7 }, (_, index) => (index === changed ? 1 : 0))),
      ),
    )
  }
  assert.equal(names.size, 7)
})
