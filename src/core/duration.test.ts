import { describe, expect, test } from 'vitest'
import { parseDuration, showDuration } from './time.ts'

describe('a duration', () => {
  for (const [text, seconds, shown] of [
    ['0s', 0, '0s'],
    ['90s', 90, '90s'],
    ['60s', 60, '1m'],
    ['15m', 900, '15m'],
    ['24h', 86_400, '1d'],
    ['36h', 129_600, '36h'],
    ['30d', 2_592_000, '30d'],
  ] as const) {
    test(`${text} is ${seconds} seconds, shown as ${shown}`, () => {
      expect(parseDuration(text)).toBe(seconds)
      expect(showDuration(seconds)).toBe(shown)
    })
  }

  for (const text of [
    '',
    '90',
    's',
    '1.5h',
    '-1h',
    '1w',
    '1h30m',
    '1H',
    ' 1h',
    '1h\n',
    '99999999999s',
  ]) {
    test(`is not written ${JSON.stringify(text)}`, () =>
      expect(parseDuration(text)).toBeUndefined())
  }
})
