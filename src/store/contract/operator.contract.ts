import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'vitest'
import type { FoundMessage, ScanPosition } from '../../mail/operator-store.ts'
import { type MailboxId, OPERATOR, POOL, type Session } from '../../mail/rules/session.ts'
import type { Store } from '../store.ts'
import {
  address,
  at,
  DAY,
  type Fixture,
  HOUR,
  head,
  type OpenMailStore,
  openFixture,
} from './fixture.ts'

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
      assert.deepEqual(await list('newest'), ['cid', 'bob', 'ann'])
      assert.deepEqual(await list('newest', 2), ['cid', 'bob'])
      assert.deepEqual(await list('largest'), ['bob', 'ann', 'cid'])
      assert.deepEqual(await list('largest', 1), ['bob'])
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
          assert.equal(next?.address, `${name}@box.test`, order)
          before = next
        }
      }
    })

    test('are listed with their usage and key', async () => {
      await fixture.session('ann@box.test', 2 * HOUR, 'key-1')
      await sendFrom(GOOD, ['ann@box.test'], 'one', 30)
      const [ann] = await fixture.store.listSessions({ order: 'newest', limit: 1, now: at(1) })
      assert.deepEqual(
        [ann?.address, ann?.createdAt, ann?.expiresAt, ann?.count, ann?.bytes, ann?.keyId],
        ['ann@box.test', at(0), at(2 * HOUR), 1, 30, 'key-1'],
      )
      assert.deepEqual(
        await fixture.store.findSessionByAddress(address('ann@box.test'), at(1)),
        ann,
      )
    })

    test('are those that have neither expired nor been ended', async () => {
      await fixture.session('over@box.test', HOUR)
      const ended = await fixture.session('ended@box.test', DAY)
      await fixture.session('live@box.test', HOUR + 1)
      await fixture.store.endSession(ended.id, at(10))
      assert.deepEqual(await list('newest', 10, at(HOUR)), ['live'])
      assert.deepEqual(await list('largest', 10, at(HOUR)), ['live'])
      const find = (text: string) => fixture.store.findSessionByAddress(address(text), at(HOUR))
      assert.equal(await find('over@box.test'), undefined)
      assert.equal(await find('ended@box.test'), undefined)
      assert.equal(await find('nobody@box.test'), undefined)
      assert.equal((await find('live@box.test'))?.address, 'live@box.test')
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
      assert.deepEqual(deleted, { messages: 2, bytes: 103 })
      assert.deepEqual(await fixture.other.listMessageIds(ann.id), [middle])
      assert.deepEqual(await fixture.other.listMessageIds(bob.id), [bobMessageId])
      const after = await fixture.other.findSession(ann.tokenHash)
      assert.deepEqual([after?.count, after?.bytes], [1, 20])
      assert.ok(before && after && after.version > before.version)
    })

    test('deletes a message named twice once, and nothing of another mailbox', async () => {
      const ann = await fixture.session('ann@box.test')
      const bob = await fixture.session('bob@box.test')
      await sendFrom(GOOD, ['ann@box.test'], 'older', 20)
      await sendFrom(GOOD, ['ann@box.test', 'bob@box.test'], 'newest', 100)
      const [newest = 0] = await fixture.store.listMessageIds(ann.id)
      const [bobMessageId = 0] = await fixture.store.listMessageIds(bob.id)
      assert.deepEqual(await fixture.store.deleteMessages(ann.id, [newest, newest]), {
        messages: 1,
        bytes: 100,
      })
      const after = await fixture.other.findSession(ann.tokenHash)
      assert.deepEqual([after?.count, after?.bytes], [1, 20])
      const rawId = (await fixture.other.findMessage(bob.id, bobMessageId))?.rawId ?? 0
      assert.ok(await fixture.other.readRaw(rawId))
    })

    test('that do not exist changes nothing', async () => {
      const ann = await fixture.session('ann@box.test')
      await sendFrom(GOOD, ['ann@box.test'])
      const before = await fixture.other.findSession(ann.tokenHash)
      const nothing = { messages: 0, bytes: 0 }
      assert.deepEqual(await fixture.store.deleteMessages(ann.id, [1, 2]), nothing)
      assert.deepEqual(await fixture.store.deleteMessages(ann.id, []), nothing)
      assert.deepEqual(await fixture.store.deleteMessages(9 as MailboxId, [1]), nothing)
      assert.deepEqual(await fixture.other.findSession(ann.tokenHash), before)
    })

    test('frees the operator’s mailbox across days', async () => {
      for (const day of [0, 1, 2]) {
        await fixture.send(['abuse@box.test'], {
          raw: new Uint8Array(7),
          receivedAt: at(day * DAY),
        })
      }
      const ids = await fixture.store.listMessageIds(OPERATOR)
      assert.deepEqual(await fixture.store.deleteMessages(OPERATOR, ids), {
        messages: 3,
        bytes: 21,
      })
      const { count, bytes } = await fixture.other.readSharedMailbox(OPERATOR)
      assert.deepEqual([count, bytes], [0, 0])
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
      assert.ok(await fixture.store.readRaw(bobRawId))
      await fixture.store.deleteMessages(POOL, await fixture.store.listMessageIds(POOL))
      assert.ok(await fixture.store.readRaw(bobRawId))
      await fixture.store.deleteMessages(bob.id, await fixture.store.listMessageIds(bob.id))
      assert.equal(await fixture.store.readRaw(bobRawId), undefined)
      assert.equal(await fixture.store.readRaw(poolRawId), undefined)
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
        assert.deepEqual(boxes, [POOL, OPERATOR, ann.id, late.id, unpartitioned.id])
        assert.ok(found.every(({ size }) => size === 10))
        assert.equal(scanned, 14)
        assert.equal(await fixture.store.countMail(), 14)
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
        assert.equal((await fixture.store.deleteMessages(mailbox, ids)).messages, ids.length)
      }
      for (const mailbox of [ann.id, POOL, OPERATOR]) {
        assert.deepEqual(await fixture.subjects(mailbox, fixture.other), [GOOD])
      }
      const after = await fixture.other.findSession(ann.tokenHash)
      assert.deepEqual([after?.count, after?.bytes], [1, 10])
      assert.ok(before && after && after.version > before.version)
      for (const shared of [POOL, OPERATOR]) {
        const { count, bytes } = await fixture.other.readSharedMailbox(shared)
        assert.deepEqual([count, bytes], [1, stored / 3])
      }
      const { poolAddress } = await fixture.other.findRecipient(address('only@pool.test'))
      assert.deepEqual([poolAddress.count, poolAddress.bytes], [0, 0])
      const [allAfter, oneAfter] = await versions()
      assert.notEqual(allAfter, all)
      assert.notEqual(oneAfter, one)
      const page = { sinceId: 0, limit: 9, beforeId: undefined }
      const seen = await fixture.other.listKeyMail(scope, page)
      assert.deepEqual(
        seen.map(({ subject }) => subject),
        [GOOD, GOOD],
      )
      assert.deepEqual((await scanAll(fixture.store, BAD, 100)).found, [])
      assert.equal(await fixture.store.countMail(), 3)
    })

    test('matches in expired sessions and partitions are not subtracted twice', async () => {
      await fixture.session('ann@box.test', HOUR)
      await sendFrom(BAD, ['ann@box.test', 'any@pool.test'])
      const { found } = await scanAll(fixture.store, BAD, 100)
      assert.equal(found.length, 2)
      // First the session expires, then the pool mail; later the engine has removed both.
      for (const [now, remaining] of [
        [at(2 * HOUR), 1],
        [at(DAY + 1), 0],
        [at(3 * DAY), 0],
      ] as const) {
        await fixture.sweepAll(now)
        for (const { mailbox, id } of found) {
          if (mailbox === POOL && remaining > 0) continue
          assert.equal((await fixture.store.deleteMessages(mailbox, [id])).messages, 0)
        }
        assert.equal(await fixture.store.countMail(), remaining)
      }
      const { count, bytes } = await fixture.store.readSharedMailbox(POOL)
      assert.deepEqual([count, bytes], [0, 0])
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
  assert.fail('the scan does not end')
}
