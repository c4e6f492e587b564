import assert from 'node:assert/strict'
import { test } from 'vitest'
import { cookieOf, cookieText } from './credentials.ts'

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
  test(name, () => assert.equal(cookieOf(header, 'mine'), value))
}

test('what is kept is kept from scripts and from other sites', () => {
  const cookie = { name: 'mine', value: 'abc', path: '/here', seconds: 60, secure: false }
  const text = 'mine=abc; Path=/here; Max-Age=60; HttpOnly; SameSite=Strict'
  assert.equal(cookieText(cookie), text)
  assert.equal(cookieText({ ...cookie, secure: true }), `${text}; Secure`)
})
