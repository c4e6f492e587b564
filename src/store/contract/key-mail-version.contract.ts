import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
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
} from '../../../test/kit/store/fixture.ts'
import { type MailboxId, POOL } from '../../mail/rules/session.ts'
import type { KeyScope } from '../../mail/store.ts'
import type { Store } from '../store.ts'
import { actions, playActions } from './key-mail-model.ts'

const KEY = 'key-mine'
const OTHER_KEY = 'key-theirs'

/** When the version of the mail of a key changes. `runs`: random sequences of operations. */
export function keyMailVersionContract(open: () => Promise<OpenMailStore>, runs: number): void {
  describe('the version of the mail of a key', () => {
    let fixture: Fixture
    let store: Store
    let own: MailboxId
    let ownToken: string
    let ended: MailboxId
    let ofOtherKey: MailboxId

    beforeEach(async () => {
      fixture = await openFixture(await open())
      store = fixture.store
      ;({ id: own, tokenHash: ownToken } = await fixture.session('own@box.test', DAY, KEY))
      await fixture.session('quiet@box.test', 2 * DAY, KEY)
      ended = (await fixture.session('ended@box.test', MINUTE, KEY)).id
      ofOtherKey = (await fixture.session('theirs@box.test', DAY, OTHER_KEY)).id
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

    const versions = async (now: Date) =>
      await Promise.all(
        Object.entries(scopes).map(
          async ([name, scope]) =>
            [name, await fixture.other.keyMailVersion({ ...scope, keyId: KEY, now })] as const,
        ),
      )
    const newest = async (mailbox: MailboxId) => (await store.listMessageIds(mailbox))[0] ?? 0
    const now = at(HOUR)
    const send = (to: string) => fixture.send([to], { receivedAt: now })

    for (const [name, operation, changed] of [
      ['mail for its session', () => send('own@box.test'), ['all', 'own', 'own@']],
      ['mail for a pool address', () => send('one@pool.test'), ['all', 'one@']],
      ['mail for another pool address', () => send('two@pool.test'), ['all']],
      ['mail for a session of another key', () => send('theirs@box.test'), []],
      ['mail for a session without a key', () => send('plain@box.test'), []],
      ['mail for the operator', () => send('abuse@pool.test'), []],
      ['mail for nobody', () => send('nobody@box.test'), []],
      [
        'mail deleted in its session',
        async () => store.deleteMessages(own, [await newest(own)]),
        ['all', 'own', 'own@'],
      ],
      [
        'mail deleted in the pool',
        async () => store.deleteMessages(POOL, [(await store.listMessageIds(POOL))[1] ?? 0]),
        ['all', 'one@'],
      ],
      [
        'mail deleted in a session of another key',
        async () => store.deleteMessages(ofOtherKey, [await newest(ofOtherKey)]),
        [],
      ],
      [
        'the end of its session',
        () => store.endSession(own, new Date(now.getTime() - 1)),
        ['all', 'own', 'own@'],
      ],
      [
        'a label and a rule of its session',
        () =>
          store.updateSession({ tokenHash: ownToken, now, set: { label: 'x', maxMessages: 9 } }),
        [],
      ],
      ['the end of a session of another key', () => store.endSession(ofOtherKey, now), []],
      [
        'an extended session of another key',
        () => store.extendSession(ofOtherKey, at(2 * DAY), now),
        [],
      ],
      ['a sweep without expired mail of the key', () => fixture.sweepAll(now), []],
      [
        'a session created by another key',
        () => {
          const options = { tokenHash: 'new', createdAt: now, lifeMs: HOUR, keyId: OTHER_KEY }
          return store.createSession(newSession('new@box.test', options))
        },
        [],
      ],
      [
        'a session created with it that expires after another',
        () => {
          const options = { tokenHash: 'new', createdAt: now, lifeMs: 2 * DAY, keyId: KEY }
          return store.createSession(newSession('new@box.test', options))
        },
        [],
      ],
      ['a read', () => store.listMessages(own, { sinceId: 0, limit: 9 }), []],
    ] as const) {
      const effect = changed.length === 0 ? 'does not change' : `changes for ${changed.join(', ')}`
      test(`${effect}: ${name}`, async () => {
        const before = await versions(now)
        await operation()
        const after = new Map(await versions(now))
        const changedScopes = before.filter(([scope, version]) => after.get(scope) !== version)
        expect(changedScopes.map(([scope]) => scope)).toStrictEqual(changed)
      })
    }

    test('changes at the millisecond a session expires, and at no other', async () => {
      const text = async (now: Date) => JSON.stringify(await versions(now))
      expect(await text(START)).toBe(await text(at(MINUTE - 1)))
      expect(await text(at(MINUTE - 1))).not.toBe(await text(at(MINUTE)))
      expect(await text(at(MINUTE))).toBe(await text(at(DAY - 1)))
      expect(await text(at(DAY - 1))).not.toBe(await text(at(DAY)))
    })

    test('changes when a session is revived, even if the clock steps back', async () => {
      await fixture.send(['ended@box.test'])
      await fixture.session('twin@box.test', MINUTE, KEY)
      const before = [await versions(START), await versions(at(HOUR))].map((some) => new Map(some))
      const expiresAt = at(2 * DAY)
      await store.reviveSession({ mailbox: ended, now: at(HOUR), expiresAt, cooldownMs: COOLDOWN })
      const after = [await versions(START), await versions(at(HOUR))].map((some) => new Map(some))
      for (const scope of ['all', 'own']) {
        expect(after[0]?.get(scope)).not.toBe(before[0]?.get(scope))
        expect(after[1]?.get(scope)).not.toBe(before[1]?.get(scope))
      }
    })

    test('is the same on every thread, and for two keys that see only the pool', async () => {
      const scope = { keyId: 'one', pool: true, to: undefined, now: START }
      const version = await store.keyMailVersion(scope)
      expect(await fixture.other.keyMailVersion(scope)).toBe(version)
      expect(await store.keyMailVersion({ ...scope, keyId: 'two' })).toBe(version)
    })
  })

  test('after any sequence of operations a key sees what it may, and equal versions mean equal mail', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(actions, { minLength: 20, maxLength: 80 }), async (operations) => {
        const fixture = await openFixture(await open())
        try {
          await playActions(fixture, operations)
        } finally {
          await fixture.close()
        }
      }),
      // Each run opens a store, so shrinking takes minutes; shrink a failure by hand.
      { numRuns: process.env['MAYFLY_TEST_LONG'] ? 30 : runs, endOnFailure: true },
    )
  }, 120_000)
}
