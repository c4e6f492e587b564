import { describe, expect, test } from 'vitest'
import { formatDuration, isoTimestamp, parseDuration, utcTimestamp } from './time.ts'

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
      expect(formatDuration(seconds)).toBe(shown)
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
    test(`cannot be written as ${JSON.stringify(text)}`, () =>
      expect(parseDuration(text)).toBeUndefined())
  }
})

describe('a timestamp', () => {
  for (const [iso, text] of [
    ['2026-03-01T12:00:00.000Z', '2026-03-01 12:00:00'],
    ['2026-03-01T12:00:00.999Z', '2026-03-01 12:00:00'],
    ['2026-12-31T23:59:59.999Z', '2026-12-31 23:59:59'],
    ['2028-02-29T00:00:00.000Z', '2028-02-29 00:00:00'],
    ['2026-03-29T01:30:00.000Z', '2026-03-29 01:30:00'],
    ['1970-01-01T00:00:00.000Z', '1970-01-01 00:00:00'],
    ['2026-03-01T01:00:00.000+02:00', '2026-02-28 23:00:00'],
  ] as const) {
    test(`${iso} is ${text}, in UTC and truncated`, () => {
      expect(utcTimestamp(new Date(iso))).toBe(text)
      expect(isoTimestamp(new Date(iso))).toBe(`${text.replace(' ', 'T')}Z`)
    })
  }

  test('does not depend on the time zone of the machine', () => {
    const noon = new Date('2026-03-01T12:00:00Z')
    Object.assign(process.env, { TZ: 'Pacific/Kiritimati' })
    expect(noon.getDate()).toBe(2)
    expect(utcTimestamp(noon)).toBe('2026-03-01 12:00:00')
  })
})
