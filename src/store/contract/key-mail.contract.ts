import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  address,
  at,
  COOLDOWN,
  DAY,
  type Fixture,
  HOUR,
  head,
  newSession,
  type OpenMailStore,
  openFixture,
  START,
} from '../../../test/kit/store/fixture.ts'
import type { ScanPosition } from '../../mail/operator-store.ts'
import { POOL } from '../../mail/rules/session.ts'
import type { KeyScope } from '../../mail/store.ts'
import type { Store } from '../store.ts'

const KEY = 'key-mine'
const OTHER_KEY = 'key-theirs'
const ALL = { sinceId: 0, beforeId: undefined, limit: 100 }

/** What a key may read, through the store of another thread. */
export function keyMailContract(open: () => Promise<OpenMailStore>): void {
  let fixture: Fixture
  let store: Store

  beforeEach(async () => {
    fixture = await openFixture(await open())
    store = fixture.store
  })
  afterEach(() => fixture.close())

  const seen = async (more: Partial<KeyScope> = {}) => {
    const scope = { keyId: KEY, pool: true, to: undefined, now: START, ...more }
    const found = await fixture.other.listKeyMail(scope, ALL)
    const heads = found.map(({ id, senderEmail, subject }) => ({ id, senderEmail, subject }))
    expect(await fixture.other.listKeyMailHeads(scope, ALL)).toStrictEqual(heads)
    expect(await fixture.other.readKeyMail(scope, await everyId())).toStrictEqual(found)
    return found.map((message) => message.subject)
  }
  /** Ids of all messages, whoever may see them. */
  const everyId = async () => {
    const ids: number[] = []
    let after: ScanPosition | undefined
    do {
      const page = await store.scanMail({ clientIp: '192.0.2.7', after, limit: 100 })
      ids.push(...page.found.map(({ id }) => id))
      after = page.next
    } while (after)
    return ids
  }
  const send = (to: string, subject: string, ms = 0) =>
    fixture.send([to], { head: head(subject), receivedAt: at(ms) })
  const revive = (mailbox: Parameters<Store['extendSession']>[0], now: Date) =>
    store.reviveSession({
      mailbox,
      now,
      expiresAt: new Date(now.getTime() + HOUR),
      cooldownMs: COOLDOWN,
    })

  describe('a key sees', () => {
    test('the mail of its sessions and of the pool, newest first', async () => {
      await fixture.session('a@box.test', HOUR, KEY)
      await fixture.session('b@pool.test', HOUR, KEY)
      for (const [to, subject] of [
        ['a@box.test', 'one'],
        ['any@pool.test', 'two'],
        ['b@pool.test', 'three'],
        ['a@box.test', 'four'],
      ] as const) {
        await send(to, subject)
      }
      expect(await seen()).toStrictEqual(['four', 'three', 'two', 'one'])
    })

    test('each message as its mailbox has it', async () => {
      const { id } = await fixture.session('a@box.test', HOUR, KEY)
      await send('a@box.test', 'own')
      await send('any@pool.test', 'pool')
      const scope = { keyId: KEY, pool: true, to: undefined, now: START }
      const [pool, own] = await fixture.other.listKeyMail(scope, ALL)
      expect(own).toStrictEqual(await store.findMessage(id, own?.id ?? 0))
      expect(pool).toStrictEqual(await store.findMessage(POOL, pool?.id ?? 0))
      expect([own?.recipient, pool?.recipient]).toStrictEqual(['a@box.test', 'any@pool.test'])
    })

    test('the last of its messages that has expired, of sessions and of the pool', async () => {
      const expired = (now: Date, more: Partial<KeyScope> = {}, sinceId = 0) =>
        fixture.other.lastExpired({ keyId: KEY, pool: true, to: undefined, now, ...more }, sinceId)
      const { id } = await fixture.session('a@box.test', HOUR, KEY)
      const ended = await fixture.session('ended@box.test', HOUR, KEY)
      await fixture.session('b@box.test', HOUR, 'another')
      await send('a@box.test', 'one')
      await send('any@pool.test', 'two')
      for (const to of ['ended@box.test', 'b@box.test']) await send(to, 'not missed')
      await store.endSession(ended.id, START)
      const one = (await store.listMessageIds(id))[0] ?? 0
      const two = (await store.listMessageIds(POOL))[0] ?? 0
      const [soon, late] = [at(HOUR + 1), at(DAY + HOUR)]
      expect(await expired(START)).toBe(0)
      expect([await expired(soon), await expired(soon, {}, one)]).toStrictEqual([one, 0])
      expect(await expired(soon, { to: address('b@box.test') })).toBe(0)
      expect(await expired(soon, { to: address('a@box.test') })).toBe(one)
      await fixture.sweepAll(late)
      expect([await expired(late), await expired(late, {}, two)]).toStrictEqual([two, 0])
      expect(await expired(late, { pool: false })).toBe(one)
    })

    test('of one address, its pool mail and the mail of its own session', async () => {
      await send('any@pool.test', 'pool')
      await fixture.session('any@pool.test', HOUR, KEY)
      await fixture.session('b@box.test', HOUR, KEY)
      await send('any@pool.test', 'own')
      await send('b@box.test', 'elsewhere')
      await send('other@pool.test', 'elsewhere too')
      const to = address('any@pool.test')
      expect(await seen({ to })).toStrictEqual(['own', 'pool'])
      expect(await seen({ to, pool: false })).toStrictEqual(['own'])
      expect(await seen({ to: address('b@box.test') })).toStrictEqual(['elsewhere'])
      expect(await seen({ to: address('nobody@box.test') })).toStrictEqual([])
    })

    test('a page of heads, and only the messages requested', async () => {
      await fixture.session('a@box.test', HOUR, KEY)
      for (const to of ['a@box.test', 'any@pool.test', 'a@box.test', 'x@pool.test']) {
        await send(to, to)
      }
      const scope = { keyId: KEY, pool: true, to: undefined, now: START }
      const [four, three, two, one] = await fixture.other.listKeyMail(scope, ALL)
      const page = { sinceId: one?.id ?? 0, beforeId: four?.id, limit: 1 }
      const [head, ...more] = await fixture.other.listKeyMailHeads(scope, page)
      expect([head?.id, more]).toStrictEqual([three?.id, []])
      const ids = [two?.id ?? 0, 12_345, four?.id ?? 0]
      expect(await fixture.other.readKeyMail(scope, ids)).toStrictEqual([four, two])
      expect(await fixture.other.readKeyMail(scope, [])).toStrictEqual([])
    })

    test('a mail to several of its addresses once for each', async () => {
      await fixture.session('a@box.test', HOUR, KEY)
      await fixture.session('b@box.test', HOUR, OTHER_KEY)
      await fixture.send(['a@box.test', 'b@box.test', 'c@pool.test', 'd@pool.test'])
      expect((await seen()).length).toBe(3)
      expect((await seen({ pool: false })).length).toBe(1)
    })

    test('mail of its revived session', async () => {
      const { id } = await fixture.session('a@box.test', HOUR, KEY)
      await revive(id, at(HOUR))
      await send('a@box.test', 'since', HOUR + 1)
      expect(await seen({ now: at(HOUR + 1) })).toStrictEqual(['since'])
    })
  })

  describe('a key never sees', () => {
    const allViews = async (now: Date, to: string) => [
      ...(await seen({ now })),
      ...(await seen({ now, pool: false })),
      ...(await seen({ now, to: address(to) })),
    ]

    for (const [name, to, keyId] of [
      ['a session of another key', 'x@pool.test', OTHER_KEY],
      ['a session without a key', 'x@pool.test', undefined],
      ['a session of a key with a similar id', 'x@box.test', `${KEY}2`],
    ] as const) {
      test(`${name}, even if it names the address`, async () => {
        await fixture.session(to, HOUR, keyId)
        await send(to, 'private')
        expect(await allViews(START, to)).toStrictEqual([])
      })
    }

    test("the operator's mailbox", async () => {
      await send('abuse@pool.test', 'a complaint')
      expect(await allViews(START, 'abuse@pool.test')).toStrictEqual([])
    })

    test('its session from the millisecond it expires', async () => {
      await fixture.session('a@box.test', HOUR, KEY)
      await send('a@box.test', 'hello')
      expect((await allViews(at(HOUR - 1), 'a@box.test')).length).toBe(3)
      expect(await allViews(at(HOUR), 'a@box.test')).toStrictEqual([])
    })

    test('a session ended by its owner, even if the clock has stepped back', async () => {
      const { id } = await fixture.session('a@box.test', HOUR, KEY)
      await send('a@box.test', 'hello')
      await store.endSession(id, at(1_000))
      for (const ms of [1_000, 999, -HOUR]) {
        expect(await allViews(at(ms), 'a@box.test')).toStrictEqual([])
      }
    })

    test('mail from before a revival, even if the clock has stepped back', async () => {
      const { id } = await fixture.session('a@box.test', HOUR, KEY)
      await send('a@box.test', 'former')
      await revive(id, at(2 * HOUR))
      for (const ms of [2 * HOUR, 1, -HOUR]) {
        expect(await allViews(at(ms), 'a@box.test')).toStrictEqual([])
      }
    })

    for (const [name, previousKey, nextKey] of [
      ['the previous owner had', OTHER_KEY, KEY],
      ['the next owner has', KEY, OTHER_KEY],
    ] as const) {
      test(`at a reassigned address, what ${name}`, async () => {
        await fixture.session('a@box.test', HOUR, previousKey)
        await send('a@box.test', 'of the former')
        const createdAt = at(HOUR + COOLDOWN)
        const options = { tokenHash: 'next', createdAt, lifeMs: HOUR, keyId: nextKey }
        expect(await store.createSession(newSession('a@box.test', options))).toBeTruthy()
        await send('a@box.test', 'of the next', HOUR + COOLDOWN)
        const expected = previousKey === KEY ? [] : ['of the next']
        for (const now of [createdAt, START]) {
          expect(await seen({ now })).toStrictEqual(expected)
          expect(await seen({ now, to: address('a@box.test') })).toStrictEqual(expected)
        }
      })
    }

    test('the pool if its plan excludes it', async () => {
      await send('any@pool.test', 'pool')
      expect(await seen({ pool: false })).toStrictEqual([])
      expect(await seen({ pool: false, to: address('any@pool.test') })).toStrictEqual([])
    })

    test('deleted or swept mail', async () => {
      const { id } = await fixture.session('a@box.test', HOUR, KEY)
      await send('a@box.test', 'deleted')
      await send('a@box.test', 'swept')
      await send('any@pool.test', 'pool')
      await store.deleteMessages(id, [(await store.listMessageIds(id))[1] ?? 0])
      expect(await seen()).toStrictEqual(['pool', 'swept'])
      await fixture.sweepAll(at(25 * HOUR))
      expect(await seen()).toStrictEqual([])
    })

    test('expired pool mail after the sweep, and its version changes', async () => {
      await send('any@pool.test', 'pool')
      const scope = { keyId: KEY, pool: true, to: undefined, now: START }
      const before = await fixture.other.keyMailVersion(scope)
      await fixture.sweepAll(at(DAY - 1))
      expect(await seen()).toStrictEqual(['pool'])
      expect(await fixture.other.keyMailVersion(scope)).toBe(before)
      await fixture.sweepAll(at(DAY))
      expect(await seen()).toStrictEqual([])
      expect(await fixture.other.keyMailVersion(scope)).not.toBe(before)
    })
  })
}
