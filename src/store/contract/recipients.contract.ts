import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { OPERATOR, POOL } from '../../mail/rules/session.ts'
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
} from './fixture.ts'

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
      assert.deepEqual(result, {
        outcome: 'stored',
        recipients: [{ address: bob.address, mailbox: bob.id, keyId: undefined }],
      })
      assert.deepEqual(await fixture.store.listMessageIds(ann.id), [])
    })

    test('a session ended by its owner gets nothing, even with an earlier receive time', async () => {
      const ann = await fixture.session('ann@box.test')
      const recipients = await fixture.accepted(['ann@box.test'])
      await fixture.store.endSession(ann.id, at(1_000))
      const late = newMail(recipients, { receivedAt: at(500) })
      assert.deepEqual(await fixture.store.addMail(late), { outcome: 'no_recipients' })
      assert.deepEqual(await fixture.send(['ann@box.test'], { receivedAt: at(500) }), {
        outcome: 'no_recipients',
      })
    })

    test('mail for an address reassigned since RCPT does not reach the new owner', async () => {
      const previous = await fixture.session('ann@box.test')
      const recipients = await fixture.accepted(['ann@box.test'])
      await fixture.store.endSession(previous.id, at(1))
      const next = await fixture.take('ann@box.test', 'next', at(1 + COOLDOWN))
      assert.ok(next)
      const late = newMail(recipients, { receivedAt: at(2 + COOLDOWN) })
      assert.deepEqual(await fixture.store.addMail(late), { outcome: 'no_recipients' })
      assert.deepEqual(await fixture.store.listMessageIds(next.id), [])
    })

    test('one mail for many pool addresses counts for each of them', async () => {
      const to = ['a', 'b', 'c'].map((name) => `${name}@pool.test`)
      const large = () => ({ raw: new Uint8Array(randomBytes(9_000)) })
      assert.deepEqual(await fixture.send(to, large()), { outcome: 'full' })
      assert.equal((await fixture.send(to.slice(1), large())).outcome, 'stored')
    })

    test('without recipients nothing is stored', async () => {
      await fixture.session('ann@box.test')
      const late = await fixture.send(['ann@box.test', 'nobody@box.test'], { receivedAt: at(HOUR) })
      assert.deepEqual(late, { outcome: 'no_recipients' })
    })

    test('one full mailbox refuses the whole mail', async () => {
      const bob = await fixture.session('bob@box.test')
      await fixture.session('ann@box.test')
      for (let sent = 0; sent < 5; sent += 1) await fixture.send(['ann@box.test'])
      assert.deepEqual(await fixture.send(['bob@box.test', 'ann@box.test']), { outcome: 'full' })
      assert.deepEqual(await fixture.store.listMessageIds(bob.id), [])
    })

    test('the byte limit of a mailbox is exact', async () => {
      await fixture.session('ann@box.test')
      assert.equal(
        (await fixture.send(['ann@box.test'], { raw: new Uint8Array(9_999) })).outcome,
        'stored',
      )
      assert.equal(
        (await fixture.send(['ann@box.test'], { raw: new Uint8Array(2) })).outcome,
        'full',
      )
      assert.equal(
        (await fixture.send(['ann@box.test'], { raw: new Uint8Array(1) })).outcome,
        'stored',
      )
    })
  })

  describe('the pool and the operator', () => {
    test('mail for a never assigned address goes to the pool at a reader domain, otherwise to nobody', async () => {
      assert.deepEqual(await fixture.send(['any@pool.test']), {
        outcome: 'stored',
        recipients: [{ address: address('any@pool.test'), mailbox: POOL, keyId: undefined }],
      })
      assert.deepEqual(await fixture.send(['any@box.test']), { outcome: 'no_recipients' })
      assert.equal((await fixture.store.readSharedMailbox(POOL)).count, 1)
    })

    test('mail for an address that was ever assigned to a session never goes to the pool', async () => {
      const { id } = await fixture.session('ann@pool.test')
      await fixture.store.endSession(id, at(1))
      const late = (ms: number) => fixture.send(['ann@pool.test'], { receivedAt: at(ms) })
      assert.deepEqual(await late(2), { outcome: 'no_recipients' })
      await fixture.sweepAll(at(COOLDOWN + DAY))
      assert.deepEqual(await late(COOLDOWN + DAY), { outcome: 'no_recipients' })
      assert.equal((await fixture.store.findRecipient(address('ann@pool.test'))).everAssigned, true)
    })

    test('mail for such an address with a tag does not go to the pool either', async () => {
      await fixture.session('ann@pool.test')
      assert.deepEqual(await fixture.send(['ann+shop@pool.test']), { outcome: 'no_recipients' })
      assert.equal((await fixture.send(['bob+shop@pool.test'])).outcome, 'stored')
    })

    test('a pool address and the pool have limits, and deletion frees space', async () => {
      for (let sent = 0; sent < 5; sent += 1) await fixture.send(['any@pool.test'])
      assert.deepEqual(await fixture.send(['any@pool.test']), { outcome: 'full' })
      for (const name of ['a', 'b'])
        await fixture.send([`${name}@pool.test`], { raw: new Uint8Array(randomBytes(9_900)) })
      const more = { raw: new Uint8Array(randomBytes(9_900)) }
      assert.deepEqual(await fixture.send(['c@pool.test'], more), { outcome: 'full' })
      const [first = 0] = (await fixture.store.listMessageIds(POOL)).slice(-1)
      await fixture.store.deleteMessage(POOL, first)
      assert.equal((await fixture.send(['any@pool.test'])).outcome, 'stored')
    })

    test('mail for postmaster and abuse goes to the operator, at every domain', async () => {
      const both = await fixture.send(['postmaster@box.test', 'abuse@pool.test'])
      assert.ok(both.outcome === 'stored')
      assert.deepEqual(
        both.recipients.map(({ mailbox }) => mailbox),
        [OPERATOR, OPERATOR],
      )
      assert.equal((await fixture.store.listMessageIds(OPERATOR)).length, 2)
    })
  })

  describe('the sweep', () => {
    test('a swept session cannot be extended, even if the clock has stepped back', async () => {
      const { id } = await fixture.session('ann@box.test')
      await fixture.sweepAll(at(HOUR + MINUTE))
      assert.equal(await fixture.store.extendSession(id, at(3 * HOUR), at(HOUR - 1)), undefined)
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
      assert.equal((await fixture.store.listMessageIds(expired.id)).length, 2)
      await fixture.sweepAll(at(HOUR + MINUTE))
      assert.deepEqual(await fixture.store.listMessageIds(expired.id), [])
      assert.equal((await fixture.store.listMessageIds(live.id)).length, 1)
      // Raw mail may be deleted later than its messages, with everything else of that day.
      await fixture.sweepAll(at(2 * DAY))
      assert.equal((await fixture.store.listMessageIds(live.id)).length, 1)
      const remaining = await Promise.all(rawIds.map((rawId) => fixture.store.readRaw(rawId)))
      assert.deepEqual(
        remaining.map((raw) => raw !== undefined),
        [false, true],
      )
    })

    test('keeps the mail of a session extended beyond its day of expiry', async () => {
      const ann = await fixture.session('ann@box.test')
      const bob = await fixture.session('bob@box.test')
      await fixture.send(['ann@box.test', 'bob@box.test'], { head: head('for both') })
      await fixture.send(['ann@box.test'], { head: head('for one'), raw: new Uint8Array([7, 8]) })
      const [, first = 0] = await fixture.store.listMessageIds(ann.id)
      assert.equal(await fixture.store.saveScan(scanOf(ann.id, first, '123')), true)
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
        assert.ok(await fixture.store.extendSession(ann.id, at(until * DAY), at(day * DAY)))
        await fixture.sweepAll(at(until * DAY - HOUR))
        assert.deepEqual(await list(), before)
      }
      assert.deepEqual(await fixture.store.listMessageIds(bob.id), [])
      const found = await Promise.all(before.map(({ id }) => fixture.store.findMessage(ann.id, id)))
      const raws = await Promise.all(found.map((one) => fixture.other.readRaw(one?.rawId ?? 0)))
      assert.deepEqual(
        raws.map((raw) => [...(raw?.bytes ?? [])]),
        [
          [7, 8],
          [1, 2, 3],
        ],
      )
      const late = { head: head('late'), receivedAt: at(91 * DAY) }
      assert.equal((await fixture.send(['ann@box.test'], late)).outcome, 'stored')
      assert.deepEqual(await fixture.subjects(ann.id), ['late', 'for one', 'for both'])
      await fixture.sweepAll(at(94 * DAY))
      assert.deepEqual(await fixture.store.listMessageIds(ann.id), [])
      const deleted = await Promise.all(found.map((one) => fixture.store.readRaw(one?.rawId ?? 0)))
      assert.deepEqual(deleted, [undefined, undefined])
    })

    test('a message found before its session is extended can still be read', async () => {
      const { id } = await fixture.session('ann@box.test')
      await fixture.send(['ann@box.test'])
      const [messageId = 0] = await fixture.store.listMessageIds(id)
      const found = await fixture.store.findMessage(id, messageId)
      assert.ok(await fixture.other.extendSession(id, at(5 * DAY), START))
      assert.ok(await fixture.store.readRaw(found?.rawId ?? 0))
      assert.equal(await fixture.store.deleteMessage(id, messageId), true)
      assert.equal(await fixture.store.readRaw(found?.rawId ?? 0), undefined)
    })

    test('keeps an expired session until the end of its cool-down', async () => {
      const { tokenHash } = await fixture.session('ann@box.test')
      await fixture.sweepAll(at(HOUR + COOLDOWN - 1))
      assert.ok(await fixture.store.findSession(tokenHash))
      assert.ok(await fixture.other.findSession(tokenHash), 'and is remembered elsewhere')
      await fixture.sweepAll(at(HOUR + COOLDOWN))
      assert.equal(await fixture.other.findSession(tokenHash), undefined)
    })

    test('deletes mail of the pool and of the operator after their retention', async () => {
      await fixture.send(['any@pool.test', 'abuse@pool.test'])
      await fixture.sweepAll(at(DAY - 1))
      assert.equal((await fixture.store.readSharedMailbox(POOL)).count, 1)
      await fixture.sweepAll(at(DAY))
      assert.deepEqual(
        [
          (await fixture.store.readSharedMailbox(POOL)).bytes,
          await fixture.store.listMessageIds(POOL),
        ],
        [0, []],
      )
      assert.equal((await fixture.store.listMessageIds(OPERATOR)).length, 1)
      await fixture.sweepAll(at(30 * DAY))
      assert.deepEqual(await fixture.store.listMessageIds(OPERATOR), [])
    })

    test('reports whether there is more to do', async () => {
      for (let n = 0; n < 250; n += 1) await fixture.session(`s${n}@box.test`)
      const due = fixture.due(at(HOUR + MINUTE))
      assert.equal(await fixture.store.sweep(due), true)
      assert.equal(await fixture.store.sweep(due), false)
    })
  })
}
