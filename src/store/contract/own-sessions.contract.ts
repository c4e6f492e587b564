import { describe, expect, test } from 'vitest'
import {
  address,
  at,
  COOLDOWN,
  domainName,
  HOUR,
  head,
  host,
  newMail,
  type OpenMailStore,
  START,
} from '../../../test/kit/store/fixture.ts'
import { isPermanent } from '../../mail/rules/session.ts'
import { claimId, ownFixture } from './own-fixture.ts'

const FOREVER = Number.POSITIVE_INFINITY

/** Sessions at domains that keys hold, and what is left of them when a domain changes hands. */
export function ownSessionsContract(open: () => Promise<OpenMailStore>): void {
  const { shared, hold, claim, rcpt, accept, send, create, seen, takeOver, versionOf } =
    ownFixture(open)
  const listed = async (keyId: string, permanent = false) => {
    const page = { keyId, now: START, beforeId: undefined, limit: 100, permanent }
    return (await shared.fixture.other.listKeySessions(page)).map((one) => one.address)
  }

  /** Messages of all mailboxes that are in the store. */
  const stored = async () => {
    const page = { clientIp: '192.0.2.7', after: undefined, limit: 1_000 }
    return (await shared.fixture.other.scanMail(page)).scanned
  }

  describe('a session at a domain that a key holds', () => {
    test('is created by that key alone', async () => {
      await hold('k1')
      await claim('k2')
      expect(await create('ann@own.test', 'k2')).toBeUndefined()
      expect(await create('ann@own.test', undefined)).toBeUndefined()
      for (const keyId of ['k1', 'k2', undefined]) {
        const notForIt = create('ann@own.test', keyId, { ownDomain: null })
        expect(await notForIt, `${keyId}`).toBeUndefined()
      }
      expect(await create('ann@own.test', 'k1')).toMatchObject({ ownDomain: 'own.test' })
      expect(await create('ann@own.test', 'k1')).toBeUndefined()
    })

    test('is not created below a wildcard that was added above it', async () => {
      await hold('k1', 'a.wild.test')
      const name = domainName('*.wild.test')
      await shared.fixture.store.addDomain({
        ...{ name, sessions: true, reader: true, ttlSeconds: undefined },
      })
      expect(await create('x@a.wild.test', 'k2', { ownDomain: null })).toBeUndefined()
      expect(await create('x@b.wild.test', 'k2', { ownDomain: null })).toBeTruthy()
      await send(['x@a.wild.test'], 'secret')
      expect(await seen('k2')).toStrictEqual([])
      expect(await seen('k1')).toStrictEqual(['secret'])
    })

    test('of another key, from before it was held, gets none of its mail', async () => {
      const before = await create('ann@own.test', 'k2', { ownDomain: null })
      expect.assert(before)
      await hold('k1')
      expect(await rcpt('ann@own.test')).toBe('unknown')
      const mail = newMail([{ address: before.address, mailbox: before.id }])
      expect(await shared.fixture.store.addMail(mail)).toStrictEqual({ outcome: 'no_recipients' })
      expect(await seen('k2')).toStrictEqual([])
    })

    test('may have no end, and is listed so; the catch-all is listed nowhere', async () => {
      await hold('k1')
      const kept = await create('kept@own.test', 'k1', { lifeMs: FOREVER })
      await create('short@own.test', 'k1')
      expect.assert(kept)
      const query = { order: 'newest', limit: 9, now: START } as const
      const all = await shared.fixture.other.listSessions(query)
      expect(all.map(({ address }) => address)).toStrictEqual(['short@own.test', 'kept@own.test'])
      expect(isPermanent(kept)).toBe(true)
      expect(await listed('k1')).toStrictEqual(['short@own.test', 'kept@own.test'])
      expect(await listed('k1', true)).toStrictEqual(['kept@own.test'])
      expect((await shared.fixture.other.readStoreLevels(START)).liveSessions).toBe(2)
      await shared.fixture.sweepAll(at(20 * COOLDOWN))
      expect(await listed('k1')).toStrictEqual(['kept@own.test'])
    })

    test('is free again at once for its key, for a new holder after the cool-down', async () => {
      await hold('k1')
      const first = await create('ann@own.test', 'k1', { lifeMs: FOREVER })
      expect.assert(first)
      await send(['ann@own.test'], 'of the first')
      await shared.fixture.store.endSession(first.id, at(1))
      const again = await create('ann@own.test', 'k1', { createdAt: at(2) })
      expect.assert(again)
      expect(again.id).not.toBe(first.id)
      expect(await shared.fixture.subjects(again.id)).toStrictEqual([])
      await claim('k2')
      await takeOver('k2', 'k1', at(3))
      expect(await create('ann@own.test', 'k2', { createdAt: at(4) })).toBeUndefined()
      expect(await rcpt('ann@own.test', at(4))).toBe('unknown')
      const late = { createdAt: at(4 + COOLDOWN) }
      expect(await create('ann@own.test', 'k2', late)).toBeTruthy()
    })

    test('is revived for its key, at its domain, if it still holds it', async () => {
      await hold('k1')
      const session = await create('ann@own.test', 'k1')
      expect.assert(session)
      const revival = {
        ...{ mailbox: session.id, now: at(2 * HOUR), expiresAt: at(3 * HOUR) },
        cooldownMs: COOLDOWN,
      }
      const { store } = shared.fixture
      const own = { keyId: 'k1', ownDomain: host('own.test') }
      expect(await store.reviveSession(revival)).toBeUndefined()
      expect(await store.reviveSession({ ...revival, ...own, keyId: 'k2' })).toBeUndefined()
      expect(await store.reviveSession({ ...revival, ...own })).toMatchObject({
        ownDomain: 'own.test',
      })
    })
  })

  /** The domain of k1 goes to k2, or to nobody. */
  const changes = {
    'a take-over': () => takeOver('k2', 'k1', at(1_000)),
    'a deletion': async () => {
      const ended = await shared.fixture.store.deleteOwnDomain(claimId('k1'), 'k1', at(1_000))
      expect.assert(Array.isArray(ended))
      return { outcome: 'deleted', ended }
    },
  }

  describe.each(Object.entries(changes))('%s', (what, change) => {
    test('ends sessions, tokens and mail of the former holder in one commit', async () => {
      const { store, other } = shared.fixture
      await hold('k1')
      await claim('k2')
      const kept = await create('kept@own.test', 'k1', { lifeMs: FOREVER })
      const expired = await create('expired@own.test', 'k1', { lifeMs: 1 })
      const elsewhere = await shared.fixture.session('ann@box.test', HOUR, 'k1')
      expect.assert(kept && expired)
      await send(['kept@own.test', 'any@own.test', 'ann@box.test'], 'of k1')
      const version = await versionOf('k1')

      const { ended } = await change()
      expect(ended.map(({ keyId }) => keyId)).toStrictEqual(['k1', 'k1', 'k1'])
      expect(ended.map(({ id }) => id)).toEqual(expect.arrayContaining([kept.id, expired.id]))
      expect(await versionOf('k1')).not.toBe(version)
      expect(await seen('k1')).toStrictEqual(['of k1'])
      expect(await seen('k1', 'kept@own.test')).toStrictEqual([])
      expect(await seen('k1', 'any@own.test')).toStrictEqual([])
      expect(await listed('k1')).toStrictEqual(['ann@box.test'])
      expect(await listed('k2')).toStrictEqual([])
      for (const tokenHash of ['own-1', 'own-2'])
        expect(await other.findSession(tokenHash)).toBeUndefined()

      const own = { keyId: 'k1', ownDomain: host('own.test') }
      const now = at(1_001)
      const again = { now, expiresAt: at(HOUR), cooldownMs: COOLDOWN, ...own }
      for (const mailbox of [kept.id, expired.id]) {
        expect(await store.reviveSession({ mailbox, ...again })).toBeUndefined()
        expect(await store.extendSession(mailbox, at(HOUR), now)).toBeUndefined()
      }
      const named = { keyId: 'k1', address: kept.address, now }
      expect(await store.rollToken({ ...named, tokenHash: 'rolled' })).toBeUndefined()
      expect(await create('new@own.test', 'k1', { createdAt: now })).toBeUndefined()

      await shared.fixture.sweepAll(at(COOLDOWN))
      expect(await store.listMessageIds(kept.id)).toStrictEqual([])
      expect(await stored()).toBe(0)
      expect(await store.listMessageIds(elsewhere.id)).toStrictEqual([])
    })

    test('refuses mail that was accepted before, and shows it to nobody', async () => {
      await hold('k1')
      await claim('k2')
      await create('ann@own.test', 'k1')
      const inFlight = await accept('ann@own.test', 'any@own.test')
      await change()
      const late = newMail(inFlight, { head: head('of k1') })
      expect(await shared.fixture.store.addMail(late)).toStrictEqual({ outcome: 'no_recipients' })
      for (const key of ['k1', 'k2']) expect(await seen(key)).toStrictEqual([])
    })

    test('leaves nothing that the next holder or the former one can read, whenever mail or a session comes', async () => {
      await claim('k2')
      for (let round = 0; round < 30; round += 1) {
        const { store, other } = shared.fixture
        await hold('k1')
        await claim('k2')
        const local = `r${round}`
        const expired = await create(`expired${round}@own.test`, 'k1', { lifeMs: 1 })
        await create(`${local}@own.test`, 'k1')
        expect.assert(expired)
        const [session, rest] = await accept(`${local}@own.test`, `any@own.test`)
        expect.assert(session && rest)
        const mail = (...to: (typeof session)[]) => newMail(to, { head: head('of k1') })
        const own = { keyId: 'k1', ownDomain: host('own.test') }
        const revival = { mailbox: expired.id, now: at(10), expiresAt: at(HOUR), ...own }
        const [{ outcome }] = await Promise.all([
          change(),
          store.addMail(mail(session, rest)),
          other.addMail(mail(rest, session)),
          other.addMail(mail(rest)),
          create(`late${round}@own.test`, 'k1'),
          other.reviveSession({ ...revival, cooldownMs: COOLDOWN }),
        ])
        expect(outcome).toMatch(/active|deleted/)
        for (const key of ['k1', 'k2']) {
          expect(await seen(key), `${round}`).toStrictEqual([])
          expect(await listed(key), `${round}`).toStrictEqual([])
        }
        for (const key of ['k1', 'k2']) await store.deleteOwnDomain(claimId(key), key, at(1_000))
      }
      await shared.fixture.sweepAll(at(COOLDOWN))
      expect(await stored()).toBe(0)
      await hold('k1')
      const [all] = await accept('any@own.test')
      expect.assert(all)
      const full = newMail([all], { raw: new Uint8Array(20_000) })
      expect((await shared.fixture.store.addMail(full)).outcome).toBe('stored')
    })

    test('keeps the addresses in the ledger: none of them gets into the pool', async () => {
      await hold('k1')
      await claim('k2')
      await create('ann@own.test', 'k1')
      await change()
      if (what === 'a take-over')
        await shared.fixture.store.deleteOwnDomain(claimId('k2'), 'k2', START)
      const name = host('own.test')
      await shared.fixture.store.addDomain({
        ...{ name, sessions: true, reader: true, ttlSeconds: undefined },
      })
      await shared.fixture.sweepAll(at(2 * COOLDOWN))
      expect(await rcpt('ann@own.test', at(2 * COOLDOWN))).toBe('unknown')
      const { inLedger } = await shared.fixture.other.findRecipient(address('ann@own.test'))
      expect(inLedger).toBe(true)
    })
  })
}
