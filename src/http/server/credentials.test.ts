import { describe, expect, test } from 'vitest'
import { apiKeyBesideToken, apiKeyOf, cookieValue, setCookieHeader } from './credentials.ts'

for (const [name, header, value] of [
  ['a missing header has no cookie', undefined, undefined],
  ['an empty header has no cookie', '', undefined],
  ['a single cookie is read', 'mine=abc', 'abc'],
  ['a cookie among others is read', 'a=1; mine=abc; b=2', 'abc'],
  ['cookies without spaces are read', 'a=1;mine=abc', 'abc'],
  ['an empty cookie is read', 'mine=', ''],
  ['a value may contain an equals sign', 'mine=a=b', 'a=b'],
  ['a cookie name with the same suffix does not match', 'not-mine=abc', undefined],
  ['a cookie name with the same prefix does not match', 'mine-not=abc', undefined],
  ['cookie names are case-sensitive', 'Mine=abc', undefined],
  ['the first of two cookies is read', 'mine=1; mine=2', '1'],
  ['a malformed header has no cookie', ';;=; =;;', undefined],
  ['the 200th cookie is read', `${'a=1; '.repeat(199)}mine=abc`, 'abc'],
  ['further cookies are not', `${'a=1; '.repeat(200)}mine=abc`, undefined],
] as const) {
  test(name, () => expect(cookieValue(header, 'mine')).toBe(value))
}

test('cookies are HttpOnly and SameSite=Strict, and Secure over https', () => {
  const cookie = { name: 'mine', value: 'abc', path: '/here', maxAgeSeconds: 60, secure: false }
  const text = 'mine=abc; Path=/here; Max-Age=60; HttpOnly; SameSite=Strict'
  expect(setCookieHeader(cookie)).toBe(text)
  expect(setCookieHeader({ ...cookie, secure: true })).toBe(`${text}; Secure`)
})

describe('the key of a request', () => {
  for (const [name, headers, expected] of [
    ['no header', {}, undefined],
    ['APIKey', { apikey: 'a' }, 'a'],
    ['X-API-Key', { 'x-api-key': 'b' }, 'b'],
    ['Bearer', { authorization: 'Bearer c' }, 'c'],
    ['bearer in any case', { authorization: 'bEARER  c ' }, 'c'],
    ['another scheme is ignored', { authorization: 'Basic c' }, undefined],
    [
      'APIKey takes precedence over all others',
      { apikey: 'a', 'x-api-key': 'b', authorization: 'Bearer c' },
      'a',
    ],
    [
      'X-API-Key takes precedence over Bearer',
      { 'x-api-key': 'b', authorization: 'Bearer c' },
      'b',
    ],
    ['an empty APIKey is not ignored', { apikey: '', 'x-api-key': 'b' }, ''],
  ] as const) {
    test(name, () => expect(apiKeyOf(headers)).toBe(expected))
  }
})

describe('the key of a request that may have a token', () => {
  for (const [name, headers, expected] of [
    ['a Bearer token that is not a key is ignored', { authorization: 'Bearer token' }, undefined],
    [
      'a Bearer token with the prefix of a key is a key',
      { authorization: 'Bearer mf_live_x' },
      'mf_live_x',
    ],
    ['APIKey is read alongside a token', { apikey: 'a', authorization: 'Bearer token' }, 'a'],
    ['an empty APIKey is not ignored', { apikey: '' }, ''],
  ] as const) {
    test(name, () => expect(apiKeyBesideToken(headers)).toBe(expected))
  }
})
