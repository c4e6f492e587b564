import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { apiKeyBesideToken, apiKeyOf, cookieValue, setCookieHeader } from './credentials.ts'

for (const [name, header, value] of [
  ['no header has no cookie', undefined, undefined],
  ['nor has an empty one', '', undefined],
  ['one by itself', 'mine=abc', 'abc'],
  ['one among others', 'a=1; mine=abc; b=2', 'abc'],
  ['without spaces', 'a=1;mine=abc', 'abc'],
  ['an empty one', 'mine=', ''],
  ['a value with an equals sign', 'mine=a=b', 'a=b'],
  ['another whose name ends alike', 'not-mine=abc', undefined],
  ['another whose name begins alike', 'mine-not=abc', undefined],
  ['a name in other case is another', 'Mine=abc', undefined],
  ['of two the first', 'mine=1; mine=2', '1'],
  ['nonsense', ';;=; =;;', undefined],
] as const) {
  test(name, () => assert.equal(cookieValue(header, 'mine'), value))
}

test('what is kept is kept from scripts and from other sites', () => {
  const cookie = { name: 'mine', value: 'abc', path: '/here', maxAgeSeconds: 60, secure: false }
  const text = 'mine=abc; Path=/here; Max-Age=60; HttpOnly; SameSite=Strict'
  assert.equal(setCookieHeader(cookie), text)
  assert.equal(setCookieHeader({ ...cookie, secure: true }), `${text}; Secure`)
})

describe('the key of a request', () => {
  for (const [name, headers, expected] of [
    ['none', {}, undefined],
    ['APIKey', { apikey: 'a' }, 'a'],
    ['X-API-Key', { 'x-api-key': 'b' }, 'b'],
    ['Bearer', { authorization: 'Bearer c' }, 'c'],
    ['bearer in any case', { authorization: 'bEARER  c ' }, 'c'],
    ['another scheme', { authorization: 'Basic c' }, undefined],
    ['APIKey before all others', { apikey: 'a', 'x-api-key': 'b', authorization: 'Bearer c' }, 'a'],
    ['X-API-Key before Bearer', { 'x-api-key': 'b', authorization: 'Bearer c' }, 'b'],
    ['an empty APIKey is given all the same', { apikey: '', 'x-api-key': 'b' }, ''],
  ] as const) {
    test(name, () => assert.equal(apiKeyOf(headers), expected))
  }
})

describe('the key of a request that may have a token', () => {
  for (const [name, headers, expected] of [
    ['a Bearer that is no key is not looked at', { authorization: 'Bearer token' }, undefined],
    ['one that begins as keys do is', { authorization: 'Bearer mf_live_x' }, 'mf_live_x'],
    ['APIKey beside a token', { apikey: 'a', authorization: 'Bearer token' }, 'a'],
    ['an empty one is given all the same', { apikey: '' }, ''],
  ] as const) {
    test(name, () => assert.equal(apiKeyBesideToken(headers), expected))
  }
})
