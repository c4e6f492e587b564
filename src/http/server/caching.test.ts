import assert from 'node:assert/strict'
import { test } from 'vitest'
import type { Address } from '../../core/address.ts'
import type { MailboxId } from '../../core/session.ts'
import { keyedEtag, mailboxEtag, matchesEtag, openResponseCache } from './caching.ts'
import { preparedJson } from './response.ts'

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
  const tags = [box(1, 11), box(11, 1), box(1, 1), box(36, 0), box(1, 0)].map(mailboxEtag)
  assert.equal(new Set(tags).size, tags.length)
})

test('a reader’s tag is of one key, one address and one mark, and tells none of them', () => {
  const tags = [
    keyedEtag({ keyId: 'k1', to: undefined }, 'mark'),
    keyedEtag({ keyId: 'k2', to: undefined }, 'mark'),
    keyedEtag({ keyId: 'k1', to: 'a@box.test' }, 'mark'),
    keyedEtag({ keyId: 'k1', to: undefined }, 'mark 2'),
  ]
  assert.equal(new Set(tags).size, tags.length)
  for (const tag of tags) assert.match(tag, /^W\/"[A-Za-z0-9_-]{22}"$/)
  assert.equal(keyedEtag({ keyId: 'k1', to: undefined }, 'mark'), tags[0])
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
    assert.equal(matchesEtag(given, mailboxEtag(box(1, 1))), matches)
  })
}

const made = (text: string) => {
  const answer = preparedJson(text, {})
  return { answer, bytes: answer.body.length }
}

test('an answer is found under its version and no other', () => {
  const answers = openResponseCache(100_000)
  const { answer, bytes } = made('one')
  answers.set('a', 1, { answer, bytes })
  assert.equal(answers.get('a', 1), answer)
  assert.equal(answers.get('a', 2), undefined)
  assert.equal(answers.get('a', 0), undefined)
  assert.equal(answers.get('b', 1), undefined)
  answers.set('marked', 'mark 1', { answer, bytes })
  assert.equal(answers.get('marked', 'mark 1'), answer)
  assert.equal(answers.get('marked', 'mark 2'), undefined)
})

test('a newer answer takes the place of an older one', () => {
  const answers = openResponseCache(100_000)
  answers.set(7, 1, made('old'))
  const young = made('young')
  answers.set(7, 2, young)
  assert.equal(answers.get(7, 1), undefined)
  assert.equal(answers.get(7, 2), young.answer)
})

test('what was asked for last is kept, the rest is forgotten, and never more than the bytes allow', () => {
  const maxBytes = 40_000
  const answers = openResponseCache(maxBytes)
  const wanted = made('wanted')
  answers.set('wanted', 1, wanted)
  const sizes = new Map<number, number>()
  for (let key = 0; key < 500; key += 1) {
    const one = made('x'.repeat(500))
    sizes.set(key, one.bytes)
    answers.set(key, 1, one)
    assert.equal(answers.get('wanted', 1), wanted.answer)
  }
  let bytes = 0
  for (let key = 499; key >= 0; key -= 1) bytes += answers.get(key, 1) ? (sizes.get(key) ?? 0) : 0
  assert.ok(bytes > 0 && bytes <= maxBytes, `${bytes} bytes`)
  assert.equal(answers.get(0, 1), undefined)
})

test('the bytes of an answer are the UTF-8 of its text', () => {
  const { body, headers } = preparedJson({ subject: 'Grüße \u{1f98b} "\ud800"' }, {})
  assert.equal(
    Buffer.from(body, 'latin1').toString(),
    '{"subject":"Grüße \u{1f98b} \\"\\\\ud800\\""}'.replace('\\\\ud800', '\\ud800'),
  )
  assert.equal(headers['content-length'], String(body.length))
})
