import assert from 'node:assert/strict'
import { test } from 'vitest'
import { readyJson } from './response.ts'
import { openResponseCache } from './response-cache.ts'

const made = (text: string) => {
  const answer = readyJson(text, {})
  return { answer, bytes: answer.body.length }
}

test('an answer is found under its version and no other', () => {
  const answers = openResponseCache(100_000)
  const { answer, bytes } = made('one')
  answers.keep('a', 1, { answer, bytes })
  assert.equal(answers.find('a', 1), answer)
  assert.equal(answers.find('a', 2), undefined)
  assert.equal(answers.find('a', 0), undefined)
  assert.equal(answers.find('b', 1), undefined)
  answers.keep('marked', 'mark 1', { answer, bytes })
  assert.equal(answers.find('marked', 'mark 1'), answer)
  assert.equal(answers.find('marked', 'mark 2'), undefined)
})

test('a newer answer takes the place of an older one', () => {
  const answers = openResponseCache(100_000)
  answers.keep(7, 1, made('old'))
  const young = made('young')
  answers.keep(7, 2, young)
  assert.equal(answers.find(7, 1), undefined)
  assert.equal(answers.find(7, 2), young.answer)
})

test('what was asked for last is kept, the rest is forgotten, and never more than the bytes allow', () => {
  const maxBytes = 40_000
  const answers = openResponseCache(maxBytes)
  const wanted = made('wanted')
  answers.keep('wanted', 1, wanted)
  const sizes = new Map<number, number>()
  for (let key = 0; key < 500; key += 1) {
    const one = made('x'.repeat(500))
    sizes.set(key, one.bytes)
    answers.keep(key, 1, one)
    assert.equal(answers.find('wanted', 1), wanted.answer)
  }
  let bytes = 0
  for (let key = 499; key >= 0; key -= 1) bytes += answers.find(key, 1) ? (sizes.get(key) ?? 0) : 0
  assert.ok(bytes > 0 && bytes <= maxBytes, `${bytes} bytes`)
  assert.equal(answers.find(0, 1), undefined)
})

test('the bytes of an answer are the UTF-8 of its text', () => {
  const { body, headers } = readyJson({ subject: 'Grüße \u{1f98b} "\ud800"' }, {})
  assert.equal(
    Buffer.from(body, 'latin1').toString(),
    '{"subject":"Grüße \u{1f98b} \\"\\\\ud800\\""}'.replace('\\\\ud800', '\\ud800'),
  )
  assert.equal(headers['content-length'], String(body.length))
})
