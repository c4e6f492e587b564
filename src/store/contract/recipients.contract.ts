import { randomBytes } from 'node:crypto'
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
  newMail,
  type OpenMailStore,
  openFixture,
  START,
  scanOf,
} from '../../../test/kit/store/fixture.ts'
import { OPERATOR, POOL } from '../../mail/rules/session.ts'

/** Who receives a mail, and the sweep. */
export function recipientsContract(open: () => Promise<OpenMailStore>): void {
  let fixture: Fixture

  beforeEach(async () => {
    fixture = await openFixture(await open())
  })
  afterEach(() => fixture.close())

  describe('recipients are resolved again inside the transaction', () => {
    test('those that expired meanwhile get nothing, the others get the mail', async () => {
      const [ann, bob] = [
        await fixture.session('ann@box.test'),
        await fixture.session('bob@box.test', 2 * HOUR),
      ]
      const result = await fixture.send(['ann@box.test', 'bob@box.test'], { receivedAt: at(HOUR) })
      expect(result).toStrictEqual({
        outcome: 'stored',
        recipients: [{ address: bob.address, mailbox: bob.id, keyId: undefined }],
      })
      expect(await fixture.store.listMessageIds(ann.id)).toStrictEqual([])
    })

    test('a session ended by its owner gets nothing, even with an earlier receive time', async () => {
      const ann = await fixture.session('ann@box.test')
      const recipients = await fixture.accepted(['ann@box.test'])
      await fixture.store.endSession(ann.id, at(1_000))
      const late = newMail(recipients, { receivedAt: at(500) })
      expect(await fixture.store.addMail(late)).toStrictEqual({ outcome: 'no_recipients' })
      expect(await fixture.send(['ann@box.test'], { receivedAt: at(500) })).toStrictEqual({
        outcome: 'no_recipients',
      })
    })

    test('mail for an address reassigned since RCPT does not reach the new owner', async () => {
      const previous = await fixture.session('ann@box.test')
      const recipients = await fixture.accepted(['ann@box.test'])
      await fixture.store.endSession(previous.id, at(1))
      const next = await fixture.take('ann@box.test', 'next', at(1 + COOLDOWN))
      expect.assert(next)
      const late = newMail(recipients, { receivedAt: at(2 + COOLDOWN) })
      expect(await fixture.store.addMail(late)).toStrictEqual({ outcome: 'no_recipients' })
      expect(await fixture.store.listMessageIds(next.id)).toStrictEqual([])
    })

    test('one mail for many pool addresses counts for each of them', async () => {
      const to = ['a', 'b', 'c'].map((name) => `${name}@pool.test`)
      const large = () => ({ raw: new Uint8Array(randomBytes(9_000)) })
      expect(await fixture.send(to, large())).toStrictEqual({ outcome: 'full' })
      expect((await fixture.send(to.slice(1), large())).outcome).toBe('stored')
    })

    test('without recipients nothing is stored', async () => {
      await fixture.session('ann@box.test')
      const late = await fixture.send(['ann@box.test', 'nobody@box.test'], { receivedAt: at(HOUR) })
      expect(late).toStrictEqual({ outcome: 'no_recipients' })
    })

    test('one full mailbox refuses the whole mail', async () => {
      const bob = await fixture.session('bob@box.test')
      await fixture.session('ann@box.test')
      for (let sent = 0; sent < 5; sent += 1) await fixture.send(['ann@box.test'])
      expect(await fixture.send(['bob@box.test', 'ann@box.test'])).toStrictEqual({
        outcome: 'full',
      })
      expect(await fixture.store.listMessageIds(bob.id)).toStrictEqual([])
    })

    test('the byte limit of a mailbox is exact', async () => {
      await fixture.session('ann@box.test')
      expect((await fixture.send(['ann@box.test'], { raw: new Uint8Array(9_999) })).outcome).toBe(
        'stored',
      )
      expect((await fixture.send(['ann@box.test'], { raw: new Uint8Array(2) })).outcome).toBe(
        'full',
      )
      expect((await fixture.send(['ann@box.test'], { raw: new Uint8Array(1) })).outcome).toBe(
        'stored',
      )
    })
  })

  describe('the pool and the operator', () => {
    test('mail for a never assigned address goes to the pool at a reader domain, otherwise to nobody', async () => {
      expect(await fixture.send(['any@pool.test'])).toStrictEqual({
        outcome: 'stored',
        recipients: [{ address: address('any@pool.test'), mailbox: POOL, keyId: undefined }],
      })
      expect(await fixture.send(['any@box.test'])).toStrictEqual({ outcome: 'no_recipients' })
      expect((await fixture.store.readSharedMailbox(POOL)).count).toBe(1)
    })

    test('mail for an address that was ever assigned to a session never goes to the pool', async () => {
      const { id } = await fixture.session('ann@pool.test')
      await fixture.store.endSession(id, at(1))
      const late = (ms: number) => fixture.send(['ann@pool.test'], { receivedAt: at(ms) })
      expect(await late(2)).toStrictEqual({ outcome: 'no_recipients' })
      await fixture.sweepAll(at(COOLDOWN + DAY))
      expect(await late(COOLDOWN + DAY)).toStrictEqual({ outcome: 'no_recipients' })
      expect((await fixture.store.findRecipient(address('ann@pool.test'))).inLedger).toBe(true)
    })

    test('mail for such an address with a tag does not go to the pool either', async () => {
      await fixture.session('ann@pool.test')
      expect(await fixture.send(['ann+shop@pool.test'])).toStrictEqual({ outcome: 'no_recipients' })
      expect((await fixture.send(['bob+shop@pool.test'])).outcome).toBe('stored')
    })

    test('a pool address and the pool have limits, and deletion frees space', async () => {
      for (let sent = 0; sent < 5; sent += 1) await fixture.send(['any@pool.test'])
      expect(await fixture.send(['any@pool.test'])).toStrictEqual({ outcome: 'full' })
      for (const name of ['a', 'b'])
        await fixture.send([`${name}@pool.test`], { raw: new Uint8Array(randomBytes(9_900)) })
      const more = { raw: new Uint8Array(randomBytes(9_900)) }
      expect(await fixture.send(['c@pool.test'], more)).toStrictEqual({ outcome: 'full' })
      const [first = 0] = (await fixture.store.listMessageIds(POOL)).slice(-1)
      await fixture.store.deleteMessages(POOL, [first])
      expect((await fixture.send(['any@pool.test'])).outcome).toBe('stored')
    })

    test('mail for postmaster and abuse goes to the operator, at every domain', async () => {
      const both = await fixture.send(['postmaster@box.test', 'abuse@pool.test'])
      expect.assert(both.outcome === 'stored')
      expect(both.recipients.map(({ mailbox }) => mailbox)).toStrictEqual([OPERATOR, OPERATOR])
      expect((await fixture.store.listMessageIds(OPERATOR)).length).toBe(2)
    })
  })

  describe('the sweep', () => {
    test('a swept session cannot be extended, even if the clock has stepped back', async () => {
      const { id } = await fixture.session('ann@box.test')
      await fixture.sweepAll(at(HOUR + MINUTE))
      expect(await fixture.store.extendSession(id, at(3 * HOUR), at(HOUR - 1))).toBeUndefined()
    })

    test('deletes the mail of expired sessions and of no others', async () => {
      const [expired, live] = [
        await fixture.session('a@box.test'),
        await fixture.session('b@box.test', 3 * DAY),
      ]
      await fixture.send(['a@box.test', 'b@box.test'])
      await fixture.send(['a@box.test'], { head: head('only a') })
      const rawIds = await Promise.all(
        (await fixture.store.listMessageIds(expired.id)).map(
          async (id) => (await fixture.store.findMessage(expired.id, id))?.rawId ?? 0,
        ),
      )
      await fixture.sweepAll(at(HOUR - 1))
      expect((await fixture.store.listMessageIds(expired.id)).length).toBe(2)
      await fixture.sweepAll(at(HOUR + MINUTE))
      expect(await fixture.store.listMessageIds(expired.id)).toStrictEqual([])
      expect((await fixture.store.listMessageIds(live.id)).length).toBe(1)
      // Raw mail may be deleted later than its messages, with everything else of that day.
      await fixture.sweepAll(at(2 * DAY))
      expect((await fixture.store.listMessageIds(live.id)).length).toBe(1)
      const remaining = await Promise.all(rawIds.map((rawId) => fixture.store.readRaw(rawId)))
      expect(remaining.map((raw) => raw !== undefined)).toStrictEqual([false, true])
    })

    test('keeps the mail of a session extended beyond its day of expiry', async () => {
      const ann = await fixture.session('ann@box.test')
      const bob = await fixture.session('bob@box.test')
      await fixture.send(['ann@box.test', 'bob@box.test'], { head: head('for both') })
      await fixture.send(['ann@box.test'], { head: head('for one'), raw: new Uint8Array([7, 8]) })
      const [, first = 0] = await fixture.store.listMessageIds(ann.id)
      expect(await fixture.store.saveScan(scanOf(ann.id, first, '123'))).toBe(true)
      const list = async () =>
        (await fixture.other.listMessages(ann.id, { sinceId: 0, limit: 9 })).map(
          // Depends on the partition.
          ({ rawId: _rawId, ...message }) => message,
        )
      const before = await list()
      for (const [day, until] of [
        [0, 2],
        [1, 4],
        [3, 90],
        [89, 92],
      ] as const) {
        expect(
          await fixture.store.extendSession(ann.id, at(until * DAY), at(day * DAY)),
        ).toBeTruthy()
        await fixture.sweepAll(at(until * DAY - HOUR))
        expect(await list()).toStrictEqual(before)
      }
      expect(await fixture.store.listMessageIds(bob.id)).toStrictEqual([])
      const found = await Promise.all(before.map(({ id }) => fixture.store.findMessage(ann.id, id)))
      const raws = await Promise.all(found.map((one) => fixture.other.readRaw(one?.rawId ?? 0)))
      expect(raws.map((raw) => [...(raw?.bytes ?? [])])).toStrictEqual([
        [7, 8],
        [1, 2, 3],
      ])
      const late = { head: head('late'), receivedAt: at(91 * DAY) }
      expect((await fixture.send(['ann@box.test'], late)).outcome).toBe('stored')
      expect(await fixture.subjects(ann.id)).toStrictEqual(['late', 'for one', 'for both'])
      await fixture.sweepAll(at(94 * DAY))
      expect(await fixture.store.listMessageIds(ann.id)).toStrictEqual([])
      const deleted = await Promise.all(found.map((one) => fixture.store.readRaw(one?.rawId ?? 0)))
      expect(deleted).toStrictEqual([undefined, undefined])
    })

    test('a message found before its session is extended can still be read', async () => {
      const { id } = await fixture.session('ann@box.test')
      await fixture.send(['ann@box.test'])
      const [messageId = 0] = await fixture.store.listMessageIds(id)
      const found = await fixture.store.findMessage(id, messageId)
      expect(await fixture.other.extendSession(id, at(5 * DAY), START)).toBeTruthy()
      expect(await fixture.store.readRaw(found?.rawId ?? 0)).toBeTruthy()
      expect((await fixture.store.deleteMessages(id, [messageId])).messages).toBe(1)
      expect(await fixture.store.readRaw(found?.rawId ?? 0)).toBeUndefined()
    })

    test('keeps an expired session until the end of its cool-down', async () => {
      const { tokenHash } = await fixture.session('ann@box.test')
      await fixture.sweepAll(at(HOUR + COOLDOWN - 1))
      expect(await fixture.store.findSession(tokenHash)).toBeTruthy()
      expect(await fixture.other.findSession(tokenHash), 'and is remembered elsewhere').toBeTruthy()
      await fixture.sweepAll(at(HOUR + COOLDOWN))
      expect(await fixture.other.findSession(tokenHash)).toBeUndefined()
    })

    test('deletes mail of the pool and of the operator after their retention', async () => {
      await fixture.send(['any@pool.test', 'abuse@pool.test'])
      await fixture.sweepAll(at(DAY - 1))
      expect((await fixture.store.readSharedMailbox(POOL)).count).toBe(1)
      await fixture.sweepAll(at(DAY))
      expect([
        (await fixture.store.readSharedMailbox(POOL)).bytes,
        await fixture.store.listMessageIds(POOL),
      ]).toStrictEqual([0, []])
      expect((await fixture.store.listMessageIds(OPERATOR)).length).toBe(1)
      await fixture.sweepAll(at(30 * DAY))
      expect(await fixture.store.listMessageIds(OPERATOR)).toStrictEqual([])
    })

    test('reports whether there is more to do', async () => {
      for (let n = 0; n < 250; n += 1) await fixture.session(`s${n}@box.test`)
      const due = fixture.due(at(HOUR + MINUTE))
      expect(await fixture.store.sweep(due)).toBe(true)
      expect(await fixture.store.sweep(due)).toBe(false)
    })
  })
}
