import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'vitest'
import type { MailboxId } from '../../core/session.ts'
import {
  at,
  COOLDOWN,
  DAY,
  HOUR,
  head,
  host,
  MINUTE,
  newSession,
  type OpenMailStore,
  openScene,
  type Scene,
  START,
} from './fixture.ts'

/** Domains, sessions and who has which address, in every engine. */
export function sessionsContract(open: () => Promise<OpenMailStore>): void {
  let scene: Scene

  beforeEach(async () => {
    scene = await openScene(await open())
  })
  afterEach(() => scene.close())

  describe('mail domains', () => {
    test('a name is added once', async () => {
      const again = { name: host('box.test'), sessions: true, reader: true, ttlSeconds: 60 }
      assert.equal(await scene.store.addDomain(again), undefined)
      assert.equal((await scene.store.findDomain(host('box.test')))?.reader, false)
    })

    test('a removed name comes back under its old id, and a new one never gets it', async () => {
      const before = await scene.store.findDomain(host('box.test'))
      await scene.store.changeDomain(host('box.test'), { removed: true })
      const fresh = { sessions: true, reader: true, ttlSeconds: 600 }
      const added = await scene.store.addDomain({ name: host('new.test'), ...fresh })
      const back = await scene.store.addDomain({ name: host('box.test'), ...fresh })
      assert.equal(back?.id, before?.id)
      assert.deepEqual([back?.removed, back?.ttlSeconds], [false, 600])
      assert.notEqual(added?.id, before?.id)
    })

    test('a change reaches other readers and touches nothing else', async () => {
      await scene.store.changeDomain(host('box.test'), { active: false })
      const [first] = await scene.other.listDomains()
      assert.deepEqual([first?.name, first?.active, first?.removed], ['box.test', false, false])
      assert.equal(await scene.store.changeDomain(host('no.test'), { active: true }), undefined)
    })
  })

  describe('sessions', () => {
    test('a session made here is found elsewhere at once', async () => {
      const made = await scene.session('ann@box.test')
      const { tokenHash, ...expected } = made
      assert.deepEqual(await scene.other.findSession(tokenHash), expected)
    })

    test('of 200 who ask for one address at once, one gets it', async () => {
      const asked = Array.from({ length: 200 }, (_, index) =>
        (index % 2 === 0 ? scene.store : scene.other).createSession(
          newSession('race@box.test', {
            tokenHash: `racer-${index}`,
            createdAt: START,
            lifeMs: HOUR,
          }),
        ),
      )
      assert.equal((await Promise.all(asked)).filter((won) => won !== undefined).length, 1)
    })

    test('an address is taken while its session lives and while it cools down, not a moment longer', async () => {
      await scene.session('ann@box.test')
      assert.equal(await scene.take('ann@box.test', 'b'), undefined)
      assert.equal(await scene.take('ann@box.test', 'b', at(HOUR)), undefined)
      assert.equal(await scene.take('ann@box.test', 'b', at(HOUR + COOLDOWN - 1)), undefined)
      assert.ok(await scene.take('ann@box.test', 'b', at(HOUR + COOLDOWN)))
    })

    test('who takes an address after its cool-down sees nothing of the former owner, swept or not', async () => {
      const former = await scene.session('ann@box.test')
      await scene.send(['ann@box.test'], { head: head('secret of the former owner') })
      const next = await scene.take('ann@box.test', 'next', at(HOUR + COOLDOWN))
      assert.ok(next)
      assert.notEqual(next.id, former.id)
      assert.deepEqual([next.count, next.bytes, await scene.subjects(next.id)], [0, 0, []])
      assert.equal(await scene.store.findSession(former.tokenHash), undefined)
    })

    test('extending moves the end and the version, for other readers too', async () => {
      const { id, tokenHash, version } = await scene.session('ann@box.test')
      await scene.other.findSession(tokenHash)
      const extended = await scene.store.extendSession(id, at(2 * HOUR), at(HOUR - 1))
      assert.deepEqual(extended, await scene.other.findSession(tokenHash))
      assert.deepEqual(extended?.expiresAt, at(2 * HOUR))
      assert.ok(extended && extended.version > version)
    })

    test('a session that is over is not extended', async () => {
      const { id } = await scene.session('ann@box.test')
      assert.equal(await scene.store.extendSession(id, at(2 * HOUR), at(HOUR)), undefined)
    })

    test('an ended session is forgotten by its token, and its address cools down', async () => {
      const { id, tokenHash } = await scene.session('ann@box.test')
      await scene.other.findSession(tokenHash)
      assert.equal(await scene.store.endSession(id, at(1000)), true)
      assert.equal(await scene.other.findSession(tokenHash), undefined)
      assert.equal(await scene.store.endSession(id, at(1000)), false)
      assert.equal(await scene.take('ann@box.test', 'b', at(COOLDOWN)), undefined)
      assert.ok(await scene.take('ann@box.test', 'b', at(1000 + COOLDOWN)))
    })
  })

  describe('revival', () => {
    const revive = (mailbox: MailboxId, now: Date) =>
      scene.store.reviveSession({
        mailbox,
        now,
        expiresAt: new Date(now.getTime() + HOUR),
        cooldownMs: COOLDOWN,
      })

    test('a cooling session comes back empty under its token, though its old mail is not yet swept', async () => {
      const former = await scene.session('ann@box.test')
      await scene.send(['ann@box.test'])
      const revived = await revive(former.id, at(2 * HOUR))
      assert.ok(revived)
      assert.notEqual(revived.id, former.id)
      assert.deepEqual([revived.count, await scene.subjects(revived.id)], [0, []])
      assert.deepEqual(await scene.other.findSession(former.tokenHash), revived)
      await scene.send(['ann@box.test'], { head: head('new'), receivedAt: at(2 * HOUR + 1) })
      await scene.sweepAll(at(2 * HOUR + MINUTE))
      assert.deepEqual(await scene.subjects(revived.id), ['new'])
      assert.deepEqual(await scene.subjects(former.id), [])
    })

    test('ids go on where the former mailbox ended, also when the clock stepped back', async () => {
      const former = await scene.session('ann@box.test')
      await scene.send(['ann@box.test'], { receivedAt: at(HOUR - 1) })
      const [last = 0] = await scene.store.listMessageIds(former.id)
      const revived = await revive(former.id, at(HOUR))
      assert.ok(revived)
      await scene.send(['ann@box.test'], { receivedAt: at(-DAY) })
      const [next = 0] = await scene.store.listMessageIds(revived.id)
      assert.ok(next > last)
    })

    test('only what cools down is revived', async () => {
      const live = await scene.session('ann@box.test')
      const ended = await scene.session('bob@box.test')
      await scene.store.endSession(ended.id, at(1))
      assert.equal(await revive(live.id, at(HOUR - 1)), undefined, 'live')
      assert.equal(await revive(live.id, at(HOUR + COOLDOWN)), undefined, 'over')
      assert.equal(await revive(ended.id, at(2)), undefined, 'ended by its owner')
    })

    test('of many revivals at once, one is done', async () => {
      const { id } = await scene.session('ann@box.test')
      const done = await Promise.all(Array.from({ length: 20 }, () => revive(id, at(HOUR))))
      assert.equal(done.filter((revived) => revived !== undefined).length, 1)
    })
  })
}
