import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  address,
  at,
  DAY,
  type Fixture,
  HOUR,
  head,
  type OpenMailStore,
  openFixture,
} from '../../../test/kit/store/fixture.ts'
import type { FoundMessage, ScanPosition } from '../../mail/operator-store.ts'
import { type MailboxId, OPERATOR, POOL, type Session } from '../../mail/rules/session.ts'
import type { Store } from '../store.ts'

const ENVELOPE = { helo: 'x', mailFrom: '', tls: undefined, protocol: 'ESMTP' } as const
const BAD = '198.51.100.9'
const GOOD = '192.0.2.7'

/** Methods for the operator's commands. */
export function operatorContract(open: () => Promise<OpenMailStore>): void {
  let fixture: Fixture

  beforeEach(async () => {
    fixture = await openFixture(await open())
  })
  afterEach(() => fixture.close())

  const sendFrom = (clientIp: string, to: string[], subject = clientIp, bytes = 10) =>
    fixture.send(to, {
      envelope: { ...ENVELOPE, clientIp },
      head: head(subject),
      raw: new Uint8Array(bytes),
    })

  describe('live sessions', () => {
    const list = async (order: 'newest' | 'largest', limit = 10, now = at(1)) => {
      const sessions = await fixture.other.listSessions({ order, limit, now })
      return sessions.map((session) => session.address.replace(/@.*/, ''))
    }

    test('are listed newest or largest first, up to the limit', async () => {
      for (const name of ['ann', 'bob', 'cid']) await fixture.session(`${name}@box.test`)
      await sendFrom(GOOD, ['bob@box.test'], 'large', 900)
      await sendFrom(GOOD, ['ann@box.test'], 'small', 30)
      expect(await list('newest')).toStrictEqual(['cid', 'bob', 'ann'])
      expect(await list('newest', 2)).toStrictEqual(['cid', 'bob'])
      expect(await list('largest')).toStrictEqual(['bob', 'ann', 'cid'])
      expect(await list('largest', 1)).toStrictEqual(['bob'])
    })

    test('are listed in pages, also those of the same size', async () => {
      for (const name of ['ann', 'bob', 'cid', 'dan']) await fixture.session(`${name}@box.test`)
      await sendFrom(GOOD, ['bob@box.test'], 'large', 900)
      const pages = { newest: ['dan', 'cid', 'bob', 'ann'], largest: ['bob', 'dan', 'cid', 'ann'] }
      for (const [order, names] of Object.entries(pages)) {
        let before: Session | undefined
        for (const name of names) {
          const query = { order: order as keyof typeof pages, limit: 1, now: at(1), before }
          const [next] = await fixture.other.listSessions(query)
          expect(next?.address, order).toBe(`${name}@box.test`)
          before = next
        }
      }
    })

    test('are listed with their usage and key', async () => {
      await fixture.session('ann@box.test', 2 * HOUR, 'key-1')
      await sendFrom(GOOD, ['ann@box.test'], 'one', 30)
      const [ann] = await fixture.store.listSessions({ order: 'newest', limit: 1, now: at(1) })
      expect([
        ann?.address,
        ann?.createdAt,
        ann?.expiresAt,
        ann?.count,
        ann?.bytes,
        ann?.keyId,
      ]).toStrictEqual(['ann@box.test', at(0), at(2 * HOUR), 1, 30, 'key-1'])
      expect(
        await fixture.store.findSessionByAddress(address('ann@box.test'), at(1)),
      ).toStrictEqual(ann)
    })

    test('are those that have neither expired nor been ended', async () => {
      await fixture.session('over@box.test', HOUR)
      const ended = await fixture.session('ended@box.test', DAY)
      await fixture.session('live@box.test', HOUR + 1)
      await fixture.store.endSession(ended.id, at(10))
      expect(await list('newest', 10, at(HOUR))).toStrictEqual(['live'])
      expect(await list('largest', 10, at(HOUR))).toStrictEqual(['live'])
      const find = (text: string) => fixture.store.findSessionByAddress(address(text), at(HOUR))
      expect(await find('over@box.test')).toBeUndefined()
      expect(await find('ended@box.test')).toBeUndefined()
      expect(await find('nobody@box.test')).toBeUndefined()
      expect((await find('live@box.test'))?.address).toBe('live@box.test')
    })
  })

  describe('deleting several messages', () => {
    test('deletes those of this mailbox, returns the volume and frees the space', async () => {
      const ann = await fixture.session('ann@box.test')
      const bob = await fixture.session('bob@box.test')
      for (const size of [100, 20, 3]) await sendFrom(GOOD, ['ann@box.test'], `${size}`, size)
      await sendFrom(GOOD, ['bob@box.test'])
      const before = await fixture.other.findSession(ann.tokenHash)
      const [newest = 0, middle = 0, oldest = 0] = await fixture.store.listMessageIds(ann.id)
      const [bobMessageId = 0] = await fixture.store.listMessageIds(bob.id)
      // Two mailboxes may have messages with the same id.
      const foreign = [bobMessageId, 7].filter((id) => id !== middle)
      const deleted = await fixture.store.deleteMessages(ann.id, [newest, oldest, ...foreign])
      expect(deleted).toStrictEqual({ messages: 2, bytes: 103 })
      expect(await fixture.other.listMessageIds(ann.id)).toStrictEqual([middle])
      expect(await fixture.other.listMessageIds(bob.id)).toStrictEqual([bobMessageId])
      const after = await fixture.other.findSession(ann.tokenHash)
      expect([after?.count, after?.bytes]).toStrictEqual([1, 20])
      expect(before && after && after.version > before.version).toBeTruthy()
    })

    test('deletes a message named twice once, and nothing of another mailbox', async () => {
      const ann = await fixture.session('ann@box.test')
      const bob = await fixture.session('bob@box.test')
      await sendFrom(GOOD, ['ann@box.test'], 'older', 20)
      await sendFrom(GOOD, ['ann@box.test', 'bob@box.test'], 'newest', 100)
      const [newest = 0] = await fixture.store.listMessageIds(ann.id)
      const [bobMessageId = 0] = await fixture.store.listMessageIds(bob.id)
      expect(await fixture.store.deleteMessages(ann.id, [newest, newest])).toStrictEqual({
        messages: 1,
        bytes: 100,
      })
      const after = await fixture.other.findSession(ann.tokenHash)
      expect([after?.count, after?.bytes]).toStrictEqual([1, 20])
      const rawId = (await fixture.other.findMessage(bob.id, bobMessageId))?.rawId ?? 0
      expect(await fixture.other.readRaw(rawId)).toBeTruthy()
    })

    test('that do not exist changes nothing', async () => {
      const ann = await fixture.session('ann@box.test')
      await sendFrom(GOOD, ['ann@box.test'])
      const before = await fixture.other.findSession(ann.tokenHash)
      const nothing = { messages: 0, bytes: 0 }
      expect(await fixture.store.deleteMessages(ann.id, [1, 2])).toStrictEqual(nothing)
      expect(await fixture.store.deleteMessages(ann.id, [])).toStrictEqual(nothing)
      expect(await fixture.store.deleteMessages(9 as MailboxId, [1])).toStrictEqual(nothing)
      expect(await fixture.other.findSession(ann.tokenHash)).toStrictEqual(before)
    })

    test('frees the operator’s mailbox across days', async () => {
      for (const day of [0, 1, 2]) {
        await fixture.send(['abuse@box.test'], {
          raw: new Uint8Array(7),
          receivedAt: at(day * DAY),
        })
      }
      const ids = await fixture.store.listMessageIds(OPERATOR)
      expect(await fixture.store.deleteMessages(OPERATOR, ids)).toStrictEqual({
        messages: 3,
        bytes: 21,
      })
      const { count, bytes } = await fixture.other.readSharedMailbox(OPERATOR)
      expect([count, bytes]).toStrictEqual([0, 0])
    })

    test('keeps raw mail that another mailbox refers to', async () => {
      const ann = await fixture.session('ann@box.test')
      const bob = await fixture.session('bob@box.test')
      await sendFrom(GOOD, ['ann@box.test', 'bob@box.test', 'any@pool.test'])
      const rawOf = async (mailbox: MailboxId) => {
        const [id = 0] = await fixture.store.listMessageIds(mailbox)
        return (await fixture.store.findMessage(mailbox, id))?.rawId ?? 0
      }
      const [bobRawId, poolRawId] = [await rawOf(bob.id), await rawOf(POOL)]
      await fixture.store.deleteMessages(ann.id, await fixture.store.listMessageIds(ann.id))
      expect(await fixture.store.readRaw(bobRawId)).toBeTruthy()
      await fixture.store.deleteMessages(POOL, await fixture.store.listMessageIds(POOL))
      expect(await fixture.store.readRaw(bobRawId)).toBeTruthy()
      await fixture.store.deleteMessages(bob.id, await fixture.store.listMessageIds(bob.id))
      expect(await fixture.store.readRaw(bobRawId)).toBeUndefined()
      expect(await fixture.store.readRaw(poolRawId)).toBeUndefined()
    })
  })

  describe('a scan by client', () => {
    test('finds its mail in every kind of mailbox, and nothing else', async () => {
      const ann = await fixture.session('ann@box.test', HOUR)
      const late = await fixture.session('late@box.test', 40 * DAY, 'key-1')
      const unpartitioned = await fixture.session('far@box.test', 400 * DAY)
      const to = ['ann@box.test', 'late@box.test', 'far@box.test', 'any@pool.test']
      await sendFrom(BAD, [...to, 'abuse@box.test'])
      await sendFrom(GOOD, [...to, 'abuse@box.test'])
      await sendFrom('', to)
      for (const limit of [1, 3, 1_000]) {
        const { found, scanned } = await scanAll(fixture.store, BAD, limit)
        const boxes = found.map(({ mailbox }) => mailbox).sort((one, next) => one - next)
        expect(boxes).toStrictEqual([POOL, OPERATOR, ann.id, late.id, unpartitioned.id])
        expect(found.every(({ size }) => size === 10)).toBeTruthy()
        expect(scanned).toBe(14)
        expect(await fixture.store.countMail()).toBe(14)
      }
    })

    test('and deleting the matches leave lists, counters and versions correct', async () => {
      const ann = await fixture.session('ann@box.test', DAY, 'key-1')
      const scope = { keyId: 'key-1', pool: true, to: undefined, now: at(1) }
      const oneAddress = { ...scope, to: address('any@pool.test') }
      for (const ip of [BAD, GOOD, BAD]) {
        await sendFrom(ip, ['ann@box.test', 'any@pool.test', 'abuse@box.test'])
      }
      await sendFrom(BAD, ['only@pool.test'])
      const before = await fixture.other.findSession(ann.tokenHash)
      // All mails are equal, so each takes the same number of bytes.
      const { bytes: stored } = await fixture.other.readSharedMailbox(OPERATOR)
      const versions = async () => [
        await fixture.other.keyMailVersion(scope),
        await fixture.other.keyMailVersion(oneAddress),
      ]
      const [all, one] = await versions()
      const { found } = await scanAll(fixture.store, BAD, 2)
      for (const [mailbox, matches] of Map.groupBy(found, (message) => message.mailbox)) {
        const ids = matches.map(({ id }) => id)
        expect((await fixture.store.deleteMessages(mailbox, ids)).messages).toBe(ids.length)
      }
      for (const mailbox of [ann.id, POOL, OPERATOR]) {
        expect(await fixture.subjects(mailbox, fixture.other)).toStrictEqual([GOOD])
      }
      const after = await fixture.other.findSession(ann.tokenHash)
      expect([after?.count, after?.bytes]).toStrictEqual([1, 10])
      expect(before && after && after.version > before.version).toBeTruthy()
      for (const shared of [POOL, OPERATOR]) {
        const { count, bytes } = await fixture.other.readSharedMailbox(shared)
        expect([count, bytes]).toStrictEqual([1, stored / 3])
      }
      const { poolAddress } = await fixture.other.findRecipient(address('only@pool.test'))
      expect([poolAddress.count, poolAddress.bytes]).toStrictEqual([0, 0])
      const [allAfter, oneAfter] = await versions()
      expect(allAfter).not.toBe(all)
      expect(oneAfter).not.toBe(one)
      const page = { sinceId: 0, limit: 9, beforeId: undefined }
      const seen = await fixture.other.listKeyMail(scope, page)
      expect(seen.map(({ subject }) => subject)).toStrictEqual([GOOD, GOOD])
      expect((await scanAll(fixture.store, BAD, 100)).found).toStrictEqual([])
      expect(await fixture.store.countMail()).toBe(3)
    })

    test('matches in expired sessions and partitions are not subtracted twice', async () => {
      await fixture.session('ann@box.test', HOUR)
      await sendFrom(BAD, ['ann@box.test', 'any@pool.test'])
      const { found } = await scanAll(fixture.store, BAD, 100)
      expect(found.length).toBe(2)
      // First the session expires, then the pool mail; later the engine has removed both.
      for (const [now, remaining] of [
        [at(2 * HOUR), 1],
        [at(DAY + 1), 0],
        [at(3 * DAY), 0],
      ] as const) {
        await fixture.sweepAll(now)
        for (const { mailbox, id } of found) {
          if (mailbox === POOL && remaining > 0) continue
          expect((await fixture.store.deleteMessages(mailbox, [id])).messages).toBe(0)
        }
        expect(await fixture.store.countMail()).toBe(remaining)
      }
      const { count, bytes } = await fixture.store.readSharedMailbox(POOL)
      expect([count, bytes]).toStrictEqual([0, 0])
    })
  })
}

/** All pages; an unexpected number of pages is an error. */
async function scanAll(store: Store, clientIp: string, limit: number) {
  const found: FoundMessage[] = []
  let scanned = 0
  let after: ScanPosition | undefined
  for (let pages = 0; pages < 500; pages += 1) {
    const page = await store.scanMail({ clientIp, after, limit })
    found.push(...page.found)
    scanned += page.scanned
    after = page.next
    if (!after) return { found, scanned }
  }
  expect.fail('the scan does not end')
}
