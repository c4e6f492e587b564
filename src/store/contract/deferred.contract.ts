import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import type { NewFetchedMail } from '../../gmail/store.ts'
import type { MailboxId } from '../../mail/rules/session.ts'
import {
  address,
  at,
  DAY,
  type Fixture,
  HOUR,
  MINUTE,
  newMail,
  newSession,
  type OpenMailStore,
  openFixture,
  START,
} from './fixture.ts'

const JOE = address('joe@gmail.com')
const A = 'joe+a@gmail.com'
const B = 'joe+b@gmail.com'
const C = 'joe+c@gmail.com'
const INBOX = { folder: 'INBOX', uidValidity: 7 }

/** Fetched mail for aliases whose mailbox is full. A mailbox holds 5 messages and 10,000 bytes. */
export function deferredContract(open: () => Promise<OpenMailStore>): void {
  let fixture: Fixture
  let accountId: number
  const boxes = new Map<string, MailboxId>()

  beforeEach(async () => {
    fixture = await openFixture(await open())
    await fixture.store.addAccount(JOE)
    accountId = (await fixture.store.listAccounts(START))[0]?.id ?? 0
    for (const text of [A, B, C]) {
      const session = newSession(text, { tokenHash: text, createdAt: START, lifeMs: DAY })
      const created = await fixture.store.createSession({ ...session, accountId })
      assert.ok(created)
      boxes.set(text, created.id)
    }
  })
  afterEach(() => fixture.close())

  const box = (text: string) => boxes.get(text) ?? (0 as MailboxId)
  const lastUid = 1_000
  const fetch = async (
    uid: number,
    to: string[],
    more: Partial<NewFetchedMail> & { size?: number },
  ) =>
    fixture.store.addFetchedMail({
      ...newMail([]),
      accountId,
      folder: 'INBOX',
      uid,
      state: { uidValidity: 7, lastUid },
      recipients: to.map((text) => ({
        address: address(text),
        mailbox: box(text),
        identity: `${more.folder ?? 'INBOX'} ${uid} ${text}`,
      })),
      now: START,
      ...more,
      raw: new Uint8Array(more.size ?? 3),
    })
  const outcome = async (uid: number, to: string[], more: Parameters<typeof fetch>[2] = {}) => {
    const result = await fetch(uid, to, more)
    return result.outcome === 'stored' && result.deferred ? 'stored, deferred' : result.outcome
  }
  /** Five mails to this alias only, with UIDs from 100. */
  const fill = async (text: string) => {
    for (let uid = 100; uid < 105; uid += 1) assert.equal(await outcome(uid, [text]), 'stored')
  }
  const makeRoom = async (text: string) => {
    const [id = 0] = await fixture.store.listMessageIds(box(text))
    assert.ok(await fixture.store.deleteMessage(box(text), id))
  }
  const listed = async (now = START, folder = INBOX, limit = 50) =>
    (await fixture.other.listDeferred({ accountId, ...folder, now, limit })).map(
      ({ uid, wanted }) => `${uid}${wanted ? '' : ' unwanted'}`,
    )

  test('mail is deferred for a full mailbox, and listed once that has room', async () => {
    await fill(A)
    assert.equal(await outcome(1, [A, B]), 'stored, deferred')
    assert.equal(await outcome(2, [A]), 'full')
    assert.deepEqual(await listed(), [])
    await makeRoom(A)
    const mails = await fixture.other.listDeferred({ accountId, ...INBOX, now: START, limit: 50 })
    const deferred = { address: address(A), mailboxes: [box(A)], wanted: true }
    assert.deepEqual(mails, [
      { uid: 1, ...deferred },
      { uid: 2, ...deferred },
    ])
  })

  test('a retry delivers it to the mailbox that lacks it, and does not move the folder position back', async () => {
    await fill(A)
    await outcome(1, [A, B])
    await makeRoom(A)
    assert.equal(await outcome(1, [A, B]), 'stored')
    assert.deepEqual(await listed(at(DAY / 2)), [])
    assert.equal((await fixture.subjects(box(A))).length, 5)
    assert.equal((await fixture.subjects(box(B))).length, 1)
    assert.equal(await outcome(1, [A, B]), 'known')
    assert.deepEqual((await fixture.store.readFolder(accountId, 'INBOX'))?.lastUid, lastUid)
  })

  test('room is computed with the size of the mail', async () => {
    assert.equal(await outcome(1, [A], { size: 9_000 }), 'stored')
    assert.equal(await outcome(2, [A], { size: 1_001 }), 'full')
    assert.equal(await outcome(3, [A], { size: 1_002 }), 'full')
    assert.equal(await outcome(4, [A], { size: 990 }), 'stored')
    assert.deepEqual(await listed(), [])
    await makeRoom(A)
    assert.deepEqual(await listed(), [])
    await makeRoom(A)
    assert.deepEqual(await listed(), ['2', '3'])
  })

  test('each failed retry waits longer', async () => {
    await fill(A)
    assert.equal(await outcome(1, [A]), 'full')
    assert.equal(await outcome(1, [A]), 'full')
    await makeRoom(A)
    assert.deepEqual(await listed(at(MINUTE - 1)), [])
    assert.deepEqual(await listed(at(MINUTE)), ['1'])
    await fetch(105, [A], {})
    assert.equal(await outcome(1, [A], { now: at(MINUTE) }), 'full')
    await makeRoom(A)
    assert.deepEqual(await listed(at(3 * MINUTE - 1)), [])
    assert.deepEqual(await listed(at(3 * MINUTE)), ['1'])
  })

  test('it is unwanted once all sessions that lack it have ended', async () => {
    await fill(A)
    for (let uid = 200; uid < 205; uid += 1) await outcome(uid, [B])
    assert.equal(await outcome(1, [A, C]), 'stored, deferred')
    assert.equal(await outcome(2, [A, B]), 'full')
    await fixture.store.endSession(box(A), START)
    assert.deepEqual(await listed(), ['1 unwanted'])
    await makeRoom(B)
    assert.deepEqual(await listed(), ['1 unwanted', '2'])
    assert.deepEqual(await listed(at(DAY)), ['1 unwanted', '2 unwanted'])
    await fixture.sweepAll(at(DAY + HOUR))
    assert.deepEqual(await listed(at(DAY + HOUR)), ['1 unwanted', '2 unwanted'])
  })

  test('a revived session does not get mail deferred before its expiry', async () => {
    await fill(A)
    await outcome(1, [A])
    const later = { now: at(DAY), expiresAt: at(2 * DAY), cooldownMs: 30 * DAY }
    assert.ok(await fixture.store.reviveSession({ mailbox: box(A), ...later }))
    assert.deepEqual(await listed(at(DAY)), ['1 unwanted'])
  })

  test('is listed by UID, up to the limit, for one folder and UIDVALIDITY', async () => {
    await fill(A)
    for (const uid of [3, 1, 2]) await outcome(uid, [A])
    await outcome(9, [A], { folder: 'Spam', state: { uidValidity: 8, lastUid: 9 } })
    await makeRoom(A)
    assert.deepEqual(await listed(START, INBOX, 2), ['1', '2'])
    assert.deepEqual(await listed(START, { folder: 'Spam', uidValidity: 8 }), ['9'])
    assert.deepEqual(await listed(START, { folder: 'Spam', uidValidity: 7 }), [])
    const other = { accountId: accountId + 1, ...INBOX, now: START, limit: 9 }
    assert.deepEqual(await fixture.other.listDeferred(other), [])
  })

  test('is deleted by UID, and when UIDVALIDITY changes', async () => {
    await fill(A)
    for (const uid of [1, 2]) await outcome(uid, [A])
    await outcome(3, [A], { state: { uidValidity: 6, lastUid: 3 } })
    await outcome(9, [A], { folder: 'Spam', state: { uidValidity: 8, lastUid: 9 } })
    await makeRoom(A)
    await fixture.store.deleteDeferred({ accountId, ...INBOX, uids: [1, 9] })
    assert.deepEqual(await listed(), ['2'])
    assert.deepEqual(await listed(START, { folder: 'INBOX', uidValidity: 6 }), [])
    assert.deepEqual(await listed(START, { folder: 'Spam', uidValidity: 8 }), ['9'])
    await fixture.store.deleteDeferred({ accountId, ...INBOX, uids: [] })
    assert.deepEqual(await listed(), ['2'])
  })
}
