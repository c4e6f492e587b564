import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  address,
  at,
  DAY,
  type Fixture,
  HOUR,
  head,
  MINUTE,
  newMail,
  newSession,
  type OpenMailStore,
  openFixture,
  START,
} from '../../../test/kit/store/fixture.ts'
import type { NewFetchedMail } from '../../gmail/store.ts'
import type { MailboxId } from '../../mail/rules/session.ts'

const JOE = address('joe@gmail.com')
const ANN = address('ann@gmail.com')
const INBOX = { folder: 'INBOX', uid: 41, state: { uidValidity: 7, lastUid: 41 } }

/** Gmail accounts and the mail fetched from them. */
export function accountsContract(open: () => Promise<OpenMailStore>): void {
  let fixture: Fixture
  let joe: number
  let ann: number

  beforeEach(async () => {
    fixture = await openFixture(await open())
    await fixture.store.addAccount(JOE)
    await fixture.store.addAccount(ANN)
    ;[joe = 0, ann = 0] = (await fixture.store.listAccounts(START)).map(({ id }) => id)
  })
  afterEach(() => fixture.close())

  let tokens = 0
  const alias = async (
    text: string,
    { accountId = joe, lifeMs = HOUR, createdAt = START } = {},
  ) => {
    tokens += 1
    const tokenHash = `alias-${tokens}`
    const created = await fixture.store.createSession({
      ...newSession(text, { tokenHash, createdAt, lifeMs }),
      accountId,
    })
    expect.assert(created, `${text} is free`)
    return { ...created, tokenHash }
  }
  type FetchOptions = Partial<NewFetchedMail> & { identity?: string }
  const fetched = async (to: string[], options: FetchOptions = {}): Promise<NewFetchedMail> => {
    const { identity = 'm1', ...more } = options
    const accountId = more.accountId ?? joe
    const found = await fixture.store.findAliases(accountId, to.map(address), START)
    const recipients = found.map((one) => ({ ...one, identity: `${identity} ${one.address}` }))
    return { ...newMail([]), ...INBOX, accountId, recipients, now: START, ...more }
  }

  /** The bytes are transferred, so each call needs its own. */
  const add = (mail: NewFetchedMail) =>
    fixture.store.addFetchedMail({ ...mail, raw: new Uint8Array([1, 2, 3]) })

  describe('an account', () => {
    test('keeps its id when it is added again', async () => {
      await fixture.store.addAccount(ANN)
      expect(await fixture.other.listAccounts(START)).toStrictEqual([
        { id: joe, email: JOE, active: true, health: 'starting', reason: '', aliases: 0 },
        { id: ann, email: ANN, active: true, health: 'starting', reason: '', aliases: 0 },
      ])
    })

    test('can be switched off, and has a health status', async () => {
      expect.assert((await fixture.store.setAccountActive(joe, false)) === true)
      expect.assert((await fixture.store.setAccountActive(999, false)) === false)
      await fixture.store.setAccountHealth(joe, 'failing', 'wrong password')
      await fixture.store.addAccount(JOE)
      const [found] = await fixture.other.listAccounts(START)
      expect([found?.active, found?.health, found?.reason]).toStrictEqual([
        false,
        'failing',
        'wrong password',
      ])
    })

    test('counts its live aliases', async () => {
      await alias('joe+a@gmail.com')
      await alias('joe+b@gmail.com', { lifeMs: 2 * HOUR })
      const { id } = await alias('joe+c@gmail.com', { lifeMs: 2 * HOUR })
      await alias('ann+a@gmail.com', { accountId: ann })
      await fixture.store.endSession(id, START)
      const counts = async (now: Date) =>
        (await fixture.store.listAccounts(now)).map(({ aliases }) => aliases)
      expect(await counts(START)).toStrictEqual([2, 1])
      expect(await counts(at(HOUR))).toStrictEqual([1, 0])
    })

    test('reports when its oldest live alias was created', async () => {
      expect.assert((await fixture.store.oldestAlias(joe, START)) === undefined)
      await alias('joe+a@gmail.com', { lifeMs: 2 * HOUR })
      await alias('joe+b@gmail.com', { createdAt: at(HOUR), lifeMs: 9 * HOUR })
      expect(await fixture.store.oldestAlias(joe, at(HOUR))).toStrictEqual(START)
      expect(await fixture.store.oldestAlias(joe, at(2 * HOUR))).toStrictEqual(at(HOUR))
      expect.assert((await fixture.store.oldestAlias(ann, START)) === undefined)
    })
  })

  describe('an alias', () => {
    test('is found by its exact spelling, in its own account, while it is live', async () => {
      const plus = await alias('joe+abc@gmail.com')
      const dots = await alias('j.oe@gmail.com')
      const found = async (texts: string[], accountId = joe, now = START) =>
        (await fixture.other.findAliases(accountId, texts.map(address), now)).map(
          ({ mailbox }) => mailbox,
        )
      expect(await found(['j.oe@gmail.com', 'joe+abc@gmail.com'])).toStrictEqual([dots.id, plus.id])
      const similar = ['joe@gmail.com', 'j.o.e@gmail.com', 'joe+ab@gmail.com', 'joe+abcd@gmail.com']
      expect(await found([...similar, 'j.oe+abc@gmail.com', 'jo.e@gmail.com'])).toStrictEqual([])
      expect(await found(['joe+abc@gmail.com'], ann)).toStrictEqual([])
      expect(await found(['joe+abc@gmail.com'], joe, at(HOUR))).toStrictEqual([])
      await fixture.store.endSession(plus.id, START)
      expect(await found(['joe+abc@gmail.com'])).toStrictEqual([])
    })

    test('is revived by its owner in the same account', async () => {
      const { id, tokenHash } = await alias('joe+abc@gmail.com')
      const later = { now: at(HOUR), expiresAt: at(2 * HOUR), cooldownMs: 30 * DAY }
      const revived = await fixture.store.reviveSession({ mailbox: id, ...later })
      expect.assert(revived?.accountId === joe)
      expect.assert((await fixture.other.findSession(tokenHash))?.accountId === joe)
    })

    test('does not receive mail of another account', async () => {
      const { id } = await alias('joe+abc@gmail.com')
      const recipients = [{ address: address('joe+abc@gmail.com'), mailbox: id, identity: 'm1' }]
      expect(await fixture.store.addMail(newMail(recipients))).toStrictEqual({
        outcome: 'no_recipients',
      })
      const ofOtherAccount = await fetched([], { recipients, accountId: ann })
      expect(await add(ofOtherAccount)).toStrictEqual({ outcome: 'no_recipients' })
      expect(await fixture.subjects(id)).toStrictEqual([])
    })
  })

  describe('fetched mail', () => {
    test('is stored for its aliases together with the folder state', async () => {
      const one = await alias('joe+a@gmail.com')
      const two = await alias('joe+b@gmail.com')
      const mail = await fetched(['joe+a@gmail.com', 'joe+b@gmail.com'], { head: head('code') })
      const result = await add({ ...mail, receivedAt: at(-MINUTE) })
      expect(
        result.outcome === 'stored' && result.recipients.map(({ mailbox }) => mailbox),
      ).toStrictEqual([one.id, two.id])
      expect(await fixture.subjects(one.id, fixture.other)).toStrictEqual(['code'])
      expect(await fixture.other.readFolder(joe, 'INBOX')).toStrictEqual(INBOX.state)
      expect.assert((await fixture.other.readFolder(ann, 'INBOX')) === undefined)
      const [message] = await fixture.store.listMessages(two.id, { sinceId: 0, limit: 1 })
      expect(message?.receivedAt).toStrictEqual(at(-MINUTE))
    })

    test('older than an alias is not delivered to it', async () => {
      const older = await alias('joe+a@gmail.com', { createdAt: at(-DAY), lifeMs: 2 * DAY })
      const newer = await alias('joe+b@gmail.com')
      const both = await fetched(['joe+a@gmail.com', 'joe+b@gmail.com'])
      expect.assert((await add({ ...both, receivedAt: at(-HOUR) })).outcome === 'stored')
      expect.assert((await fixture.subjects(older.id)).length === 1)
      expect(await fixture.subjects(newer.id)).toStrictEqual([])
    })

    test('is stored once per account, whatever its UID', async () => {
      const { id } = await alias('joe+a@gmail.com')
      const other = await alias('ann+a@gmail.com', { accountId: ann })
      await add(await fetched(['joe+a@gmail.com']))
      const again = {
        ...(await fetched(['joe+a@gmail.com'])),
        state: { uidValidity: 8, lastUid: 1 },
      }
      expect(await add(again)).toStrictEqual({ outcome: 'known' })
      expect(await fixture.store.readFolder(joe, 'INBOX')).toStrictEqual(again.state)
      const copy = await fetched(['ann+a@gmail.com'], { accountId: ann })
      expect.assert((await add(copy)).outcome === 'stored')
      expect.assert((await fixture.subjects(id)).length === 1)
      expect.assert((await fixture.subjects(other.id)).length === 1)
    })

    test('that equals another one is stored separately if its UID differs', async () => {
      const { id } = await alias('joe+a@gmail.com')
      const mail = await fetched(['joe+a@gmail.com'])
      expect.assert((await add(mail)).outcome === 'stored')
      const copy = { ...mail, uid: 42, state: { uidValidity: 7, lastUid: 42 } }
      expect.assert((await add(copy)).outcome === 'stored')
      for (const again of [mail, copy]) expect.assert((await add(again)).outcome === 'known')
      const renumbered = { ...mail, uid: 1, state: { uidValidity: 8, lastUid: 1 } }
      expect.assert((await add(renumbered)).outcome === 'known')
      const moved = { ...mail, folder: 'Spam', uid: 7, state: { uidValidity: 7, lastUid: 7 } }
      expect.assert((await add(moved)).outcome === 'known')
      expect.assert((await fixture.subjects(id)).length === 2)
    })

    test('that one of two recipients has is stored for the other, with the bytes once', async () => {
      const one = await alias('joe+a@gmail.com')
      const two = await alias('joe+b@gmail.com')
      await add(await fetched(['joe+a@gmail.com']))
      const both = await add(await fetched(['joe+a@gmail.com', 'joe+b@gmail.com']))
      expect(
        both.outcome === 'stored' && both.recipients.map(({ mailbox }) => mailbox),
      ).toStrictEqual([two.id])
      const third = await alias('joe+c@gmail.com')
      const fourth = await alias('joe+d@gmail.com')
      await add(await fetched(['joe+c@gmail.com', 'joe+d@gmail.com'], { identity: 'm2' }))
      const rawOf = async ({ id }: { id: MailboxId }) => {
        const [message] = await fixture.store.listMessages(id, { sinceId: 0, limit: 1 })
        return (await fixture.store.findMessage(id, message?.id ?? 0))?.rawId
      }
      expect.assert((await rawOf(third)) === (await rawOf(fourth)))
      expect.assert((await fixture.subjects(one.id)).length === 1)
    })

    test('is resolved again inside the transaction', async () => {
      const { id } = await alias('joe+a@gmail.com')
      const mail = await fetched(['joe+a@gmail.com'])
      expect(await add({ ...mail, now: at(HOUR) })).toStrictEqual({
        outcome: 'no_recipients',
      })
      await fixture.store.endSession(id, START)
      expect(await add(mail)).toStrictEqual({ outcome: 'no_recipients' })
      expect(await fixture.subjects(id)).toStrictEqual([])
      expect(await fixture.store.readFolder(joe, 'INBOX')).toStrictEqual(INBOX.state)
    })

    test('goes to aliases with room, not to full ones', async () => {
      const full = await alias('joe+a@gmail.com')
      const withRoom = await alias('joe+b@gmail.com')
      for (let number = 0; number < 5; number += 1) {
        const mail = await fetched(['joe+a@gmail.com'], { identity: `m${number}` })
        expect.assert((await add(mail)).outcome === 'stored')
      }
      const both = await fetched(['joe+a@gmail.com', 'joe+b@gmail.com'], { identity: 'both' })
      expect.assert((await add(both)).outcome === 'stored')
      const refused = await fetched(['joe+a@gmail.com'], { identity: 'late' })
      expect(await add(refused)).toStrictEqual({ outcome: 'full' })
      expect.assert((await fixture.subjects(full.id)).length === 5)
      expect.assert((await fixture.subjects(withRoom.id)).length === 1)
    })

    test('is remembered while an alias is live that it could be delivered to', async () => {
      await alias('joe+a@gmail.com', { createdAt: at(-4 * DAY), lifeMs: 5 * DAY })
      const old = await fetched(['joe+a@gmail.com'], { identity: 'old', receivedAt: at(-3 * DAY) })
      await add(old)
      await add(await fetched(['joe+a@gmail.com'], { identity: 'next' }))
      expect((await add(old)).outcome).toBe('known')
    })

    test('for nobody still saves the folder state', async () => {
      await fixture.store.saveFolder(joe, 'INBOX', { uidValidity: 7, lastUid: 50 })
      await fixture.store.saveFolder(joe, 'Spam', { uidValidity: 9, lastUid: 1 })
      expect(await fixture.other.readFolder(joe, 'INBOX')).toStrictEqual({
        uidValidity: 7,
        lastUid: 50,
      })
      expect(await fixture.other.readFolder(joe, 'Spam')).toStrictEqual({
        uidValidity: 9,
        lastUid: 1,
      })
    })
  })
}
