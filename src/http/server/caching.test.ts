import { expect, test } from 'vitest'
import type { Address } from '../../base/address.ts'
import type { MailboxId } from '../../mail/rules/session.ts'
import { NO_RULES } from '../../shared/address-rules.ts'
import { keyedEtag, mailboxEtag, matchesEtag, openResponseCache } from './caching.ts'
import { preparedJson } from './response.ts'

const box = (id: number, version: number) => ({
  id: id as MailboxId,
  version,
  lastId: 0,
  count: 0,
  bytes: 0,
  received: 0,
  address: 'a@b.test' as Address,
  keyId: undefined,
  accountId: undefined,
  createdAt: new Date(0),
  expiresAt: new Date(0),
  rules: NO_RULES,
})

test('every mailbox and version has its own tag', () => {
  const tags = [box(1, 11), box(11, 1), box(1, 1), box(36, 0), box(1, 0)].map(mailboxEtag)
  expect(new Set(tags).size).toBe(tags.length)
})

test('the tag of a key depends on key, address and version, and reveals none of them', () => {
  const tags = [
    keyedEtag({ keyId: 'k1', to: undefined }, 'mark'),
    keyedEtag({ keyId: 'k2', to: undefined }, 'mark'),
    keyedEtag({ keyId: 'k1', to: 'a@box.test' }, 'mark'),
    keyedEtag({ keyId: 'k1', to: undefined }, 'mark 2'),
  ]
  expect(new Set(tags).size).toBe(tags.length)
  for (const tag of tags) expect(tag).toMatch(/^W\/"[A-Za-z0-9_-]{22}"$/)
  expect(keyedEtag({ keyId: 'k1', to: undefined }, 'mark')).toBe(tags[0])
})

for (const [given, matches] of [
  [undefined, false],
  ['', false],
  ['W/"1-1"', true],
  ['"1-1"', true],
  ['*', true],
  [' * ', true],
  ['"a", W/"1-1" , "b"', true],
  ['W/"1-2"', false],
  ['1-1', false],
  ['w/"1-1"', false],
  ['"1-1', false],
  [`${'"a",'.repeat(99)}"1-1"`, true],
  [`${'"a",'.repeat(100)}"1-1"`, false],
] as const) {
  test(`If-None-Match: ${given?.slice(-20)} ${matches ? 'matches' : 'does not match'}`, () => {
    expect(matchesEtag(given, mailboxEtag(box(1, 1)))).toBe(matches)
  })
}

const made = (text: string) => preparedJson(text, {})

test('a response is found under its exact version only', () => {
  const cache = openResponseCache(100_000)
  const response = made('one')
  cache.set('a', 1, response)
  expect(cache.get('a', 1)).toBe(response)
  expect(cache.get('a', 2)).toBeUndefined()
  expect(cache.get('a', 0)).toBeUndefined()
  expect(cache.get('b', 1)).toBeUndefined()
  cache.set('marked', 'mark 1', response)
  expect(cache.get('marked', 'mark 1')).toBe(response)
  expect(cache.get('marked', 'mark 2')).toBeUndefined()
})

test('a newer version replaces the older one', () => {
  const cache = openResponseCache(100_000)
  cache.set(7, 1, made('old'))
  const young = made('young')
  cache.set(7, 2, young)
  expect(cache.get(7, 1)).toBeUndefined()
  expect(cache.get(7, 2)).toBe(young)
})

test('recently used responses stay, the rest is evicted, within the byte limit', () => {
  const maxBytes = 40_000
  const cache = openResponseCache(maxBytes)
  const wanted = made('wanted')
  cache.set('wanted', 1, wanted)
  const sizes = new Map<number, number>()
  for (let key = 0; key < 500; key += 1) {
    const one = made('x'.repeat(500))
    sizes.set(key, one.body.length)
    cache.set(key, 1, one)
    expect(cache.get('wanted', 1)).toBe(wanted)
  }
  let bytes = 0
  for (let key = 499; key >= 0; key -= 1) bytes += cache.get(key, 1) ? (sizes.get(key) ?? 0) : 0
  expect(bytes > 0 && bytes <= maxBytes, `${bytes} bytes`).toBeTruthy()
  expect(cache.get(0, 1)).toBeUndefined()
})

test('a large response is not cached', () => {
  const cache = openResponseCache(10_000_000)
  for (const [length, isCached] of [
    [128 * 1024 - 2, true],
    [128 * 1024 - 1, false],
  ] as const) {
    cache.set('a', length, made('x'.repeat(length)))
    expect(cache.get('a', length) !== undefined).toBe(isCached)
  }
})

test('prepared JSON is sent as UTF-8', () => {
  const { body, headers } = preparedJson({ subject: 'Grüße \u{1f98b} "\ud800"' }, {})
  expect(Buffer.from(body, 'latin1').toString()).toBe(
    '{"subject":"Grüße \u{1f98b} \\"\\\\ud800\\""}'.replace('\\\\ud800', '\\ud800'),
  )
  expect(headers['content-length']).toBe(String(body.length))
})
