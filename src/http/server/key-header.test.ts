import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { keyBesideTokens, keyOf } from './credentials.ts'

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
    test(name, () => assert.equal(keyOf(headers), expected))
  }
})

describe('the key of a request that may have a token', () => {
  for (const [name, headers, expected] of [
    ['a Bearer that is no key is not looked at', { authorization: 'Bearer token' }, undefined],
    ['one that begins as keys do is', { authorization: 'Bearer mf_live_x' }, 'mf_live_x'],
    ['APIKey beside a token', { apikey: 'a', authorization: 'Bearer token' }, 'a'],
    ['an empty one is given all the same', { apikey: '' }, ''],
  ] as const) {
    test(name, () => assert.equal(keyBesideTokens(headers), expected))
  }
})
