import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  address,
  at,
  COOLDOWN,
  DAY,
  type Fixture,
  HOUR,
  head,
  host,
  MINUTE,
  newSession,
  type OpenMailStore,
  openFixture,
  START,
} from '../../../test/kit/store/fixture.ts'
import type { MailboxId } from '../../mail/rules/session.ts'

/** Domains, sessions and the assignment of addresses. */
export function sessionsContract(open: () => Promise<OpenMailStore>): void {
  let fixture: Fixture

  beforeEach(async () => {
    fixture = await openFixture(await open())
  })
  afterEach(() => fixture.close())

  describe('mail domains', () => {
    test('a name is added once', async () => {
      const again = { name: host('box.test'), sessions: true, reader: true, ttlSeconds: 60 }
      expect(await fixture.store.addDomain(again)).toBeUndefined()
      expect((await fixture.store.findDomain(host('box.test')))?.reader).toBe(false)
    })

    test('a removed name is restored under its old id, which a new one never gets', async () => {
      const before = await fixture.store.findDomain(host('box.test'))
      await fixture.store.changeDomain(host('box.test'), { removed: true })
      const options = { sessions: true, reader: true, ttlSeconds: 600 }
      const added = await fixture.store.addDomain({ name: host('new.test'), ...options })
      const restored = await fixture.store.addDomain({ name: host('box.test'), ...options })
      expect(restored?.id).toBe(before?.id)
      expect([restored?.removed, restored?.ttlSeconds]).toStrictEqual([false, 600])
      expect(added?.id).not.toBe(before?.id)
    })

    test('a change is visible to other threads and affects nothing else', async () => {
      await fixture.store.changeDomain(host('box.test'), { active: false })
      const [first] = await fixture.other.listDomains()
      expect([first?.name, first?.active, first?.removed]).toStrictEqual(['box.test', false, false])
      expect(await fixture.store.changeDomain(host('no.test'), { active: true })).toBeUndefined()
    })

    test('the lifetime of a domain is changed, kept and reset', async () => {
      const lifetimes = []
      for (const change of [{ ttlSeconds: 600 }, { reader: true }, { ttlSeconds: null }]) {
        const changed = await fixture.store.changeDomain(host('box.test'), change)
        lifetimes.push(changed?.ttlSeconds)
      }
      expect(lifetimes).toStrictEqual([600, 600, undefined])
    })
  })

  describe('sessions', () => {
    test('a new session is visible to other threads at once', async () => {
      const created = await fixture.session('ann@box.test')
      const { tokenHash, ...expected } = created
      expect(await fixture.other.findSession(tokenHash)).toStrictEqual(expected)
    })

    test('a revived session keeps its label', async () => {
      const ann = newSession('ann@box.test', { tokenHash: 'ann', createdAt: START, lifeMs: HOUR })
      const created = await fixture.store.createSession({ ...ann, label: 'Ännchen' })
      expect.assert(created)
      expect((await fixture.other.findSession('ann'))?.label).toBe('Ännchen')
      const times = { now: at(HOUR), expiresAt: at(2 * HOUR), cooldownMs: COOLDOWN }
      await fixture.store.reviveSession({ mailbox: created.id, ...times })
      expect((await fixture.other.findSession('ann'))?.label).toBe('Ännchen')
    })

    test('of 200 concurrent requests for one address, one succeeds', async () => {
      const requests = Array.from({ length: 200 }, (_, index) =>
        (index % 2 === 0 ? fixture.store : fixture.other).createSession(
          newSession('race@box.test', {
            tokenHash: `racer-${index}`,
            createdAt: START,
            lifeMs: HOUR,
          }),
        ),
      )
      expect((await Promise.all(requests)).filter((won) => won !== undefined).length).toBe(1)
    })

    test('an address is free after its cool-down, and no earlier', async () => {
      await fixture.session('ann@box.test')
      expect(await fixture.take('ann@box.test', 'b')).toBeUndefined()
      expect(await fixture.take('ann@box.test', 'b', at(HOUR))).toBeUndefined()
      expect(await fixture.take('ann@box.test', 'b', at(HOUR + COOLDOWN - 1))).toBeUndefined()
      expect.assert(await fixture.take('ann@box.test', 'b', at(HOUR + COOLDOWN)))
    })

    test('a new owner after the cool-down sees nothing of the previous one, swept or not', async () => {
      const previous = await fixture.session('ann@box.test')
      await fixture.send(['ann@box.test'], { head: head('secret of the former owner') })
      const next = await fixture.take('ann@box.test', 'next', at(HOUR + COOLDOWN))
      expect.assert(next)
      expect(next.id).not.toBe(previous.id)
      expect([next.count, next.bytes, await fixture.subjects(next.id)]).toStrictEqual([0, 0, []])
      expect(await fixture.store.findSession(previous.tokenHash)).toBeUndefined()
    })

    test('extending changes the expiry and the version for other threads, too', async () => {
      const { id, tokenHash, version } = await fixture.session('ann@box.test')
      await fixture.other.findSession(tokenHash)
      const extended = await fixture.store.extendSession(id, at(2 * HOUR), at(HOUR - 1))
      expect(extended).toStrictEqual(await fixture.other.findSession(tokenHash))
      expect(extended?.expiresAt).toStrictEqual(at(2 * HOUR))
      expect.assert(extended && extended.version > version)
    })

    test('an expired session cannot be extended', async () => {
      const { id } = await fixture.session('ann@box.test')
      expect(await fixture.store.extendSession(id, at(2 * HOUR), at(HOUR))).toBeUndefined()
    })

    test('an ended session is not found by its token, and its address has its cool-down', async () => {
      const { id, tokenHash } = await fixture.session('ann@box.test')
      await fixture.other.findSession(tokenHash)
      expect(await fixture.store.endSession(id, at(1000))).toBe(true)
      expect(await fixture.other.findSession(tokenHash)).toBeUndefined()
      expect(await fixture.store.endSession(id, at(1000))).toBe(false)
      expect(await fixture.take('ann@box.test', 'b', at(COOLDOWN))).toBeUndefined()
      expect.assert(await fixture.take('ann@box.test', 'b', at(1000 + COOLDOWN)))
    })
  })

  describe('sessions of a key', () => {
    const session = (name: string, keyId = 'ann') =>
      fixture.session(`${name}@box.test`, HOUR, keyId)
    const list = async (
      keyId: string,
      { now = START, beforeId = undefined as number | undefined, limit = 9 } = {},
    ) => (await fixture.other.listKeySessions({ keyId, now, beforeId, limit })).map(({ id }) => id)
    const named = (name: string, keyId: string, now = START) => ({
      ...{ keyId, address: address(`${name}@box.test`), now },
    })

    test('live ones are listed by page, newest first, for their key alone', async () => {
      const [one, two, three] = [await session('one'), await session('two'), await session('three')]
      await session('other', 'bob')
      await fixture.session('none@box.test')
      await fixture.store.endSession(two.id, START)
      const extended = await fixture.store.extendSession(one.id, at(3 * HOUR), START)
      expect.assert(extended)
      expect(await list('ann')).toStrictEqual([three.id, one.id])
      expect(await list('ann', { limit: 1 })).toStrictEqual([three.id])
      expect(await list('ann', { beforeId: three.id })).toStrictEqual([one.id])
      expect(await list('ann', { now: at(HOUR) })).toStrictEqual([one.id])
      await fixture.sweepAll(at(2 * HOUR))
      expect(await list('ann'), 'a swept session has ended').toStrictEqual([one.id])
    })

    test('one is ended by its key alone, once', async () => {
      const { id, tokenHash } = await session('one')
      await fixture.other.findSession(tokenHash)
      expect(await fixture.store.endKeySession(named('one', 'bob'))).toBeUndefined()
      expect(await fixture.store.endKeySession(named('one', 'ann', at(HOUR)))).toBeUndefined()
      expect(await fixture.other.findSession(tokenHash)).toBeTruthy()
      expect((await fixture.store.endKeySession(named('one', 'ann')))?.id).toBe(id)
      expect(await fixture.other.findSession(tokenHash)).toBeUndefined()
      expect(await fixture.store.endKeySession(named('one', 'ann'))).toBeUndefined()
      expect(await fixture.take('one@box.test', 'b', at(COOLDOWN - 1))).toBeUndefined()
    })

    test('a token is replaced by its key alone, with a new version, and then does nothing', async () => {
      const { id, tokenHash, version } = await session('one')
      await fixture.other.findSession(tokenHash)
      const roll = (keyId: string, now = START) =>
        fixture.store.rollToken({ ...named('one', keyId, now), tokenHash: 'new' })
      expect(await roll('bob')).toBeUndefined()
      expect(await roll('ann', at(HOUR)), 'expired').toBeUndefined()
      expect(await fixture.other.findSession(tokenHash)).toBeTruthy()
      const rolled = await roll('ann')
      expect.assert(rolled && rolled.id === id && rolled.version > version)
      expect(await fixture.other.findSession(tokenHash)).toBeUndefined()
      expect(await fixture.other.findSession('new')).toStrictEqual(rolled)
      await fixture.send(['one@box.test'])
      const ids = await fixture.store.listMessageIds(id)
      const remove = async (hash: string) =>
        (await fixture.store.deleteMessages(id, ids, hash)).messages
      expect([await remove(tokenHash), await remove('new')]).toStrictEqual([0, 1])
      expect(await fixture.store.endSession(id, START, tokenHash)).toBe(false)
      const set = { label: 'mine' }
      const change = { tokenHash, now: START, set }
      expect(await fixture.store.updateSession(change)).toBeUndefined()
      const extend = (hash: string) => fixture.store.extendSession(id, at(2 * HOUR), START, hash)
      expect([await extend(tokenHash), Boolean(await extend('new'))]).toStrictEqual([
        undefined,
        true,
      ])
      const times = { now: at(2 * HOUR), expiresAt: at(3 * HOUR), cooldownMs: COOLDOWN }
      const revive = (hash: string) =>
        fixture.store.reviveSession({ mailbox: id, tokenHash: hash, ...times })
      expect([await revive(tokenHash), Boolean(await revive('new'))]).toStrictEqual([
        undefined,
        true,
      ])
    })

    test('a token that is replaced meanwhile does its writes before, or not at all', async () => {
      for (let round = 0; round < 20; round += 1) {
        const [name, newHash] = [`race${round}`, `new${round}`]
        const { id, tokenHash } = await session(name)
        await fixture.send([`${name}@box.test`])
        const ids = await fixture.store.listMessageIds(id)
        const set = { label: 'old' }
        const [rolled, deleted, updated, ended] = await Promise.all([
          fixture.other.rollToken({ ...named(name, 'ann'), tokenHash: newHash }),
          fixture.store.deleteMessages(id, ids, tokenHash),
          fixture.store.updateSession({ tokenHash, now: START, set }),
          fixture.store.endSession(id, START, tokenHash),
        ])
        expect(ended, 'either ends the token').toBe(rolled === undefined)
        if (!rolled) continue
        expect(rolled.count).toBe(1 - deleted.messages)
        expect(rolled.label).toBe(updated ? 'old' : undefined)
        expect(await fixture.store.findSession(newHash)).toStrictEqual(rolled)
      }
    })
  })

  describe('revival', () => {
    const revive = (mailbox: MailboxId, now: Date) =>
      fixture.store.reviveSession({
        mailbox,
        now,
        expiresAt: new Date(now.getTime() + HOUR),
        cooldownMs: COOLDOWN,
      })

    test('an expired session is revived empty, even if its old mail is not swept', async () => {
      const previous = await fixture.session('ann@box.test')
      await fixture.send(['ann@box.test'])
      const revived = await revive(previous.id, at(2 * HOUR))
      expect.assert(revived)
      expect(revived.id).not.toBe(previous.id)
      expect([revived.count, await fixture.subjects(revived.id)]).toStrictEqual([0, []])
      expect(await fixture.other.findSession(previous.tokenHash)).toStrictEqual(revived)
      await fixture.send(['ann@box.test'], { head: head('new'), receivedAt: at(2 * HOUR + 1) })
      await fixture.sweepAll(at(2 * HOUR + MINUTE))
      expect(await fixture.subjects(revived.id)).toStrictEqual(['new'])
      expect(await fixture.subjects(previous.id)).toStrictEqual([])
    })

    test('ids continue from the old mailbox, even if the clock stepped back', async () => {
      const previous = await fixture.session('ann@box.test')
      await fixture.send(['ann@box.test'], { receivedAt: at(HOUR - 1) })
      const [last = 0] = await fixture.store.listMessageIds(previous.id)
      const revived = await revive(previous.id, at(HOUR))
      expect.assert(revived)
      await fixture.send(['ann@box.test'], { receivedAt: at(-DAY) })
      const [next = 0] = await fixture.store.listMessageIds(revived.id)
      expect.assert(next > last)
    })

    test('only expired sessions within the cool-down are revived', async () => {
      const live = await fixture.session('ann@box.test')
      const ended = await fixture.session('bob@box.test')
      await fixture.store.endSession(ended.id, at(1))
      expect(await revive(live.id, at(HOUR - 1)), 'live').toBeUndefined()
      expect(await revive(live.id, at(HOUR + COOLDOWN)), 'over').toBeUndefined()
      expect(await revive(ended.id, at(2)), 'ended by its owner').toBeUndefined()
    })

    test('of many concurrent revivals, one succeeds', async () => {
      const { id } = await fixture.session('ann@box.test')
      const results = await Promise.all(Array.from({ length: 20 }, () => revive(id, at(HOUR))))
      expect(results.filter((revived) => revived !== undefined).length).toBe(1)
    })
  })
}
