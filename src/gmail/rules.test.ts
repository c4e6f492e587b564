import { describe, expect, test } from 'vitest'
import { type Address, parseAddress } from '../base/address.ts'
import { Problem } from '../base/problem.ts'
import {
  type AccountHealth,
  type AccountRequest,
  chooseAccount,
  DOT_ALIAS_RANDOM_BYTES,
  deferredRetryMs,
  dotAliases,
  type GmailAccount,
  isAfterAliasCreation,
  MAX_ACCOUNT_LOCAL_LENGTH,
  maxTagLength,
  plusAlias,
  randomTag,
} from './rules.ts'

function address(text: string): Address {
  const parsed = parseAddress(text)
  if (!parsed) throw new Error(`${text} is no address`)
  return parsed
}

const account = (id: number, health: AccountHealth, aliases = 0): GmailAccount => ({
  id,
  email: address(`account${id}@gmail.com`),
  active: true,
  health,
  reason: '',
  aliases,
})

describe('the chosen account', () => {
  const busy = account(11, 'ok', 9)
  const slow = account(12, 'slow', 5)
  const failing = account(13, 'failing', 0)
  const starting = account(14, 'starting', 0)
  const offered = [busy, slow, failing, starting]
  const unspecified: AccountRequest = { auto: false, gmailId: undefined, domainId: undefined }

  for (const [name, request, expected] of [
    ['no account named: the healthy one with the fewest aliases', unspecified, 12],
    ['auto: the same account', { ...unspecified, auto: true }, 12],
    ['gmail_id: the named account', { ...unspecified, gmailId: 11 }, 11],
    ['domain_id of an account: the named account', { ...unspecified, domainId: 11 }, 11],
    ['domain_id of no account: like auto', { ...unspecified, domainId: 1 }, 12],
    ['gmail_id takes precedence over domain_id', { ...unspecified, gmailId: 11, domainId: 12 }, 11],
    ['auto takes precedence over both', { auto: true, gmailId: 11, domainId: 11 }, 12],
    ['auto ignores an unknown gmail_id', { ...unspecified, auto: true, gmailId: 99 }, 12],
  ] as const) {
    test(name, () => expect(chooseAccount(offered, request).id).toBe(expected))
  }

  const equal = [account(1, 'ok', 3), account(2, 'ok', 2), account(3, 'ok', 2)]
  test('is the older of two with equally many aliases', () =>
    expect(chooseAccount(equal, unspecified).id).toBe(2))

  for (const [name, accounts, request, code, retryAfter] of [
    ['an unknown gmail_id', offered, { gmailId: 99 }, 'unknown_gmail_account', undefined],
    [
      'an unknown gmail_id with a valid domain_id',
      offered,
      { gmailId: 99, domainId: 11 },
      'unknown_gmail_account',
      undefined,
    ],
    ['a named account that is failing', offered, { gmailId: 13 }, 'gmail_unavailable', 60],
    ['a failing account named by domain_id', offered, { domainId: 13 }, 'gmail_unavailable', 60],
    ['a named account that is starting', offered, { gmailId: 14 }, 'gmail_unavailable', 5],
    ['only failing accounts', [failing], {}, 'gmail_unavailable', 60],
    ['failing and starting accounts', [failing, starting], { auto: true }, 'gmail_unavailable', 5],
    ['no accounts', [], {}, 'gmail_unavailable', 60],
  ] as const) {
    test(`${name}: ${code}`, () => {
      const refusal = problemOf(() => chooseAccount(accounts, { ...unspecified, ...request }))
      expect([refusal.code, refusal.retryAfter]).toEqual([code, retryAfter])
    })
  }
})

function problemOf(operation: () => unknown): Problem {
  try {
    operation()
  } catch (error) {
    if (error instanceof Problem) return error
  }
  throw new Error('expected a refusal')
}

describe('plus tags', () => {
  test('follow the local part of the account', () => {
    expect(plusAlias(address('jo.e@gmail.com'), 'a.b')).toBe('jo.e+a.b@gmail.com')
  })

  test('are undefined if the local part would exceed 64 octets', () => {
    const joe = address('joe@gmail.com')
    expect(maxTagLength(joe)).toBe(60)
    expect(plusAlias(joe, 'x'.repeat(60))).toHaveLength(64 + '@gmail.com'.length)
    expect(plusAlias(joe, 'x'.repeat(61))).toBeUndefined()
  })

  test('are words and digits if random', () => {
    const tag = randomTag(address('joe@gmail.com'), (count) => new Uint8Array(count).fill(7))
    expect(tag).toMatch(/^[a-z]+\.[a-z]+\d{3}$/)
  })

  test('still have 40 random bits with the longest local part', () => {
    const long = address(`${'j'.repeat(MAX_ACCOUNT_LOCAL_LENGTH)}@gmail.com`)
    const tags = new Set(
      Array.from({ length: 256 }, (_, byte) =>
        randomTag(long, (count) => new Uint8Array(count).fill(byte)),
      ),
    )
    // 32 letters, each for 8 of the 256 bytes: 5 bits in each of 8 positions.
    expect(tags.size).toBe(32)
    for (const tag of tags) {
      expect(tag).toHaveLength(8)
      expect(parseAddress(plusAlias(long, tag) ?? '')).toBe(plusAlias(long, tag))
    }
  })
})

describe('dot aliases', () => {
  const some = (text: string, limit: number, seed = 0) =>
    dotAliases(
      address(text),
      Uint8Array.from({ length: DOT_ALIAS_RANDOM_BYTES }, (_, at) => (at * 37 + seed * 101) & 255),
      limit,
    )

  test('of a short name are all spellings, each once, except the two common ones', () => {
    for (let seed = 0; seed < 20; seed += 1) {
      expect(some('joe@gmail.com', 16, seed).sort()).toEqual([
        'j.o.e@gmail.com',
        'j.oe@gmail.com',
        'jo.e@gmail.com',
      ])
      expect(some('jo.e@gmail.com', 16, seed).sort()).toEqual(['j.o.e@gmail.com', 'j.oe@gmail.com'])
    }
  })

  test('do not exist for a single letter', () => expect(some('j@gmail.com', 16)).toEqual([]))

  test('of a long name are as many as requested, and random', () => {
    const [one, other] = [
      some('john.smith.of.town@gmail.com', 16, 1),
      some('john.smith.of.town@gmail.com', 16, 2),
    ]
    expect(new Set(one).size).toBe(16)
    expect(new Set([...one, ...other]).size).toBeGreaterThan(16)
  })

  test('are valid addresses with the same letters', () => {
    for (const alias of some('john.smith@gmail.com', 200)) {
      expect(parseAddress(alias)).toBe(alias)
      expect(alias.slice(0, -'@gmail.com'.length).replaceAll('.', '')).toBe('johnsmith')
    }
  })

  test('never exceed the maximum length; a local part too long for dots has none', () => {
    for (const alias of some(`${'ab'.repeat(20)}@mail.test`, 50)) {
      expect(alias.indexOf('@')).toBeLessThanOrEqual(64)
    }
    expect(some(`${'j'.repeat(64)}@mail.test`, 16)).toEqual([])
  })
})

for (const [name, ms, expected] of [
  ['received after the alias was created is delivered', 1, true],
  ['received up to ten minutes earlier is delivered, because clocks differ', -600_000, true],
  ['received earlier still is not delivered', -600_001, false],
] as const) {
  test(`mail ${name}`, () => {
    const createdAt = new Date('2026-03-01T12:00:00Z')
    expect(isAfterAliasCreation(new Date(createdAt.getTime() + ms), createdAt)).toBe(expected)
  })
}

for (const [tries, minutes] of [
  [0, 0],
  [1, 1],
  [2, 2],
  [5, 16],
  [9, 256],
  [10, 360],
  [1_000, 360],
] as const) {
  test(`a deferred mail waits ${minutes} minutes after ${tries} retries`, () =>
    expect(deferredRetryMs(tries)).toBe(minutes * 60_000))
}
