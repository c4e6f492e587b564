import { describe, expect, test } from 'vitest'
import type { Host } from '../../base/address.ts'
import type { ApiKey } from '../../keys/rules.ts'
import {
  afterCheck,
  domainWarnings,
  type Lapse,
  type OwnDomain,
  type RecordCheck,
  suspendsAt,
} from './rules.ts'

const NOW = new Date('2026-03-31T12:00:00Z')
const daysAgo = (days: number, ms = 0) => new Date(NOW.getTime() - days * 86_400_000 + ms)

const ACTIVE: OwnDomain = {
  id: 'dom_1',
  keyId: 'key_1',
  name: 'corp.test' as Host,
  token: 'abc',
  state: 'active',
  reason: undefined,
  createdAt: daysAgo(90),
  verifiedAt: daysAgo(90),
  checkedAt: daysAgo(1),
  missingSince: undefined,
  lapsedSince: undefined,
  catchAll: true,
  taken: 0,
  refused: 0,
}
const MISSING: Partial<OwnDomain> = { missingSince: daysAgo(7), reason: 'record_missing' }
const SUSPENDED: Partial<OwnDomain> = { ...MISSING, state: 'suspended' }
const BY_OPERATOR: Partial<OwnDomain> = { state: 'suspended', reason: 'suspended_by_operator' }
const RESTORED: Partial<OwnDomain> = {
  ...{ state: 'suspended', reason: 'restored', checkedAt: undefined },
}
const expired = (days: number, ms = 0): Lapse => ({
  reason: 'key_expired',
  since: daysAgo(days, ms),
})

describe('after a check', () => {
  for (const [title, domain, record, lapse, expected] of [
    ['a found record changes nothing', {}, 'found', undefined, ['active', undefined]],
    ['a record is missing', {}, 'missing', undefined, ['active', 'record_missing']],
    [
      'a record is missing for almost 7 days',
      { missingSince: daysAgo(7, 1) },
      'missing',
      undefined,
      ['active', 'record_missing'],
    ],
    [
      'a record is missing for 7 days',
      MISSING,
      'missing',
      undefined,
      ['suspended', 'record_missing'],
    ],
    ['silence after 7 days', MISSING, 'unknown', undefined, ['active', 'record_missing']],
    ['no check after 7 days', MISSING, undefined, undefined, ['active', 'record_missing']],
    ['the record is back', MISSING, 'found', undefined, ['active', undefined]],
    [
      'the record of a suspended domain is back',
      SUSPENDED,
      'found',
      undefined,
      ['active', undefined],
    ],
    ['it is still missing', SUSPENDED, 'missing', undefined, ['suspended', 'record_missing']],
    ['silence restores nothing', SUSPENDED, 'unknown', undefined, ['suspended', 'record_missing']],
    ['silence', {}, 'unknown', undefined, ['active', 'not_checked']],
    ['silence before', { reason: 'not_checked' }, undefined, undefined, ['active', 'not_checked']],
    [
      'an answer after silence',
      { reason: 'not_checked' },
      'found',
      undefined,
      ['active', undefined],
    ],
    ['a restored one that was found', RESTORED, 'found', undefined, ['active', undefined]],
    ['a restored one, and silence', RESTORED, 'unknown', undefined, ['suspended', 'restored']],
    ['a restored one without a check', RESTORED, undefined, undefined, ['suspended', 'restored']],
    ['a restored one that is missing', RESTORED, 'missing', undefined, ['suspended', 'restored']],
    [
      'a restored one that is missing for long',
      { ...RESTORED, missingSince: daysAgo(9) },
      'missing',
      undefined,
      ['suspended', 'restored'],
    ],
    [
      'a restored one whose key expired long ago',
      RESTORED,
      'found',
      expired(30),
      ['suspended', 'key_expired'],
    ],
    ['the key has expired', {}, undefined, expired(1), ['active', 'key_expired']],
    ['the key expired almost 30 days ago', {}, 'found', expired(30, 1), ['active', 'key_expired']],
    ['the key expired 30 days ago', {}, 'found', expired(30), ['suspended', 'key_expired']],
    [
      'the key was renewed',
      { state: 'suspended', reason: 'key_expired', lapsedSince: daysAgo(31) },
      undefined,
      undefined,
      ['active', undefined],
    ],
    [
      'the operator suspended it',
      BY_OPERATOR,
      'found',
      undefined,
      ['suspended', 'suspended_by_operator'],
    ],
    [
      'the operator suspended it, and the record is missing',
      { ...BY_OPERATOR, missingSince: daysAgo(9) },
      'missing',
      undefined,
      ['suspended', 'suspended_by_operator'],
    ],
  ] as [
    string,
    Partial<OwnDomain>,
    RecordCheck | undefined,
    Lapse | undefined,
    [string, string | undefined],
  ][]) {
    test(`${title}: ${expected.join(', ')}`, () => {
      const { state, reason } = afterCheck({ ...ACTIVE, ...domain }, { record, lapse }, NOW)
      expect([state, reason]).toEqual(expected)
    })
  }

  test('it is missing since the first check that missed it', () => {
    const first = afterCheck(ACTIVE, { record: 'missing', lapse: undefined }, NOW)
    expect(first).toMatchObject({ missingSince: NOW, checkedAt: NOW })
    const again = afterCheck(
      { ...ACTIVE, ...MISSING },
      { record: 'missing', lapse: undefined },
      NOW,
    )
    expect(again).toMatchObject({ missingSince: daysAgo(7), checkedAt: NOW })
  })

  test('a restored domain counts as checked only once its record was found', () => {
    const checkedAt = (record: RecordCheck, domain: Partial<OwnDomain>) =>
      afterCheck({ ...ACTIVE, ...domain }, { record, lapse: undefined }, NOW).checkedAt
    for (const domain of [RESTORED, { ...BY_OPERATOR, checkedAt: undefined }]) {
      expect(checkedAt('missing', domain)).toBeUndefined()
      expect(checkedAt('unknown', domain)).toBeUndefined()
      expect(checkedAt('found', domain)).toEqual(NOW)
    }
  })

  test('silence is not a check', () => {
    const { checkedAt } = afterCheck(ACTIVE, { record: 'unknown', lapse: undefined }, NOW)
    expect(checkedAt).toEqual(daysAgo(1))
  })
})

describe('mail will be refused', () => {
  for (const [title, domain, days] of [
    ['7 days after the record went missing', { missingSince: NOW }, 7],
    ['30 days after the key lapsed', { lapsedSince: NOW }, 30],
    ['at the earlier time', { missingSince: NOW, lapsedSince: daysAgo(29) }, 1],
    ['not if nothing is wrong', {}, undefined],
    ['not again', SUSPENDED, undefined],
  ] as const) {
    test(title, () => {
      const at = days === undefined ? undefined : daysAgo(-days)
      expect(suspendsAt({ ...ACTIVE, ...domain })).toEqual(at)
    })
  }
})

const KEY: ApiKey = {
  id: 'key_1',
  prefix: 'mf_live_abcd',
  plan: 'business',
  label: '',
  state: 'active',
  maxRequests: 10,
  maxPerDay: undefined,
  maxDomains: 5,
  used: 0,
  usedToday: 0,
  createdAt: daysAgo(90),
  expiresAt: undefined,
}

describe('the holder is warned', () => {
  for (const [title, domain, key, expected] of [
    ['not if nothing is wrong', {}, { expiresAt: daysAgo(-30) }, []],
    ['of a missing record', MISSING, {}, [['record_missing', 'corp.test', 0]]],
    ['before the key expires', {}, { expiresAt: daysAgo(-29) }, [['key_expires', undefined, 29]]],
    ['after it has', {}, { expiresAt: daysAgo(1) }, [['key_expired', 'corp.test', 29]]],
    [
      'of a stopped key, from when that was noticed',
      { lapsedSince: daysAgo(10) },
      { state: 'stopped' },
      [['key_stopped', 'corp.test', 20]],
    ],
    ['not about a claim', { state: 'pending' }, { expiresAt: daysAgo(-1) }, []],
    ['not about what is suspended already', SUSPENDED, {}, []],
  ] as [string, Partial<OwnDomain>, Partial<ApiKey>, [string, string | undefined, number][]][]) {
    test(title, () => {
      const warnings = domainWarnings([{ ...ACTIVE, ...domain }], { ...KEY, ...key }, NOW)
      const shown = warnings.map(({ code, domain: name, at }) => [code, name, at])
      expect(shown).toEqual(expected.map(([code, name, days]) => [code, name, daysAgo(-days)]))
    })
  }
})
