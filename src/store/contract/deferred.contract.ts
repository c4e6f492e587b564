import { afterEach, beforeEach, expect, test } from 'vitest'
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
} from '../../../test/kit/store/fixture.ts'
import type { NewFetchedMail } from '../../gmail/store.ts'
import type { MailboxId } from '../../mail/rules/session.ts'

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
      expect.assert(created)
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
    for (let uid = 100; uid < 105; uid += 1) expect(await outcome(uid, [text])).toBe('stored')
  }
  const makeRoom = async (text: string) => {
    const [id = 0] = await fixture.store.listMessageIds(box(text))
    expect((await fixture.store.deleteMessages(box(text), [id])).messages).toBe(1)
  }
  const listed = async (now = START, folder = INBOX, limit = 50) =>
    (await fixture.other.listDeferred({ accountId, ...folder, now, limit })).map(
      ({ uid, wanted }) => `${uid}${wanted ? '' : ' unwanted'}`,
    )

  test('mail is deferred for a full mailbox, and listed once that has room', async () => {
    await fill(A)
    expect(await outcome(1, [A, B])).toBe('stored, deferred')
    expect(await outcome(2, [A])).toBe('full')
    expect(await listed()).toStrictEqual([])
    await makeRoom(A)
    const mails = await fixture.other.listDeferred({ accountId, ...INBOX, now: START, limit: 50 })
    const deferred = { address: address(A), mailboxes: [box(A)], wanted: true }
    expect(mails).toStrictEqual([
      { uid: 1, ...deferred },
      { uid: 2, ...deferred },
    ])
  })

  test('a retry delivers it to the mailbox that lacks it, and does not move the folder position back', async () => {
    await fill(A)
    await outcome(1, [A, B])
    await makeRoom(A)
    expect(await outcome(1, [A, B])).toBe('stored')
    expect(await listed(at(DAY / 2))).toStrictEqual([])
    expect((await fixture.subjects(box(A))).length).toBe(5)
    expect((await fixture.subjects(box(B))).length).toBe(1)
    expect(await outcome(1, [A, B])).toBe('known')
    expect((await fixture.store.readFolder(accountId, 'INBOX'))?.lastUid).toStrictEqual(lastUid)
  })

  test('room is computed with the size of the mail', async () => {
    expect(await outcome(1, [A], { size: 9_000 })).toBe('stored')
    expect(await outcome(2, [A], { size: 1_001 })).toBe('full')
    expect(await outcome(3, [A], { size: 1_002 })).toBe('full')
    expect(await outcome(4, [A], { size: 990 })).toBe('stored')
    expect(await listed()).toStrictEqual([])
    await makeRoom(A)
    expect(await listed()).toStrictEqual([])
    await makeRoom(A)
    expect(await listed()).toStrictEqual(['2', '3'])
  })

  test('each failed retry waits longer', async () => {
    await fill(A)
    expect(await outcome(1, [A])).toBe('full')
    expect(await outcome(1, [A])).toBe('full')
    await makeRoom(A)
    expect(await listed(at(MINUTE - 1))).toStrictEqual([])
    expect(await listed(at(MINUTE))).toStrictEqual(['1'])
    await fetch(105, [A], {})
    expect(await outcome(1, [A], { now: at(MINUTE) })).toBe('full')
    await makeRoom(A)
    expect(await listed(at(3 * MINUTE - 1))).toStrictEqual([])
    expect(await listed(at(3 * MINUTE))).toStrictEqual(['1'])
  })

  test('it is unwanted once all sessions that lack it have ended', async () => {
    await fill(A)
    for (let uid = 200; uid < 205; uid += 1) await outcome(uid, [B])
    expect(await outcome(1, [A, C])).toBe('stored, deferred')
    expect(await outcome(2, [A, B])).toBe('full')
    await fixture.store.endSession(box(A), START)
    expect(await listed()).toStrictEqual(['1 unwanted'])
    await makeRoom(B)
    expect(await listed()).toStrictEqual(['1 unwanted', '2'])
    expect(await listed(at(DAY))).toStrictEqual(['1 unwanted', '2 unwanted'])
    await fixture.sweepAll(at(DAY + HOUR))
    expect(await listed(at(DAY + HOUR))).toStrictEqual(['1 unwanted', '2 unwanted'])
  })

  test('a revived session does not get mail deferred before its expiry', async () => {
    await fill(A)
    await outcome(1, [A])
    const later = { now: at(DAY), expiresAt: at(2 * DAY), cooldownMs: 30 * DAY }
    expect(await fixture.store.reviveSession({ mailbox: box(A), ...later })).toBeTruthy()
    expect(await listed(at(DAY))).toStrictEqual(['1 unwanted'])
  })

  test('is listed by UID, up to the limit, for one folder and UIDVALIDITY', async () => {
    await fill(A)
    for (const uid of [3, 1, 2]) await outcome(uid, [A])
    await outcome(9, [A], { folder: 'Spam', state: { uidValidity: 8, lastUid: 9 } })
    await makeRoom(A)
    expect(await listed(START, INBOX, 2)).toStrictEqual(['1', '2'])
    expect(await listed(START, { folder: 'Spam', uidValidity: 8 })).toStrictEqual(['9'])
    expect(await listed(START, { folder: 'Spam', uidValidity: 7 })).toStrictEqual([])
    const other = { accountId: accountId + 1, ...INBOX, now: START, limit: 9 }
    expect(await fixture.other.listDeferred(other)).toStrictEqual([])
  })

  test('is deleted by UID, and when UIDVALIDITY changes', async () => {
    await fill(A)
    for (const uid of [1, 2]) await outcome(uid, [A])
    await outcome(3, [A], { state: { uidValidity: 6, lastUid: 3 } })
    await outcome(9, [A], { folder: 'Spam', state: { uidValidity: 8, lastUid: 9 } })
    await makeRoom(A)
    await fixture.store.deleteDeferred({ accountId, ...INBOX, uids: [1, 9] })
    expect(await listed()).toStrictEqual(['2'])
    expect(await listed(START, { folder: 'INBOX', uidValidity: 6 })).toStrictEqual([])
    expect(await listed(START, { folder: 'Spam', uidValidity: 8 })).toStrictEqual(['9'])
    await fixture.store.deleteDeferred({ accountId, ...INBOX, uids: [] })
    expect(await listed()).toStrictEqual(['2'])
  })
}
