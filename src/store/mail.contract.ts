import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { type Address, parseAddress, parseHost } from '../core/address.ts'
import type { MailboxId, Session } from '../core/session.ts'
import { OPERATOR, POOL } from '../core/session.ts'
import type { Kept, MailStore, NewMail } from './store.ts'

// Opened with room for 5 messages and 10,000 bytes a mailbox, and 20,000 bytes in the pool.
export interface OpenMailStore {
  store: MailStore
  /** The same store as another thread or node sees it. */
  other: MailStore
  close(): Promise<void>
}

const START = new Date('2026-03-01T12:00:00Z')
const HOUR = 3_600_000
const DAY = 24 * HOUR
const COOLDOWN = 30 * DAY
const at = (ms: number) => new Date(START.getTime() + ms)

/** What every engine that keeps mail must do. */
export function mailStoreContract(open: () => Promise<OpenMailStore>): void {
  let opened: OpenMailStore
  let store: MailStore
  let tokens = 0

  beforeEach(async () => {
    opened = await open()
    store = opened.store
    const box = { sessions: true, ttlSeconds: undefined }
    await store.addDomain({ name: host('box.test'), reader: false, ...box })
    await store.addDomain({ name: host('pool.test'), reader: true, ...box })
  })
  afterEach(() => opened.close())

  async function session(
    text: string,
    createdAt = START,
    lifeMs = HOUR,
  ): Promise<Session & { tokenHash: string }> {
    tokens += 1
    const tokenHash = `hash-${tokens}`
    const made = await store.createSession(newSession(text, { tokenHash, createdAt, lifeMs }))
    assert.ok(made, `${text} is free`)
    return { ...made, tokenHash }
  }

  const take = (text: string, tokenHash: string, createdAt = START) =>
    store.createSession(newSession(text, { tokenHash, createdAt, lifeMs: HOUR }))
  const send = (to: string[], more: Partial<NewMail> = {}) => store.addMail(newMail(to, more))
  const subjects = async (mailbox: MailboxId, from = store) =>
    (await from.listMessages(mailbox, { sinceId: 0, limit: 100 })).map((message) => message.subject)
  const due = (now: Date) => ({ now, cooldownMs: COOLDOWN, poolMs: DAY, operatorMs: 30 * DAY })
  const sweepAll = async (now: Date) => {
    while (await store.sweep(due(now)));
  }

  describe('mail domains', () => {
    test('a name is added once', async () => {
      const again = { name: host('box.test'), sessions: true, reader: true, ttlSeconds: 60 }
      assert.equal(await store.addDomain(again), undefined)
      assert.equal((await store.findDomain(host('box.test')))?.reader, false)
    })

    test('a removed name comes back under its old id, and a new one never gets it', async () => {
      const before = await store.findDomain(host('box.test'))
      await store.changeDomain(host('box.test'), { removed: true })
      const fresh = { sessions: true, reader: true, ttlSeconds: 600 }
      const added = await store.addDomain({ name: host('new.test'), ...fresh })
      const back = await store.addDomain({ name: host('box.test'), ...fresh })
      assert.equal(back?.id, before?.id)
      assert.deepEqual([back?.removed, back?.ttlSeconds], [false, 600])
      assert.notEqual(added?.id, before?.id)
    })

    test('a change reaches other readers and touches nothing else', async () => {
      await store.changeDomain(host('box.test'), { active: false })
      const [first] = await opened.other.listDomains()
      assert.deepEqual([first?.name, first?.active, first?.removed], ['box.test', false, false])
      assert.equal(await store.changeDomain(host('no.test'), { active: true }), undefined)
    })
  })

  describe('sessions', () => {
    test('a session made here is found elsewhere at once', async () => {
      const made = await session('ann@box.test')
      const { tokenHash, ...expected } = made
      assert.deepEqual(await opened.other.findSession(tokenHash), expected)
    })

    test('of 200 who ask for one address at once, one gets it', async () => {
      const asked = Array.from({ length: 200 }, (_, index) =>
        (index % 2 === 0 ? store : opened.other).createSession(
          newSession('race@box.test', {
            tokenHash: `racer-${index}`,
            createdAt: START,
            lifeMs: HOUR,
          }),
        ),
      )
      assert.equal((await Promise.all(asked)).filter((won) => won !== undefined).length, 1)
    })

    test('an address is taken while its session lives and while it cools down, not a moment longer', async () => {
      await session('ann@box.test')
      assert.equal(await take('ann@box.test', 'b'), undefined)
      assert.equal(await take('ann@box.test', 'b', at(HOUR)), undefined)
      assert.equal(await take('ann@box.test', 'b', at(HOUR + COOLDOWN - 1)), undefined)
      assert.ok(await take('ann@box.test', 'b', at(HOUR + COOLDOWN)))
    })

    test('who takes an address after its cool-down sees nothing of the former owner, swept or not', async () => {
      const former = await session('ann@box.test')
      await send(['ann@box.test'], { head: head('secret of the former owner') })
      const next = await take('ann@box.test', 'next', at(HOUR + COOLDOWN))
      assert.ok(next)
      assert.notEqual(next.id, former.id)
      assert.deepEqual([next.count, next.bytes, await subjects(next.id)], [0, 0, []])
      assert.equal(await store.findSession(former.tokenHash), undefined)
    })

    test('extending moves the end and the version, for other readers too', async () => {
      const { id, tokenHash, version } = await session('ann@box.test')
      await opened.other.findSession(tokenHash)
      const extended = await store.extendSession(id, at(2 * HOUR), at(HOUR - 1))
      assert.deepEqual(extended, await opened.other.findSession(tokenHash))
      assert.deepEqual(extended?.expiresAt, at(2 * HOUR))
      assert.ok(extended && extended.version > version)
    })

    test('a session that is over is not extended', async () => {
      const { id } = await session('ann@box.test')
      assert.equal(await store.extendSession(id, at(2 * HOUR), at(HOUR)), undefined)
    })

    test('an ended session is forgotten by its token, and its address cools down', async () => {
      const { id, tokenHash } = await session('ann@box.test')
      await opened.other.findSession(tokenHash)
      assert.equal(await store.endSession(id, at(1000)), true)
      assert.equal(await opened.other.findSession(tokenHash), undefined)
      assert.equal(await store.endSession(id, at(1000)), false)
      assert.equal(await take('ann@box.test', 'b', at(COOLDOWN)), undefined)
      assert.ok(await take('ann@box.test', 'b', at(1000 + COOLDOWN)))
    })
  })

  describe('revival', () => {
    const revive = (mailbox: MailboxId, now: Date) =>
      store.reviveSession({
        mailbox,
        now,
        expiresAt: new Date(now.getTime() + HOUR),
        cooldownMs: COOLDOWN,
      })

    test('a cooling session comes back empty under its token, though its old mail is not yet swept', async () => {
      const former = await session('ann@box.test')
      await send(['ann@box.test'])
      const revived = await revive(former.id, at(2 * HOUR))
      assert.ok(revived)
      assert.notEqual(revived.id, former.id)
      assert.deepEqual([revived.count, await subjects(revived.id)], [0, []])
      assert.deepEqual(await opened.other.findSession(former.tokenHash), revived)
      await send(['ann@box.test'], { head: head('new'), receivedAt: at(2 * HOUR + 1) })
      await sweepAll(at(2 * HOUR + 2))
      assert.deepEqual(await subjects(revived.id), ['new'])
      assert.deepEqual(await subjects(former.id), [])
    })

    test('only what cools down is revived', async () => {
      const live = await session('ann@box.test')
      const ended = await session('bob@box.test')
      await store.endSession(ended.id, at(1))
      assert.equal(await revive(live.id, at(HOUR - 1)), undefined, 'live')
      assert.equal(await revive(live.id, at(HOUR + COOLDOWN)), undefined, 'over')
      assert.equal(await revive(ended.id, at(2)), undefined, 'ended by its owner')
    })

    test('of many revivals at once, one is done', async () => {
      const { id } = await session('ann@box.test')
      const done = await Promise.all(Array.from({ length: 20 }, () => revive(id, at(HOUR))))
      assert.equal(done.filter((revived) => revived !== undefined).length, 1)
    })
  })

  describe('mail', () => {
    test('what was added is seen by every reader that asks afterwards', async () => {
      const ann = await session('ann@box.test')
      await opened.other.findSession(ann.tokenHash)
      for (const subject of ['one', 'two', 'three']) {
        assert.deepEqual(await send(['ann@box.test'], { head: head(subject) }), {
          outcome: 'kept',
          mailboxes: [ann.id],
        } satisfies Kept)
        assert.equal((await subjects(ann.id, opened.other))[0], subject)
      }
      const seen = await opened.other.findSession(ann.tokenHash)
      assert.deepEqual([seen?.count, seen?.version], [3, ann.version + 3])
    })

    test('the bytes come back exactly as they came, with the way they came', async () => {
      const { id } = await session('ann@box.test')
      for (const raw of [
        new Uint8Array(0),
        Uint8Array.from({ length: 2000 }, (_, n) => (n * 7) % 256),
      ]) {
        const mail = newMail(['ann@box.test'], { raw: raw.slice() })
        await store.addMail(mail)
        const [newest] = await store.listMessages(id, { sinceId: 0, limit: 1 })
        const message = await store.findMessage(id, newest?.id ?? 0)
        const kept = await store.readRaw(message?.rawId ?? 0)
        assert.deepEqual(
          { ...kept, bytes: new Uint8Array(kept?.bytes ?? []) },
          {
            ...mail.envelope,
            receivedAt: START,
            bytes: raw,
          },
        )
        assert.deepEqual([message?.size, message?.recipient], [raw.length, 'ann@box.test'])
      }
    })

    test('ids rise in the order of commit, also when the clock steps back', async () => {
      const { id } = await session('ann@box.test')
      const sent = [0, -DAY, 5, -HOUR].map((ms, index) =>
        send(['ann@box.test'], { head: head(String(index)), receivedAt: at(ms) }),
      )
      await Promise.all(sent)
      const list = await store.listMessages(id, { sinceId: 0, limit: 100 })
      assert.deepEqual(
        list.map((message) => message.subject),
        ['3', '2', '1', '0'],
      )
      assert.ok(list.every((message) => Number.isSafeInteger(message.id)))
      assert.deepEqual(
        await store.listMessageIds(id),
        list.map((message) => message.id),
      )
    })

    test('a page starts after sinceId and ends at the limit', async () => {
      const { id } = await session('ann@box.test')
      for (const subject of ['1', '2', '3', '4'])
        await send(['ann@box.test'], { head: head(subject) })
      const ids = await store.listMessageIds(id)
      const page = await store.listMessages(id, { sinceId: ids[3] ?? 0, limit: 2 })
      assert.deepEqual(
        page.map((message) => message.subject),
        ['4', '3'],
      )
    })

    test('a mail for several goes to each, and its bytes stay until the last has let it go', async () => {
      const [ann, bob] = [await session('ann@box.test'), await session('bob@box.test')]
      await send(['ann@box.test', 'bob@box.test'])
      const [annsId = 0] = await store.listMessageIds(ann.id)
      const [bobsId = 0] = await store.listMessageIds(bob.id)
      const rawId = (await store.findMessage(bob.id, bobsId))?.rawId ?? 0
      assert.equal(await store.deleteMessage(ann.id, annsId), true)
      assert.ok(await store.readRaw(rawId))
      assert.equal(await store.deleteMessage(bob.id, bobsId), true)
      assert.equal(await store.readRaw(rawId), undefined)
    })

    test('a session cannot read or delete the mail of another', async () => {
      const [ann, bob] = [await session('ann@box.test'), await session('bob@box.test')]
      await send(['bob@box.test'])
      const [bobsId = 0] = await store.listMessageIds(bob.id)
      assert.equal(await store.findMessage(ann.id, bobsId), undefined)
      assert.equal(await store.deleteMessage(ann.id, bobsId), false)
      assert.equal((await store.listMessageIds(bob.id)).length, 1)
    })

    test('deleting gives room back and moves the version', async () => {
      const ann = await session('ann@box.test')
      await send(['ann@box.test'])
      const before = await opened.other.findSession(ann.tokenHash)
      const [id = 0] = await store.listMessageIds(ann.id)
      await store.deleteMessage(ann.id, id)
      const after = await opened.other.findSession(ann.tokenHash)
      assert.deepEqual([after?.count, after?.bytes], [0, 0])
      assert.ok(after && before && after.version > before.version)
      assert.equal(await store.deleteMessage(ann.id, id), false)
    })

    test('a parse is kept with the mail and goes with it', async () => {
      const { id } = await session('ann@box.test')
      await send(['ann@box.test'])
      const [messageId = 0] = await store.listMessageIds(id)
      const rawId = (await store.findMessage(id, messageId))?.rawId ?? 0
      assert.equal(await store.readParsed(rawId), undefined)
      await store.keepParsed(rawId, PARSED)
      assert.deepEqual(await opened.other.readParsed(rawId), PARSED)
      await store.deleteMessage(id, messageId)
      assert.equal(await store.readParsed(rawId), undefined)
      await store.keepParsed(rawId, PARSED)
      assert.equal(await store.readParsed(rawId), undefined, 'a late parse is not kept')
    })
  })

  describe('recipients are decided again inside the commit', () => {
    test('those who went away meanwhile get nothing, the others all', async () => {
      const [ann, bob] = [
        await session('ann@box.test'),
        await session('bob@box.test', START, 2 * HOUR),
      ]
      const kept = await send(['ann@box.test', 'bob@box.test'], { receivedAt: at(HOUR) })
      assert.deepEqual(kept, { outcome: 'kept', mailboxes: [bob.id] })
      assert.deepEqual(await store.listMessageIds(ann.id), [])
    })

    test('with none left nothing is kept', async () => {
      await session('ann@box.test')
      const late = await send(['ann@box.test', 'nobody@box.test'], { receivedAt: at(HOUR) })
      assert.deepEqual(late, { outcome: 'nobody' })
    })

    test('one full mailbox refuses the whole mail: each recipient was promised a place', async () => {
      const bob = await session('bob@box.test')
      await session('ann@box.test')
      for (let sent = 0; sent < 5; sent += 1) await send(['ann@box.test'])
      assert.deepEqual(await send(['bob@box.test', 'ann@box.test']), { outcome: 'full' })
      assert.deepEqual(await store.listMessageIds(bob.id), [])
    })

    test('a mailbox is full by bytes to the very byte', async () => {
      await session('ann@box.test')
      assert.equal((await send(['ann@box.test'], { raw: new Uint8Array(9_999) })).outcome, 'kept')
      assert.equal((await send(['ann@box.test'], { raw: new Uint8Array(2) })).outcome, 'full')
      assert.equal((await send(['ann@box.test'], { raw: new Uint8Array(1) })).outcome, 'kept')
    })
  })

  describe('the pool and the operator', () => {
    test('mail for an address nobody ever held goes to the pool at a reader domain, else to nobody', async () => {
      assert.deepEqual(await send(['any@pool.test']), { outcome: 'kept', mailboxes: [POOL] })
      assert.deepEqual(await send(['any@box.test']), { outcome: 'nobody' })
      assert.equal((await store.readShared(POOL)).count, 1)
    })

    test('an address that ever belonged to a session never falls into the pool', async () => {
      const { id } = await session('ann@pool.test')
      await store.endSession(id, at(1))
      const late = (ms: number) => send(['ann@pool.test'], { receivedAt: at(ms) })
      assert.deepEqual(await late(2), { outcome: 'nobody' })
      await sweepAll(at(COOLDOWN + DAY))
      assert.deepEqual(await late(COOLDOWN + DAY), { outcome: 'nobody' })
      assert.equal((await store.findRecipient(address('ann@pool.test'))).everHeld, true)
    })

    test('a pool address and the pool as a whole have their limits, and removal gives room back', async () => {
      for (let sent = 0; sent < 5; sent += 1) await send(['any@pool.test'])
      assert.deepEqual(await send(['any@pool.test']), { outcome: 'full' })
      for (const name of ['a', 'b'])
        await send([`${name}@pool.test`], { raw: new Uint8Array(9_900) })
      assert.deepEqual(await send(['c@pool.test'], { raw: new Uint8Array(9_900) }), {
        outcome: 'full',
      })
      const [first = 0] = (await store.listMessageIds(POOL)).slice(-1)
      await store.deleteMessage(POOL, first)
      assert.equal((await send(['any@pool.test'])).outcome, 'kept')
    })

    test('postmaster and abuse are kept for the operator, at every domain of ours', async () => {
      const both = await send(['postmaster@box.test', 'abuse@pool.test'])
      assert.deepEqual(both, { outcome: 'kept', mailboxes: [OPERATOR, OPERATOR] })
      assert.equal((await store.listMessageIds(OPERATOR)).length, 2)
    })
  })

  describe('the sweep', () => {
    test('takes the mail of ended sessions and leaves the living alone', async () => {
      const [over, live] = [
        await session('a@box.test'),
        await session('b@box.test', START, 3 * HOUR),
      ]
      await send(['a@box.test', 'b@box.test'])
      await send(['a@box.test'], { head: head('only a') })
      const rawIds = await Promise.all(
        (await store.listMessageIds(over.id)).map(
          async (id) => (await store.findMessage(over.id, id))?.rawId ?? 0,
        ),
      )
      await sweepAll(at(HOUR - 1))
      assert.equal((await store.listMessageIds(over.id)).length, 2)
      await sweepAll(at(HOUR))
      assert.deepEqual(await store.listMessageIds(over.id), [])
      assert.equal((await store.listMessageIds(live.id)).length, 1)
      const left = await Promise.all(rawIds.map((rawId) => store.readRaw(rawId)))
      assert.deepEqual(
        left.map((raw) => raw !== undefined),
        [false, true],
      )
    })

    test('keeps a cooling session known until its cool-down is over', async () => {
      const { tokenHash } = await session('ann@box.test')
      await sweepAll(at(HOUR + COOLDOWN - 1))
      assert.ok(await store.findSession(tokenHash))
      await sweepAll(at(HOUR + COOLDOWN))
      assert.equal(await opened.other.findSession(tokenHash), undefined)
    })

    test('takes pool mail after its time, and the operator’s after his', async () => {
      await send(['any@pool.test', 'abuse@pool.test'])
      await sweepAll(at(DAY - 1))
      assert.equal((await store.readShared(POOL)).count, 1)
      await sweepAll(at(DAY))
      assert.deepEqual(
        [(await store.readShared(POOL)).bytes, await store.listMessageIds(POOL)],
        [0, []],
      )
      assert.equal((await store.listMessageIds(OPERATOR)).length, 1)
      await sweepAll(at(30 * DAY))
      assert.deepEqual(await store.listMessageIds(OPERATOR), [])
    })

    test('says that there is more while there is', async () => {
      for (let made = 0; made < 250; made += 1) await session(`s${made}@box.test`)
      assert.equal(await store.sweep(due(at(HOUR))), true)
      assert.equal(await store.sweep(due(at(HOUR))), false)
    })
  })
}

const PARSED = {
  from: [{ name: 'Ann', address: 'ann@sender.test' }],
  to: [],
  cc: [],
  replyTo: [],
  messageId: null,
  date: null,
  text: 'hello\n',
  html: null,
  headers: [{ name: '__proto__', value: 'x' }],
  attachments: [],
}

function newSession(
  text: string,
  { tokenHash, createdAt, lifeMs }: { tokenHash: string; createdAt: Date; lifeMs: number },
) {
  const expiresAt = new Date(createdAt.getTime() + lifeMs)
  return {
    address: address(text),
    tokenHash,
    keyId: undefined,
    createdAt,
    expiresAt,
    cooldownMs: COOLDOWN,
  }
}

function newMail(to: string[], more: Partial<NewMail> = {}): NewMail {
  return {
    recipients: to.map(address),
    envelope: {
      clientIp: '192.0.2.7',
      helo: 'sender.test',
      mailFrom: 'ann@sender.test',
      tls: undefined,
      protocol: 'ESMTP',
    },
    head: head('hello'),
    raw: new Uint8Array([1, 2, 3]),
    receivedAt: START,
    ...more,
  }
}

function head(subject: string) {
  return { senderName: 'Ann', senderEmail: 'ann@sender.test', subject }
}

function address(text: string): Address {
  const parsed = parseAddress(text)
  assert.ok(parsed)
  return parsed
}

function host(text: string) {
  const parsed = parseHost(text)
  assert.ok(parsed)
  return parsed
}
