import assert from 'node:assert/strict'
import { test } from 'vitest'
import type { Address } from '../../core/address.ts'
import type { MailboxId } from '../../core/session.ts'
import { mailboxTag, matchesTag, readerTag } from './etag.ts'

const box = (id: number, version: number) => ({
  id: id as MailboxId,
  version,
  lastId: 0,
  count: 0,
  bytes: 0,
  address: 'a@b.test' as Address,
  keyId: undefined,
  accountId: undefined,
  createdAt: new Date(0),
  expiresAt: new Date(0),
})

test('every mailbox and every version has a tag of its own', () => {
  const tags = [box(1, 11), box(11, 1), box(1, 1), box(36, 0), box(1, 0)].map(mailboxTag)
  assert.equal(new Set(tags).size, tags.length)
})

test('a reader’s tag is of one key, one address and one mark, and tells none of them', () => {
  const tags = [
    readerTag({ keyId: 'k1', to: undefined }, 'mark'),
    readerTag({ keyId: 'k2', to: undefined }, 'mark'),
    readerTag({ keyId: 'k1', to: 'a@box.test' }, 'mark'),
    readerTag({ keyId: 'k1', to: undefined }, 'mark 2'),
  ]
  assert.equal(new Set(tags).size, tags.length)
  for (const tag of tags) assert.match(tag, /^W\/"[A-Za-z0-9_-]{22}"$/)
  assert.equal(readerTag({ keyId: 'k1', to: undefined }, 'mark'), tags[0])
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
] as const) {
  test(`If-None-Match: ${given} ${matches ? 'matches' : 'does not match'}`, () => {
    assert.equal(matchesTag(given, mailboxTag(box(1, 1))), matches)
  })
}
