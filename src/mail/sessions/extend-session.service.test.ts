import { describe, expect, test } from 'vitest'
import { openGmailFixture, rules, withAliases } from '../../../test/kit/gmail/gmail.ts'
import { isProblem } from '../../../test/kit/http/problem.ts'
import { domainName } from '../../../test/kit/store/fixture.ts'
import { openSqliteTestMail } from '../../../test/kit/store/stores.ts'
import { parseHost } from '../../base/address.ts'
import { NO_ALIAS_ACCOUNTS } from '../testing/no-alias-accounts.ts'
import { createSession } from './create-session.ts'
import { extendSession } from './session.ts'

const CREATED = new Date('2026-03-01T12:00:00Z')
const LATER = new Date('2026-03-01T14:00:00Z')

test('of concurrent revivals of a session one succeeds, and the others extend the revived session', async () => {
  const { store, close } = await openSqliteTestMail()
  const name = parseHost('box.test')
  expect.assert(name)
  await store.addDomain({ name, sessions: true, reader: false, ttlSeconds: undefined })
  const woken: number[] = []
  const deps = {
    store,
    bus: { wake: (mailbox: number) => void woken.push(mailbox) },
    lifetimes: { sessionSeconds: 3_600, anonymousMaxSeconds: 7_200, maxSessionSeconds: 7_200 },
    cooldownMs: 86_400_000,
    ownHosts: [],
    aliasAccounts: NO_ALIAS_ACCOUNTS,
    randomBytes: (count: number) => new Uint8Array(count).fill(7),
  }
  const { session, token } = await createSession({ ...deps, now: () => CREATED }, {})

  // All of them read before the first one writes.
  const all = await Promise.all(
    Array.from({ length: 10 }, () =>
      extendSession({ ...deps, now: () => LATER }, token, undefined),
    ),
  )
  await close()
  const [mailbox, ...others] = new Set(all.map(({ id }) => id))
  expect(mailbox).not.toBe(session.id)
  expect(others).toStrictEqual([])
  expect(woken).toStrictEqual(Array(9).fill(mailbox))
})

describe('an alias of an account', () => {
  const HOUR = 3_600_000
  const expired = isProblem('session_expired')

  test('is extended while it is live, even if its account is no longer offered', async () => {
    const fixture = await openGmailFixture(rules('joe@gmail.com'))
    const { token } = await fixture.alias('joe@gmail.com', 'shop')
    await fixture.store.setAccountActive(await fixture.idOf('joe@gmail.com'), false)
    fixture.pass(HOUR / 2)
    const extended = await extendSession(
      withAliases({ ...fixture.deps, gmailAccounts: [] }),
      token,
      undefined,
    )
    await fixture.close()
    expect(extended.expiresAt.getTime()).toBe(fixture.deps.now().getTime() + HOUR)
  })

  test('is revived while its account is offered, healthy or not', async () => {
    const fixture = await openGmailFixture(rules('joe@gmail.com'))
    const { session, token } = await fixture.alias('joe@gmail.com', 'shop')
    await fixture.report('joe@gmail.com', 'failing')
    fixture.pass(2 * HOUR)
    const revived = await extendSession(fixture.deps, token, undefined)
    await fixture.close()
    expect([revived.address, revived.accountId]).toStrictEqual([
      'joe+shop@gmail.com',
      session.accountId,
    ])
    expect(revived.id).not.toBe(session.id)
  })

  test('is expired while its account is missing from the file or inactive, and revived once it is back', async () => {
    const fixture = await openGmailFixture(rules('joe@gmail.com'), rules('ann@gmail.com'))
    const { token } = await fixture.alias('joe@gmail.com', 'shop')
    fixture.pass(2 * HOUR)
    const withoutJoe = withAliases({ ...fixture.deps, gmailAccounts: [rules('ann@gmail.com')] })
    await expect(extendSession(withoutJoe, token, undefined)).rejects.toSatisfy(expired)
    const id = await fixture.idOf('joe@gmail.com')
    await fixture.store.setAccountActive(id, false)
    await expect(extendSession(fixture.deps, token, undefined)).rejects.toSatisfy(expired)
    await fixture.store.setAccountActive(id, true)
    expect((await extendSession(fixture.deps, token, undefined)).accountId).toBe(id)
    await fixture.close()
  })

  test('is not revived after the cool-down', async () => {
    const fixture = await openGmailFixture(rules('joe@gmail.com'))
    const { token } = await fixture.alias('joe@gmail.com', 'shop')
    fixture.pass(HOUR + fixture.deps.cooldownMs)
    await expect(extendSession(fixture.deps, token, undefined)).rejects.toSatisfy(expired)
    await fixture.close()
  })
})

const DAY = 86_400
const lifetimes = { sessionSeconds: DAY, anonymousMaxSeconds: 7 * DAY, maxSessionSeconds: 30 * DAY }
const after = (seconds: number) => new Date(CREATED.getTime() + seconds * 1_000)

test.for([
  ['without a key, from before the cap, keeps its end', undefined, 28, 7, 30],
  ['with a key reaches thirty days', 'key-1', 5, 25, 30],
  ['without a key reaches seven days', undefined, 5, 7, 7],
] as const)('a session %s', async ([name, keyId, onDay, ttlDays, endsOnDay]) => {
  const { store, close } = await openSqliteTestMail()
  const host = parseHost('box.test')
  expect.assert(host)
  await store.addDomain({ name: host, sessions: true, reader: false, ttlSeconds: undefined })
  const deps = {
    store,
    bus: { wake() {} },
    lifetimes,
    cooldownMs: 86_400_000,
    ownHosts: [],
    aliasAccounts: NO_ALIAS_ACCOUNTS,
    randomBytes: (count: number) => new Uint8Array(count).fill(7),
  }
  const isOld = name.includes('before')
  const earlierLifetimes = isOld ? { ...lifetimes, anonymousMaxSeconds: 30 * DAY } : lifetimes
  const ttl = (isOld ? 30 : 6) * DAY
  const { token } = await createSession(
    { ...deps, lifetimes: earlierLifetimes, now: () => CREATED },
    { ttl, keyId },
  )
  const now = () => after(onDay * DAY)
  const extended = await extendSession({ ...deps, now }, token, ttlDays * DAY)
  expect(extended.expiresAt).toStrictEqual(after(endsOnDay * DAY))
  await close()
})

test('below a wildcard domain, a session has the lifetime of the domain and is revived while that is offered', async () => {
  const { store, close } = await openSqliteTestMail()
  const name = domainName('*.wild.test')
  await store.addDomain({ name, sessions: true, reader: false, ttlSeconds: 600 })
  const depsAt = (seconds: number) => ({
    store,
    bus: { wake() {} },
    lifetimes,
    cooldownMs: 86_400_000,
    ownHosts: [],
    aliasAccounts: NO_ALIAS_ACCOUNTS,
    randomBytes: (count: number) => new Uint8Array(count).fill(7),
    now: () => after(seconds),
  })
  const { session, token } = await createSession(depsAt(0), { subdomain: 'team' })
  const extend = (seconds: number) => extendSession(depsAt(seconds), token, undefined)
  expect((await extend(60)).expiresAt).toStrictEqual(after(660))
  const { address, expiresAt } = await extend(700)
  expect([address, expiresAt]).toStrictEqual([session.address, after(1_300)])
  await store.changeDomain(name, { active: false })
  await expect(extend(1_400)).rejects.toSatisfy(isProblem('session_expired'))
  await close()
})
