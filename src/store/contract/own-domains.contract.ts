import { describe, expect, test } from 'vitest'
import {
  address,
  at,
  COOLDOWN,
  DAY,
  domainName,
  HOUR,
  host,
  type OpenMailStore,
  START,
} from '../../../test/kit/store/fixture.ts'
import { POOL } from '../../mail/rules/session.ts'
import { claimId, ownFixture } from './own-fixture.ts'

/** Claims of keys to domains: who holds one. */
export function ownDomainsContract(open: () => Promise<OpenMailStore>): void {
  const { shared, claim, activate, hold, create, send, seen, rcpt, versionOf } = ownFixture(open)
  const holder = async () => (await shared.fixture.other.findDomainHolder(host('own.test')))?.keyId

  describe('a claim', () => {
    test('is pending, and is that of its key', async () => {
      const added = await claim('k1')
      expect(added).toStrictEqual({
        ...{ id: 'dom_k1_own.test', keyId: 'k1', name: 'own.test', token: 'token of k1' },
        ...{ state: 'pending', reason: undefined, createdAt: START, verifiedAt: undefined },
        ...{ checkedAt: undefined, missingSince: undefined, lapsedSince: undefined },
        ...{ catchAll: true, taken: 0, refused: 0 },
      })
      const { other } = shared.fixture
      expect(await other.findOwnDomain('dom_k1_own.test')).toStrictEqual(added)
      expect(await other.findOwnDomain('dom_k1_own.test', 'k1')).toStrictEqual(added)
      expect(await other.findOwnDomain('dom_k1_own.test', 'k2')).toBeUndefined()
      expect(await other.findDomain(host('own.test'))).toBeUndefined()
    })

    test('may be made by several keys, once by each, and as often as a key may', async () => {
      await claim('k1', 'b.test', { createdAt: at(1) })
      await claim('k1', 'a.test', { createdAt: at(2) })
      await claim('k2', 'a.test')
      expect(await claim('k1', 'a.test')).toBe('exists')
      expect(await claim('k1', 'c.test', { max: 2 })).toBe('limit')
      const names = (claims: { name: string; keyId: string }[]) =>
        claims.map(({ keyId, name }) => `${keyId} ${name}`)
      expect(names(await shared.fixture.other.listOwnDomains('k1'))).toStrictEqual([
        'k1 b.test',
        'k1 a.test',
      ])
      const first = await shared.fixture.other.listAllOwnDomains({ limit: 2 })
      expect(names(first)).toStrictEqual(['k1 a.test', 'k1 b.test'])
      const [before] = first.slice(-1)
      const rest = await shared.fixture.other.listAllOwnDomains({ limit: 2, before })
      expect(names(rest)).toStrictEqual(['k2 a.test'])
    })

    test('of concurrent ones, only as many are added as the key may have', async () => {
      const names = Array.from({ length: 20 }, (_, n) => `own${n}.test`)
      const added = await Promise.all(names.map((name) => claim('k1', name, { max: 3 })))
      expect(added.filter((one) => one !== 'limit').length).toBe(3)
    })

    test.each(['box.test', 'a.box.test', 'b.a.box.test', 'wild.test', 'a.wild.test'])(
      'to a domain of the operator, or below one, is refused: %s',
      async (name) => {
        const wildcard = domainName('*.wild.test')
        await shared.fixture.store.addDomain({
          ...{ name: wildcard, sessions: true, reader: false, ttlSeconds: undefined },
        })
        expect(await claim('k1', name)).toBe('reserved')
        expect(await shared.fixture.store.listOwnDomains('k1')).toStrictEqual([])
      },
    )

    test('may be above a domain of the operator', async () => {
      expect(await claim('k1', 'test.example')).toMatchObject({ state: 'pending' })
    })
  })

  describe('a verified claim', () => {
    test('holds its name: the domain is not listed, and the operator can neither add nor change it', async () => {
      await claim('k1')
      expect(await activate('k1')).toStrictEqual({ outcome: 'active', ended: [] })
      expect(await shared.fixture.other.findOwnDomain('dom_k1_own.test')).toMatchObject({
        ...{ state: 'active', verifiedAt: START, checkedAt: START },
      })
      const own = await shared.fixture.other.findDomain(host('own.test'))
      expect(own).toMatchObject({ owner: 'k1', active: true, sessions: false, reader: true })
      const listed = await shared.fixture.other.listDomains()
      expect(listed.map(({ name }) => name)).toStrictEqual(['box.test', 'pool.test'])
      const name = host('own.test')
      const added = { name, sessions: true, reader: true, ttlSeconds: undefined }
      expect(await shared.fixture.store.addDomain(added)).toBeUndefined()
      expect(await shared.fixture.store.changeDomain(name, { sessions: true })).toBeUndefined()
      expect(await shared.fixture.other.findDomain(name)).toStrictEqual(own)
    })

    test('of two keys, only the first holds the name', async () => {
      for (const key of ['k1', 'k2']) await claim(key)
      await activate('k1')
      expect(await activate('k2')).toStrictEqual({ outcome: 'held', ended: [] })
      expect(await activate('k2', { replaces: 'dom_k3_own.test' })).toStrictEqual({
        outcome: 'held',
        ended: [],
      })
      expect(await holder()).toBe('k1')
      expect(await activate('k1')).toStrictEqual({ outcome: 'active', ended: [] })
    })

    test('is not that of a key that did not make it', async () => {
      await claim('k1')
      const foreign = { id: 'dom_k1_own.test', keyId: 'k2', now: START }
      expect(await shared.fixture.store.activateOwnDomain(foreign)).toMatchObject({
        outcome: 'not_found',
      })
      expect(await holder()).toBeUndefined()
    })

    test('cannot hold a name that the operator has added since', async () => {
      await claim('k1')
      const name = host('own.test')
      await shared.fixture.store.addDomain({
        name,
        sessions: true,
        reader: true,
        ttlSeconds: undefined,
      })
      expect(await activate('k1')).toStrictEqual({ outcome: 'reserved', ended: [] })
      expect((await shared.fixture.other.findDomain(name))?.owner).toBeUndefined()
    })

    test('is taken over by the claim that replaces it, and is then pending again', async () => {
      for (const key of ['k1', 'k2']) await claim(key)
      await activate('k1')
      const { outcome } = await activate('k2', { replaces: claimId('k1') })
      expect(outcome).toBe('active')
      expect(await holder()).toBe('k2')
      expect((await shared.fixture.other.findDomain(host('own.test')))?.owner).toBe('k2')
      expect(await shared.fixture.other.findOwnDomain('dom_k1_own.test')).toMatchObject({
        ...{ state: 'pending', reason: 'taken_over', verifiedAt: undefined },
      })
    })

    test('changes with its domain; a pending one stays pending', async () => {
      for (const key of ['k1', 'k2']) await claim(key)
      await activate('k1')
      const change = (id: string, what: object, keyId?: string) =>
        shared.fixture.store.changeOwnDomain(id, what, keyId)
      const domain = async () => {
        const found = await shared.fixture.other.findDomain(host('own.test'))
        return [found?.active, found?.reader]
      }
      const suspension = { state: 'suspended', reason: 'record_missing', missingSince: at(-HOUR) }
      expect(await change('dom_k1_own.test', suspension)).toMatchObject(suspension)
      expect(await domain()).toStrictEqual([false, true])
      const resumption = { state: 'active', reason: null, missingSince: null, checkedAt: at(DAY) }
      expect(await change('dom_k1_own.test', resumption)).toMatchObject({
        ...{ state: 'active', reason: undefined, missingSince: undefined, checkedAt: at(DAY) },
      })
      expect(await domain()).toStrictEqual([true, true])
      expect(await change('dom_k1_own.test', { catchAll: false }, 'k2')).toBeUndefined()
      await change('dom_k1_own.test', { catchAll: false }, 'k1')
      expect(await domain()).toStrictEqual([true, false])
      expect(await change('dom_k2_own.test', { state: 'active' })).toMatchObject({
        state: 'pending',
      })
      expect(await holder()).toBe('k1')
    })

    test('is not taken over if its record was found since it was read', async () => {
      for (const key of ['k1', 'k2']) await claim(key)
      await activate('k1')
      const { store, other } = shared.fixture
      const replaces = await other.findOwnDomain('dom_k1_own.test')
      const takeOver = () =>
        store.activateOwnDomain({ id: 'dom_k2_own.test', keyId: 'k2', now: at(2), replaces })
      await other.changeOwnDomain('dom_k1_own.test', { checkedAt: at(1) })
      expect(await takeOver()).toStrictEqual({ outcome: 'held', ended: [] })
      expect(await holder()).toBe('k1')
      await other.changeOwnDomain('dom_k1_own.test', { checkedAt: at(1), missingSince: at(1) })
      expect((await takeOver()).outcome).toBe('active')
    })

    test('that the operator has suspended is neither deleted by its key nor taken over', async () => {
      for (const key of ['k1', 'k2']) await claim(key)
      await activate('k1')
      const { store, other } = shared.fixture
      const suspended = { state: 'suspended', reason: 'suspended_by_operator' } as const
      await other.changeOwnDomain('dom_k1_own.test', suspended)
      expect(await store.deleteOwnDomain('dom_k1_own.test', 'k1', START)).toBe('suspended')
      expect((await activate('k2', { replaces: claimId('k1') })).outcome).toBe('held')
      expect(await holder()).toBe('k1')
    })

    test('is deleted with its domain, which then is free for all', async () => {
      for (const key of ['k1', 'k2']) await claim(key)
      await activate('k1')
      expect(
        await shared.fixture.store.deleteOwnDomain('dom_k1_own.test', 'k2', START),
      ).toBeUndefined()
      expect(
        await shared.fixture.store.deleteOwnDomain('dom_k1_own.test', 'k1', START),
      ).toHaveLength(1)
      expect(await shared.fixture.other.findDomain(host('own.test'))).toBeUndefined()
      expect(await shared.fixture.other.listOwnDomains('k1')).toStrictEqual([])
      expect((await activate('k2')).outcome).toBe('active')
      expect(
        await shared.fixture.store.deleteOwnDomain('dom_k2_own.test', undefined, START),
      ).toHaveLength(1)
    })
  })

  describe('after an older state was restored', () => {
    const LATER = at(DAY)
    const distrust = () => shared.fixture.store.distrustOwnDomains(LATER)
    const states = async () => {
      const all = await shared.fixture.other.listAllOwnDomains({ limit: 9 })
      return all
        .map(({ name, state, reason, checkedAt }) => [name, state, reason, checkedAt])
        .sort()
    }

    test('no domain takes mail before it is checked, whatever its state was', async () => {
      const { store, other } = shared.fixture
      for (const name of ['active', 'missing', 'banned', 'claimed'])
        await claim('k1', `${name}.test`)
      for (const name of ['active.test', 'missing.test', 'banned.test']) {
        await activate('k1', { name })
      }
      const change = (name: string, reason: 'record_missing' | 'suspended_by_operator') =>
        store.changeOwnDomain(claimId('k1', name), { state: 'suspended', reason })
      await change('missing.test', 'record_missing')
      await change('banned.test', 'suspended_by_operator')
      expect(await other.listUnconfirmedOwnDomains()).toStrictEqual([])
      expect(await distrust()).toBe(3)
      expect(await states()).toStrictEqual([
        ['active.test', 'suspended', 'restored', undefined],
        ['banned.test', 'suspended', 'suspended_by_operator', undefined],
        ['claimed.test', 'pending', undefined, undefined],
        ['missing.test', 'suspended', 'restored', undefined],
      ])
      const unconfirmed = await other.listUnconfirmedOwnDomains()
      expect(unconfirmed.map(({ name }) => name).sort()).toStrictEqual([
        ...['active.test', 'banned.test', 'missing.test'],
      ])
      for (const [name, isDeferred] of [
        ['active.test', true],
        ['missing.test', true],
        ['banned.test', false],
        ['claimed.test', false],
      ] as const) {
        expect(await other.isRestoredDomain(host(name)), name).toBe(isDeferred)
        expect(await rcpt(`any@${name}`), name).toBe(
          name === 'claimed.test' ? 'foreign' : 'unknown',
        )
      }
      expect((await other.findDomain(host('box.test')))?.active).toBe(true)
    })

    test('tokens of permanent addresses are void, and those of others are not', async () => {
      await hold('k1')
      const { store, other } = shared.fixture
      await create('ann@own.test', 'k1', { lifeMs: Number.POSITIVE_INFINITY })
      await create('bob@own.test', 'k1')
      await distrust()
      const found = [await other.findSession('own-1'), await other.findSession('own-2')]
      expect(found.map((session) => session?.address)).toStrictEqual([undefined, 'bob@own.test'])
      const rolled = { keyId: 'k1', address: address('ann@own.test'), tokenHash: 'new', now: START }
      expect(await store.rollToken(rolled)).toMatchObject({ address: 'ann@own.test' })
      expect(await other.findSession('new')).toMatchObject({ address: 'ann@own.test' })
    })

    test('a version is none of those that were lost', async () => {
      await hold('k1')
      const lost = [await versionOf('k1'), await versionOf('k1', 'any@own.test')]
      for (let sent = 0; sent < 3; sent += 1) {
        await send(['any@own.test'], 'lost')
        lost.push(await versionOf('k1'), await versionOf('k1', 'any@own.test'))
      }
      await distrust()
      await shared.fixture.store.changeOwnDomain(claimId('k1'), { state: 'active', reason: null })
      const next = [await versionOf('k1'), await versionOf('k1', 'any@own.test')]
      await send(['any@own.test'], 'new')
      next.push(await versionOf('k1'), await versionOf('k1', 'any@own.test'))
      expect(new Set([...lost, ...next]).size).toBe(lost.length + next.length)
    })

    test('a domain whose sessions are lost gets a mailbox for mail without another again', async () => {
      await hold('k1')
      const { store, other } = shared.fixture
      const catchAll = await other.findRecipient(address('any@own.test'))
      await store.endSession(catchAll.own?.catchAll ?? POOL, START)
      await shared.fixture.sweepAll(at(COOLDOWN + DAY))
      expect((await other.findRecipient(address('any@own.test'))).own?.catchAll).toBeUndefined()
      await distrust()
      await store.changeOwnDomain(claimId('k1'), { state: 'active', reason: null })
      expect((await send(['any@own.test'], 'after')).outcome).toBe('stored')
      expect(await seen('k1')).toStrictEqual(['after'])
    })
  })

  const ROUNDS = process.env['MAYFLY_TEST_LONG'] ? 500 : 50
  test(`of two keys that race for a domain, exactly one gets it, ${ROUNDS} times`, async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const name = `race${round}.test`
      for (const key of ['k1', 'k2']) await claim(key, name, { max: 1_000 })
      const outcomes = await Promise.all(
        ['k1', 'k2'].map(async (keyId, n) => {
          const store = n === 0 ? shared.fixture.store : shared.fixture.other
          const claimed = { id: `dom_${keyId}_${name}`, keyId, now: START }
          return [keyId, (await store.activateOwnDomain(claimed)).outcome]
        }),
      )
      expect(outcomes.map(([, outcome]) => outcome).sort(), name).toStrictEqual(['active', 'held'])
      const [winner] = outcomes.find(([, outcome]) => outcome === 'active') ?? []
      expect((await shared.fixture.store.findDomainHolder(host(name)))?.keyId).toBe(winner)
      expect((await shared.fixture.store.findDomain(host(name)))?.owner).toBe(winner)
    }
  })
}
