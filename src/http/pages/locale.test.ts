import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { LANGUAGES } from '../../shared/languages.ts'
import { localeOf } from './locale.ts'
import { en, type PlainWords } from './plain-words/en.ts'

const NAMES = Object.keys(en) as (keyof PlainWords)[]
const valuesIn = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort()

for (const language of LANGUAGES) {
  test(`${language} says everything, with the values that English has`, () => {
    const { say } = localeOf(language)
    for (const name of NAMES) {
      assert.notEqual(say(name).trim(), '', name)
      assert.deepEqual(valuesIn(say(name)), valuesIn(en[name]), name)
    }
  })
}

test('no other language is English by another name', () => {
  for (const language of LANGUAGES.filter((one) => one !== 'en')) {
    const { say } = localeOf(language)
    const same = NAMES.filter((name) => say(name) === en[name])
    assert.ok(same.length <= 7, `${language}: ${same}`)
  }
})

test('a value that is not given is left to be seen', () => {
  assert.match(localeOf('en').say('inbox_looks'), /\{count\}/)
})

describe('times', () => {
  const now = new Date('2026-03-01T12:00:00Z')
  const after = (seconds: number) => new Date(now.getTime() + seconds * 1000)
  for (const [seconds, text] of [
    [0, 'now'],
    [-0.4, 'now'],
    [-5, '5 seconds ago'],
    [-89, '89 seconds ago'],
    [-90, '2 minutes ago'],
    [-3_600, '60 minutes ago'],
    [86_399, 'in 24 hours'],
    [86_400, 'in 24 hours'],
    [30 * 86_400, 'in 30 days'],
  ] as const) {
    test(`${seconds} s from now is ${text}`, () => {
      assert.equal(localeOf('en').relativeTime(now, after(seconds)), text)
    })
  }

  test('a life is told in the reader’s language, and a time as UTC', () => {
    assert.equal(localeOf('de').duration(86_400), '24 Stunden')
    assert.match(localeOf('fr').duration(7 * 86_400), /^7\sjours$/)
    assert.match(localeOf('de').dateTime(now), /12:00 UTC$/)
  })
})

for (const [bytes, text] of [
  [0, '1 kB'],
  [999, '1 kB'],
  [1_001, '2 kB'],
  [10_450_000, '10.5 MB'],
] as const) {
  test(`${bytes} bytes are ${text}`, () => assert.equal(localeOf('en').size(bytes), text))
}
