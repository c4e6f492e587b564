import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'vitest'
import type { MailboxId } from '../../mail/rules/session.ts'
import {
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
} from './fixture.ts'

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
      assert.equal(await fixture.store.addDomain(again), undefined)
      assert.equal((await fixture.store.findDomain(host('box.test')))?.reader, false)
    })

    test('a removed name is restored under its old id, which a new one never gets', async () => {
      const before = await fixture.store.findDomain(host('box.test'))
      await fixture.store.changeDomain(host('box.test'), { removed: true })
      const options = { sessions: true, reader: true, ttlSeconds: 600 }
      const added = await fixture.store.addDomain({ name: host('new.test'), ...options })
      const restored = await fixture.store.addDomain({ name: host('box.test'), ...options })
      assert.equal(restored?.id, before?.id)
      assert.deepEqual([restored?.removed, restored?.ttlSeconds], [false, 600])
      assert.notEqual(added?.id, before?.id)
    })

    test('a change is visible to other threads and affects nothing else', async () => {
      await fixture.store.changeDomain(host('box.test'), { active: false })
      const [first] = await fixture.other.listDomains()
      assert.deepEqual([first?.name, first?.active, first?.removed], ['box.test', false, false])
      assert.equal(await fixture.store.changeDomain(host('no.test'), { active: true }), undefined)
    })

    test('the lifetime of a domain is changed, kept and reset', async () => {
      const lifetimes = []
      for (const change of [{ ttlSeconds: 600 }, { reader: true }, { ttlSeconds: null }]) {
        const changed = await fixture.store.changeDomain(host('box.test'), change)
        lifetimes.push(changed?.ttlSeconds)
      }
      assert.deepEqual(lifetimes, [600, 600, undefined])
    })
  })

  describe('sessions', () => {
    test('a new session is visible to other threads at once', async () => {
      const created = await fixture.session('ann@box.test')
      const { tokenHash, ...expected } = created
      assert.deepEqual(await fixture.other.findSession(tokenHash), expected)
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
      assert.equal((await Promise.all(requests)).filter((won) => won !== undefined).length, 1)
    })

    test('an address is reserved until the end of the cool-down, and no longer', async () => {
      await fixture.session('ann@box.test')
      assert.equal(await fixture.take('ann@box.test', 'b'), undefined)
      assert.equal(await fixture.take('ann@box.test', 'b', at(HOUR)), undefined)
      assert.equal(await fixture.take('ann@box.test', 'b', at(HOUR + COOLDOWN - 1)), undefined)
      assert.ok(await fixture.take('ann@box.test', 'b', at(HOUR + COOLDOWN)))
    })

    test('a new owner after the cool-down sees nothing of the previous one, swept or not', async () => {
      const previous = await fixture.session('ann@box.test')
      await fixture.send(['ann@box.test'], { head: head('secret of the former owner') })
      const next = await fixture.take('ann@box.test', 'next', at(HOUR + COOLDOWN))
      assert.ok(next)
      assert.notEqual(next.id, previous.id)
      assert.deepEqual([next.count, next.bytes, await fixture.subjects(next.id)], [0, 0, []])
      assert.equal(await fixture.store.findSession(previous.tokenHash), undefined)
    })

    test('extending changes the expiry and the version for other threads, too', async () => {
      const { id, tokenHash, version } = await fixture.session('ann@box.test')
      await fixture.other.findSession(tokenHash)
      const extended = await fixture.store.extendSession(id, at(2 * HOUR), at(HOUR - 1))
      assert.deepEqual(extended, await fixture.other.findSession(tokenHash))
      assert.deepEqual(extended?.expiresAt, at(2 * HOUR))
      assert.ok(extended && extended.version > version)
    })

    test('an expired session cannot be extended', async () => {
      const { id } = await fixture.session('ann@box.test')
      assert.equal(await fixture.store.extendSession(id, at(2 * HOUR), at(HOUR)), undefined)
    })

    test('an ended session is not found by its token, and its address stays reserved', async () => {
      const { id, tokenHash } = await fixture.session('ann@box.test')
      await fixture.other.findSession(tokenHash)
      assert.equal(await fixture.store.endSession(id, at(1000)), true)
      assert.equal(await fixture.other.findSession(tokenHash), undefined)
      assert.equal(await fixture.store.endSession(id, at(1000)), false)
      assert.equal(await fixture.take('ann@box.test', 'b', at(COOLDOWN)), undefined)
      assert.ok(await fixture.take('ann@box.test', 'b', at(1000 + COOLDOWN)))
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
      assert.ok(revived)
      assert.notEqual(revived.id, previous.id)
      assert.deepEqual([revived.count, await fixture.subjects(revived.id)], [0, []])
      assert.deepEqual(await fixture.other.findSession(previous.tokenHash), revived)
      await fixture.send(['ann@box.test'], { head: head('new'), receivedAt: at(2 * HOUR + 1) })
      await fixture.sweepAll(at(2 * HOUR + MINUTE))
      assert.deepEqual(await fixture.subjects(revived.id), ['new'])
      assert.deepEqual(await fixture.subjects(previous.id), [])
    })

    test('ids continue from the old mailbox, even if the clock stepped back', async () => {
      const previous = await fixture.session('ann@box.test')
      await fixture.send(['ann@box.test'], { receivedAt: at(HOUR - 1) })
      const [last = 0] = await fixture.store.listMessageIds(previous.id)
      const revived = await revive(previous.id, at(HOUR))
      assert.ok(revived)
      await fixture.send(['ann@box.test'], { receivedAt: at(-DAY) })
      const [next = 0] = await fixture.store.listMessageIds(revived.id)
      assert.ok(next > last)
    })

    test('only expired sessions within the cool-down are revived', async () => {
      const live = await fixture.session('ann@box.test')
      const ended = await fixture.session('bob@box.test')
      await fixture.store.endSession(ended.id, at(1))
      assert.equal(await revive(live.id, at(HOUR - 1)), undefined, 'live')
      assert.equal(await revive(live.id, at(HOUR + COOLDOWN)), undefined, 'over')
      assert.equal(await revive(ended.id, at(2)), undefined, 'ended by its owner')
    })

    test('of many concurrent revivals, one succeeds', async () => {
      const { id } = await fixture.session('ann@box.test')
      const results = await Promise.all(Array.from({ length: 20 }, () => revive(id, at(HOUR))))
      assert.equal(results.filter((revived) => revived !== undefined).length, 1)
    })
  })
}
