import { describe, expect, test } from 'vitest'
import { acceptsSessions, type MailDomain, parseHost } from '../../base/address.ts'
import { Problem } from '../../base/problem.ts'
import { NO_RULES } from '../../shared/address-rules.ts'
import {
  accountTopic,
  defaultLifetimeSeconds,
  extendedExpiry,
  isLive,
  isMailboxFull,
  isWithinCooldown,
  keyedTopic,
  maxLifetimeSeconds,
  OPERATOR,
  POOL,
  requestedLifetimeSeconds,
} from './session.ts'

const HOUR = 3600
const DAY = 24 * HOUR
const lifetimes = { sessionSeconds: DAY, anonymousMaxSeconds: 7 * DAY, maxSessionSeconds: 30 * DAY }
const KEYED = true
const ANONYMOUS = false
const at = (seconds: number) => new Date(Date.UTC(2026, 2, 1) + seconds * 1000)

function domainOf(change: Partial<MailDomain>): MailDomain {
  const name = parseHost('box.test')
  if (!name) throw new Error('a good name')
  const defaults = { id: 1, name, active: true, removed: false, sessions: true, reader: true }
  return { ...defaults, wildcard: false, ttlSeconds: undefined, ...change }
}

describe('the lifetime of a session', () => {
  for (const [name, ttlSeconds, expected, anonymous, keyed] of [
    ['is the default if the domain has none', undefined, DAY, 7 * DAY, 30 * DAY],
    ['is that of the domain if it has one', 2 * HOUR, 2 * HOUR, 7 * DAY, 30 * DAY],
    ['may exceed the anonymous cap if the domain says so', 8 * DAY, 8 * DAY, 8 * DAY, 30 * DAY],
    ['may exceed both caps if the domain says so', 90 * DAY, 90 * DAY, 90 * DAY, 90 * DAY],
  ] as const) {
    test(name, () => {
      const domain = domainOf({ ttlSeconds })
      expect(defaultLifetimeSeconds(domain, lifetimes)).toBe(expected)
      expect(maxLifetimeSeconds(domain, lifetimes, ANONYMOUS)).toBe(anonymous)
      expect(maxLifetimeSeconds(domain, lifetimes, KEYED)).toBe(keyed)
    })
  }

  test('is the default if the domain is unknown', () => {
    expect(defaultLifetimeSeconds(undefined, lifetimes)).toBe(DAY)
    const short = { sessionSeconds: 60 * DAY, anonymousMaxSeconds: DAY, maxSessionSeconds: DAY }
    for (const keyed of [KEYED, ANONYMOUS]) {
      expect(maxLifetimeSeconds(undefined, short, keyed)).toBe(60 * DAY)
    }
  })

  test('is never longer without a key than with one', () => {
    const short = { ...lifetimes, maxSessionSeconds: 3 * DAY }
    expect(maxLifetimeSeconds(undefined, short, ANONYMOUS)).toBe(3 * DAY)
    expect(maxLifetimeSeconds(undefined, short, KEYED)).toBe(3 * DAY)
  })

  for (const [ttl, keyed, refused] of [
    [undefined, ANONYMOUS, undefined],
    [60, ANONYMOUS, undefined],
    [7 * DAY, ANONYMOUS, undefined],
    [7 * DAY + 1, ANONYMOUS, 'ttl: must be 60 to 604800 seconds; up to 2592000 with an API key.'],
    [59, ANONYMOUS, 'ttl: must be 60 to 604800 seconds; up to 2592000 with an API key.'],
    [undefined, KEYED, undefined],
    [60, KEYED, undefined],
    [7 * DAY + 1, KEYED, undefined],
    [30 * DAY, KEYED, undefined],
    [30 * DAY + 1, KEYED, 'ttl: must be 60 to 2592000 seconds.'],
    [59, KEYED, 'ttl: must be 60 to 2592000 seconds.'],
    [0, KEYED, 'ttl: must be 60 to 2592000 seconds.'],
    [-60, KEYED, 'ttl: must be 60 to 2592000 seconds.'],
  ] as const) {
    const client = keyed ? 'with a key' : 'without a key'
    test(`may ${refused ? 'not ' : ''}be ${ttl} ${client}`, () => {
      const check = () => requestedLifetimeSeconds(ttl, { domain: domainOf({}), lifetimes, keyed })
      if (refused) expect(check).toThrow(new Problem('invalid_parameter', refused))
      else expect(check()).toBe(ttl ?? DAY)
    })
  }
})

describe('extending', () => {
  for (const [name, now, seconds, expected] of [
    ['starts from now', 5 * HOUR, DAY, 5 * HOUR + DAY],
    ['may shorten the lifetime', 5 * HOUR, 60, 5 * HOUR + 60],
    ['reaches the cap to the second', 20 * DAY, 10 * DAY, 30 * DAY],
    ['never exceeds the cap', 29 * DAY, 10 * DAY, 30 * DAY],
    ['has no effect once the cap has passed', 31 * DAY, DAY, 30 * DAY],
  ] as const) {
    test(name, () => {
      const session = { createdAt: at(0), expiresAt: at(DAY) }
      expect(extendedExpiry(session, at(now), seconds, 30 * DAY)).toEqual(at(expected))
    })
  }

  test('never shortens the session, even if the cap has been lowered since', () => {
    const session = { createdAt: at(0), expiresAt: at(5 * DAY) }
    expect(extendedExpiry(session, at(2 * DAY), 60, DAY)).toEqual(at(2 * DAY + 60))
    expect(extendedExpiry(session, at(2 * DAY), 10 * DAY, DAY)).toEqual(at(5 * DAY))
  })
})

describe('a session', () => {
  const session = { expiresAt: at(0) }
  const ms = (offset: number) => new Date(at(0).getTime() + offset)

  test('is live until the millisecond of its expiry', () => {
    expect([-1, 0, 1].map((offset) => isLive(session, ms(offset)))).toEqual([true, false, false])
  })

  test('reserves its address while it is live and for exactly the cooldown', () => {
    expect(
      [-1, 0, 9_999, 10_000].map((offset) => isWithinCooldown(session, ms(offset), 10_000)),
    ).toEqual([true, true, true, false])
  })

  test('reserves its address no longer than it is live if the cooldown is disabled', () => {
    expect(isWithinCooldown(session, ms(0), 0)).toBe(false)
  })
})

describe('fullness of a mailbox', () => {
  const limits = { maxMessages: 10, maxBytes: 1000 }
  for (const [name, count, bytes, full] of [
    ['an empty one is not full', 0, 0, false],
    ['one just below both limits is not full', 9, 999, false],
    ['one at its message limit is full', 10, 0, true],
    ['one at its byte limit is full', 1, 1000, true],
    ['one beyond both limits is full', 11, 2000, true],
  ] as const) {
    const box = { count, bytes, received: count, rules: NO_RULES }
    test(name, () => expect(isMailboxFull(box, limits)).toBe(full))
  }

  test('one that has received all that its rules accept is full, also after deletions', () => {
    const rules = { ...NO_RULES, maxMessages: 2 }
    const isFull = (received: number) =>
      isMailboxFull({ count: 0, bytes: 0, received, rules }, limits)
    expect([1, 2, 3].map(isFull)).toEqual([false, true, true])
  })
})

describe('a domain accepts sessions', () => {
  for (const [name, change, expected] of [
    ['if it is active', {}, true],
    ['not if it is inactive', { active: false }, false],
    ['not if it is removed', { removed: true }, false],
    ['not if it is only a reader domain', { sessions: false }, false],
    ['even if it has no pool', { reader: false }, true],
  ] as const) {
    test(name, () => expect(acceptsSessions(domainOf(change))).toBe(expected))
  }
})

test('topics are integers that differ by kind and name, and never a shared mailbox', () => {
  const topics = Array.from({ length: 1_000 }, (_, index) => [
    keyedTopic('key', `name${index}`),
    keyedTopic('pool', `name${index}`),
    accountTopic(index),
  ]).flat()
  expect(new Set([...topics, POOL, OPERATOR]).size).toBe(3_002)
  expect(topics.every((topic) => Number.isSafeInteger(topic) && topic >= 0)).toBe(true)
  expect(keyedTopic('key', 'name0')).toBe(topics[0])
})
