import { expect, test } from 'vitest'
import type { ApiKey } from '../rules.ts'
import { quotaHeaders } from './quota-headers.ts'

const NOW = new Date('2026-03-01T23:00:00Z')
const MIDNIGHT = String(Date.parse('2026-03-02T00:00:00Z') / 1000)
const END = new Date('2026-09-01T00:00:00Z')
const END_SECONDS = String(END.getTime() / 1000)

const starter: ApiKey = {
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
  createdAt: new Date('2026-01-01T00:00:00Z'),
  expiresAt: undefined,
}
const business: ApiKey = { ...starter, maxRequests: 5_000, maxPerDay: 1_000, expiresAt: END }

for (const [name, key, policy, state, legacy] of [
  ['an unused Starter plan', starter, '"plan";q=1000', '"plan";r=1000', ['1000', '1000']],
  ['one request used', { ...starter, used: 1 }, '"plan";q=1000', '"plan";r=999', ['1000', '999']],
  ['an exhausted plan', { ...starter, used: 1_000 }, '"plan";q=1000', '"plan";r=0', ['1000', '0']],
  [
    'less left of the day than of the plan',
    { ...business, used: 988, usedToday: 988 },
    '"plan";q=5000, "day";q=1000;w=86400',
    '"plan";r=4012, "day";r=12;t=3600',
    ['1000', '12', MIDNIGHT],
  ],
  [
    'less left of the plan than of the day',
    { ...business, used: 4_995, usedToday: 10 },
    '"plan";q=5000, "day";q=1000;w=86400',
    '"plan";r=5, "day";r=5;t=3600',
    ['5000', '5', END_SECONDS],
  ],
  [
    'as much left of the plan as of the day: the plan, because it does not reset',
    { ...business, used: 4_010, usedToday: 10 },
    '"plan";q=5000, "day";q=1000;w=86400',
    '"plan";r=990, "day";r=990;t=3600',
    ['5000', '990', END_SECONDS],
  ],
  [
    'an expired plan',
    { ...business, expiresAt: NOW },
    '"plan";q=5000, "day";q=1000;w=86400',
    '"plan";r=0, "day";r=0;t=3600',
    ['5000', '0', String(NOW.getTime() / 1000)],
  ],
  [
    'a refunded payment',
    { ...starter, state: 'stopped' },
    '"plan";q=1000',
    '"plan";r=0',
    ['1000', '0'],
  ],
  [
    'more used than the plan allows, after the operator reduced it',
    { ...business, used: 6_000 },
    '"plan";q=5000, "day";q=1000;w=86400',
    '"plan";r=0, "day";r=0;t=3600',
    ['5000', '0', END_SECONDS],
  ],
] as const) {
  test(`quota headers: ${name}`, () => {
    expect(quotaHeaders(key, NOW)).toStrictEqual({
      'ratelimit-policy': policy,
      ratelimit: state,
      'x-ratelimit-limit': legacy[0],
      'x-ratelimit-remaining': legacy[1],
      // Left out if nothing ever resets.
      ...(legacy.length === 2 ? {} : { 'x-ratelimit-reset': legacy[2] }),
    })
  })
}
