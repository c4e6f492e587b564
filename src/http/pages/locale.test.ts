import { describe, expect, test } from 'vitest'
import { localeOf } from './locale.ts'

test('a missing value leaves its placeholder visible', () => {
  expect(localeOf('en').t('plain_lifetime')).toMatch(/\{life\}/)
})

test('a text with a count has the plural form of its language', () => {
  expect(localeOf('en').t('reader_attachments', { count: 1 })).toBe('1 attachment')
  expect(localeOf('de').t('reader_attachments', { count: 1_234 })).toBe('1.234 Anhänge')
  expect(localeOf('ar').t('reader_attachments', { count: 2 })).toBe('مرفقان')
})

test('values are isolated in right-to-left text', () => {
  expect(localeOf('ar').t('address_deleted', { email: 'a@b.test' })).toMatch(
    /\u2068a@b\.test\u2069/,
  )
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
      expect(localeOf('en').relativeTime(now, after(seconds))).toBe(text)
    })
  }

  test('durations are in the language of the locale, times in UTC', () => {
    expect(localeOf('de').duration(86_400)).toBe('24 Stunden')
    expect(localeOf('fr').duration(7 * 86_400)).toMatch(/^7\sjours$/)
    expect(localeOf('de').dateTime(now)).toMatch(/12:00 UTC$/)
  })
})
