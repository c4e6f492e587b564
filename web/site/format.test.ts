import { describe, expect, test } from 'vitest'
import { formatDuration, formatReceived, formatWait, nextChangeMs } from './format.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

describe('a duration', () => {
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
    test(expected, () => expect(formatDuration(ms, 'en')).toBe(expected))
  }

  test('is formatted in the given language', () => {
    expect(formatDuration(23 * HOUR + 59 * MINUTE, 'de')).toMatch(/^23 Std\b.*59 Min\b/)
    expect(formatDuration(DAY, 'ar', 'long')).toMatch(/ساعة/)
  })
})

describe('a wait is rounded up', () => {
  for (const [seconds, expected] of [
    [0.2, /^1 second$/],
    [7, /^7 seconds$/],
    [119, /^1 minute,? 59 seconds$/],
    [121, /^3 minutes$/],
    [3_599, /^1 hour$/],
  ] as const) {
    test(`${seconds} s`, () => expect(formatWait(seconds)).toMatch(expected))
  }
})

describe('the next change of a duration is', () => {
  for (const [name, ms] of [
    ['within a minute', 23 * HOUR + 59 * MINUTE + 30 * SECOND],
    ['at the start of the last two minutes', 2 * MINUTE + 400],
    ['every second of those', 90 * SECOND + 700],
  ] as const) {
    test(name, () => {
      const delay = nextChangeMs(ms)
      expect(formatDuration(ms - delay + 2, 'en')).toBe(formatDuration(ms, 'en'))
      expect(formatDuration(ms - delay - SECOND, 'en')).not.toBe(formatDuration(ms, 'en'))
    })
  }
})

const NOW = new Date(2026, 2, 10, 15, 30)
const before = (minutes: number) => new Date(NOW.getTime() - minutes * 60_000)

describe('a message received', () => {
  for (const [name, at, language, text] of [
    ['just now', before(0.5), 'en', 'now'],
    ['in the future, by a wrong clock', before(-5), 'en', 'now'],
    ['minutes ago', before(5), 'en', '5 min. ago'],
    ['nearly an hour ago', before(59.9), 'en', '59 min. ago'],
    ['hours ago', before(3 * 60 + 59), 'en', '3 hr. ago'],
    ['yesterday', new Date(2026, 2, 9, 23, 0), 'en', 'Mar 9'],
    ['minutes ago, in German', before(10), 'de', 'vor 10 Min.'],
    ['last year', new Date(2025, 11, 31, 12, 0), 'en', 'Dec 31, 2025'],
    ['minutes ago, in Spanish', before(5), 'es', 'hace 5 min'],
  ] as const) {
    test(name, () => expect(formatReceived(at, NOW, language)).toBe(text))
  }

  test('minutes ago, but yesterday, shows minutes', () => {
    const midnight = new Date(2026, 2, 10, 0, 5)
    expect(formatReceived(new Date(2026, 2, 9, 23, 55), midnight, 'en')).toBe('10 min. ago')
  })
})
