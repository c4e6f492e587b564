import assert from 'node:assert/strict'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { type MailboxId, POOL } from '../../core/session.ts'
import type { KeyScope, MailStore } from '../store.ts'
import {
  address,
  at,
  COOLDOWN,
  DAY,
  type Fixture,
  HOUR,
  head,
  MINUTE,
  newSession,
  type OpenMailStore,
  openFixture,
  START,
} from './fixture.ts'
import { actions, playActions } from './key-mail-model.ts'

const MINE = 'key-mine'
const THEIRS = 'key-theirs'

/** When the version of the mail of a key changes. */
export function keyMailVersionContract(open: () => Promise<OpenMailStore>): void {
  describe('the version of the mail of a key', () => {
    let fixture: Fixture
    let store: MailStore
    let own: MailboxId
    let ended: MailboxId
    let theirs: MailboxId

    beforeEach(async () => {
      fixture = await openFixture(await open())
      store = fixture.store
      own = (await fixture.session('own@box.test', DAY, MINE)).id
      await fixture.session('quiet@box.test', 2 * DAY, MINE)
      ended = (await fixture.session('ended@box.test', MINUTE, MINE)).id
      theirs = (await fixture.session('theirs@box.test', DAY, THEIRS)).id
      await fixture.session('plain@box.test', DAY)
      for (const name of ['own@box', 'theirs@box', 'plain@box', 'one@pool', 'two@pool']) {
        await fixture.send([`${name}.test`], { head: head('before') })
      }
    })
    afterEach(() => fixture.close())

    const scopes = {
      all: { pool: true, to: undefined },
      own: { pool: false, to: undefined },
      'own@': { pool: true, to: address('own@box.test') },
      'one@': { pool: true, to: address('one@pool.test') },
      'one@ without the pool': { pool: false, to: address('one@pool.test') },
      'theirs@': { pool: true, to: address('theirs@box.test') },
    } satisfies Record<string, Pick<KeyScope, 'pool' | 'to'>>

    const marks = async (now: Date) =>
      await Promise.all(
        Object.entries(scopes).map(
          async ([name, scope]) =>
            [name, await fixture.other.keyMailVersion({ ...scope, keyId: MINE, now })] as const,
        ),
      )
    const newest = async (mailbox: MailboxId) => (await store.listMessageIds(mailbox))[0] ?? 0
    const later = at(HOUR)
    const send = (to: string) => fixture.send([to], { receivedAt: later })

    for (const [name, operation, changed] of [
      ['mail for its session', () => send('own@box.test'), ['all', 'own', 'own@']],
      ['mail for a pool address', () => send('one@pool.test'), ['all', 'one@']],
      ['mail for another pool address', () => send('two@pool.test'), ['all']],
      ["mail for another key's session", () => send('theirs@box.test'), []],
      ['mail for a session without a key', () => send('plain@box.test'), []],
      ['mail for the operator', () => send('abuse@pool.test'), []],
      ['mail for nobody', () => send('nobody@box.test'), []],
      [
        'mail deleted in its session',
        async () => store.deleteMessage(own, await newest(own)),
        ['all', 'own', 'own@'],
      ],
      [
        'mail deleted in the pool',
        async () => store.deleteMessage(POOL, (await store.listMessageIds(POOL))[1] ?? 0),
        ['all', 'one@'],
      ],
      [
        "mail deleted in another's session",
        async () => store.deleteMessage(theirs, await newest(theirs)),
        [],
      ],
      [
        'the end of its session',
        () => store.endSession(own, new Date(later.getTime() - 1)),
        ['all', 'own', 'own@'],
      ],
      ["the end of another's session", () => store.endSession(theirs, later), []],
      ["another's session extended", () => store.extendSession(theirs, at(2 * DAY), later), []],
      ['a sweep that finds nothing of it', () => fixture.sweepAll(later), []],
      [
        'a session made by another key',
        () => {
          const wish = { tokenHash: 'new', createdAt: later, lifeMs: HOUR, keyId: THEIRS }
          return store.createSession(newSession('new@box.test', wish))
        },
        [],
      ],
      [
        'a session made with it that lasts longer than another',
        () => {
          const wish = { tokenHash: 'new', createdAt: later, lifeMs: 2 * DAY, keyId: MINE }
          return store.createSession(newSession('new@box.test', wish))
        },
        [],
      ],
      ['reading', () => store.listMessages(own, { sinceId: 0, limit: 9 }), []],
    ] as const) {
      const what = changed.length === 0 ? 'stays' : `changes for ${changed.join(', ')}`
      test(`${what}: ${name}`, async () => {
        const before = await marks(later)
        await operation()
        const after = new Map(await marks(later))
        const moved = before.filter(([scope, mark]) => after.get(scope) !== mark)
        assert.deepEqual(
          moved.map(([scope]) => scope),
          changed,
        )
      })
    }

    test('changes at the millisecond a session expires, and at no other', async () => {
      const text = async (now: Date) => JSON.stringify(await marks(now))
      assert.equal(await text(START), await text(at(MINUTE - 1)))
      assert.notEqual(await text(at(MINUTE - 1)), await text(at(MINUTE)))
      assert.equal(await text(at(MINUTE)), await text(at(DAY - 1)))
      assert.notEqual(await text(at(DAY - 1)), await text(at(DAY)))
    })

    test('changes when a session is revived, even if the clock steps back', async () => {
      await fixture.send(['ended@box.test'])
      await fixture.session('twin@box.test', MINUTE, MINE)
      const before = [await marks(START), await marks(at(HOUR))].map((some) => new Map(some))
      const expiresAt = at(2 * DAY)
      await store.reviveSession({ mailbox: ended, now: at(HOUR), expiresAt, cooldownMs: COOLDOWN })
      const after = [await marks(START), await marks(at(HOUR))].map((some) => new Map(some))
      for (const scope of ['all', 'own']) {
        assert.notEqual(after[0]?.get(scope), before[0]?.get(scope))
        assert.notEqual(after[1]?.get(scope), before[1]?.get(scope))
      }
    })

    test('is the same on every thread, and for two keys that see only the pool', async () => {
      const scope = { keyId: 'one', pool: true, to: undefined, now: START }
      const mark = await store.keyMailVersion(scope)
      assert.equal(await fixture.other.keyMailVersion(scope), mark)
      assert.equal(await store.keyMailVersion({ ...scope, keyId: 'two' }), mark)
    })
  })

  test('after any sequence of operations a key sees what it may, and equal versions mean equal mail', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(actions, { minLength: 20, maxLength: 80 }), async (told) => {
        const fixture = await openFixture(await open())
        try {
          await playActions(fixture, told)
        } finally {
          await fixture.close()
        }
      }),
      // Each run opens a store: to make a fault smaller takes minutes, so do that by hand.
      { numRuns: 8, endOnFailure: true },
    )
  }, 120_000)
}
