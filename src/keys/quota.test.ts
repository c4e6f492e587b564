import { describe, expect, test } from 'vitest'
import { type ApiKey, nextUtcDay, precheckQuota, remainingQuota, utcDay } from './rules.ts'

const now = new Date('2026-03-01T12:00:00Z')
const later = (ms: number) => new Date(now.getTime() + ms)

const fresh: ApiKey = {
  id: 'key_1',
  prefix: 'mf_live_abcd',
  plan: 'starter',
  label: '',
  state: 'active',
  maxRequests: 1_000,
  maxPerDay: undefined,
  maxDomains: 1,
  used: 0,
  usedToday: 0,
  createdAt: later(-1_000),
  expiresAt: undefined,
}
const business: ApiKey = { ...fresh, maxRequests: 100_000, maxPerDay: 1_000, expiresAt: later(1) }

describe('one more request', () => {
  for (const [name, key, expected] of [
    ['passes on a new key', fresh, undefined],
    ['passes if it is the thousandth of a starter plan', { ...fresh, used: 999 }, undefined],
    ['is refused if it is the one after that', { ...fresh, used: 1_000 }, 'quota_exhausted'],
    [
      'is refused if the plan was reduced below the usage',
      { ...fresh, used: 2_000 },
      'quota_exhausted',
    ],
    ['passes at any daily count without a daily limit', { ...fresh, usedToday: 999 }, undefined],
    [
      'passes if it is the thousandth of a day of a business plan',
      { ...business, usedToday: 999 },
      undefined,
    ],
    [
      'is refused if it is the one after that on the same day',
      { ...business, usedToday: 1_000 },
      'daily_limit',
    ],
    ['passes a millisecond before the expiry', { ...fresh, expiresAt: later(1) }, undefined],
    ['is refused at the time of the expiry', { ...fresh, expiresAt: now }, 'plan_expired'],
    ['is refused after the expiry', { ...fresh, expiresAt: later(-1) }, 'plan_expired'],
    ['is refused while the key is suspended', { ...fresh, state: 'stopped' }, 'plan_expired'],
    ['is refused on a revoked key', { ...fresh, state: 'revoked' }, 'plan_expired'],
  ] as const) {
    test(name, () => expect(precheckQuota(key, now)).toBe(expected))
  }
})

describe('of several reasons the most permanent one is reported', () => {
  const exhausted = { ...business, used: 100_000, usedToday: 1_000 }
  for (const [name, key, expected] of [
    ['expiry before an exhausted plan', { ...exhausted, expiresAt: now }, 'plan_expired'],
    ['an exhausted plan before an exhausted day', exhausted, 'quota_exhausted'],
  ] as const) {
    test(name, () => expect(precheckQuota(key, now)).toBe(expected))
  }
})

describe('remaining quota', () => {
  for (const [name, key, expected] of [
    ['is the whole plan at first', fresh, { all: 1_000, today: undefined }],
    ['is one before the last request', { ...fresh, used: 999 }, { all: 1, today: undefined }],
    ['is never negative', { ...fresh, used: 1_001 }, { all: 0, today: undefined }],
    ['of a day is the daily limit at first', business, { all: 100_000, today: 1_000 }],
    [
      'of a day is what is left of the daily limit',
      { ...business, used: 7, usedToday: 7 },
      { all: 99_993, today: 993 },
    ],
    [
      'of a day never exceeds what is left of the plan',
      { ...business, used: 99_990 },
      { all: 10, today: 10 },
    ],
    ['of a day is never negative', { ...business, usedToday: 1_001 }, { all: 100_000, today: 0 }],
    [
      'of a day is zero if the plan is exhausted',
      { ...business, used: 100_000 },
      { all: 0, today: 0 },
    ],
  ] as const) {
    test(name, () => expect(remainingQuota(key)).toEqual(expected))
  }

  test('of a day is above zero exactly while a request passes', () => {
    for (const used of [0, 99_999, 100_000]) {
      for (const usedToday of [0, 999, 1_000]) {
        const key = { ...business, used, usedToday }
        expect(remainingQuota(key).today === 0).toBe(precheckQuota(key, now) !== undefined)
      }
    }
  })
})

describe('a UTC day', () => {
  const midnight = new Date('2026-03-02T00:00:00Z')
  test('starts at midnight, to the millisecond', () => {
    expect(utcDay(midnight) - utcDay(new Date(midnight.getTime() - 1))).toBe(1)
    expect(utcDay(midnight)).toBe(utcDay(new Date(midnight.getTime() + 86_399_999)))
    expect(utcDay(new Date(0))).toBe(0)
  })

  for (const [name, time, next] of [
    ['noon', '2026-03-01T12:00:00Z', '2026-03-02T00:00:00Z'],
    ['the last millisecond', '2026-03-01T23:59:59.999Z', '2026-03-02T00:00:00Z'],
    ['midnight itself', '2026-03-02T00:00:00Z', '2026-03-03T00:00:00Z'],
    ['a leap day', '2028-02-28T10:00:00Z', '2028-02-29T00:00:00Z'],
    ['the end of a year', '2026-12-31T23:00:00Z', '2027-01-01T00:00:00Z'],
  ] as const) {
    test(`after ${name} starts at ${next}`, () =>
      expect(nextUtcDay(new Date(time))).toEqual(new Date(next)))
  }
})
