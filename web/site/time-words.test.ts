import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { nextChangeMs, spanWords, waitWords } from './time-words.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

describe('what is left', () => {
  for (const [ms, expected] of [
    [30 * DAY, '30 days'],
    [2 * DAY + 5 * HOUR + 59 * MINUTE, '2 days 5 hr'],
    [2 * DAY - SECOND, '47 hr 59 min'],
    [24 * HOUR, '24 hr'],
    [24 * HOUR - 1, '23 hr 59 min'],
    [HOUR, '1 hr'],
    [HOUR - SECOND, '59 min'],
    [2 * MINUTE, '2 min'],
    [2 * MINUTE - SECOND, '1 min 59 sec'],
    [MINUTE, '1 min'],
    [SECOND, '1 sec'],
    [0, '0 sec'],
    [-5 * DAY, '0 sec'],
  ] as const) {
    test(expected, () => assert.equal(spanWords(ms, 'en'), expected))
  }

  test('is said in the reader’s language', () => {
    assert.match(spanWords(23 * HOUR + 59 * MINUTE, 'de'), /^23 Std\b.*59 Min\b/)
    assert.match(spanWords(DAY, 'ar', 'long'), /ساعة/)
  })
})

describe('a wait is never said too short', () => {
  for (const [seconds, expected] of [
    [0.2, /^1 second$/],
    [7, /^7 seconds$/],
    [119, /^1 minute,? 59 seconds$/],
    [121, /^3 minutes$/],
    [3_599, /^1 hour$/],
  ] as const) {
    test(`${seconds} s`, () => assert.match(waitWords(seconds), expected))
  }
})

describe('the words are looked at again', () => {
  for (const [name, ms] of [
    ['within a minute', 23 * HOUR + 59 * MINUTE + 30 * SECOND],
    ['when the last two minutes begin', 2 * MINUTE + 400],
    ['each second of those', 90 * SECOND + 700],
  ] as const) {
    test(name, () => {
      const pause = nextChangeMs(ms)
      assert.equal(spanWords(ms - pause + 2, 'en'), spanWords(ms, 'en'))
      assert.notEqual(spanWords(ms - pause - SECOND, 'en'), spanWords(ms, 'en'))
    })
  }
})
