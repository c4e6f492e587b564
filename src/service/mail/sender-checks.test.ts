import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { openSqliteTestMail } from '../../../test/support/stores.ts'
import { parseAddress, parseHost } from '../../core/address.ts'
import type { Message, SenderCheckInput, SenderChecks } from '../../core/message.ts'
import { OPERATOR } from '../../core/session.ts'
import type { MailStore } from '../../store/store.ts'
import { type LargeReads, openLargeReads } from './large-reads.ts'
import { openSenderChecks } from './sender-checks.ts'

const PASSES: SenderChecks = { spf: 'pass', dkim: 'pass', dmarc: 'pass' }
const OPEN: SenderChecks = { spf: 'temperror', dkim: 'none', dmarc: 'temperror' }
const RAW = 'From: ann@sender.test\r\n\r\nPrivate words.\r\n'

let store: MailStore
let close: () => Promise<void>
let now: Date
let asked: SenderCheckInput[]
let lines: string[]
let rawReads: number
let largeReads: LargeReads
beforeEach(async () => {
  const scratch = await openSqliteTestMail()
  store = scratch.store
  close = scratch.close
  now = new Date()
  asked = []
  lines = []
  rawReads = 0
  largeReads = openLargeReads()
  const name = parseHost('box.test')
  assert.ok(name)
  await store.addDomain({ name, sessions: true, reader: false, ttlSeconds: undefined })
})
afterEach(() => close())

async function keptMail(clientIp = '192.0.2.1'): Promise<Message> {
  const address = parseAddress('abuse@box.test')
  assert.ok(address)
  await store.addMail({
    recipients: [{ address, mailbox: OPERATOR }],
    envelope: { clientIp, helo: 'h.test', mailFrom: 'a@b.test', tls: undefined, protocol: 'SMTP' },
    head: { senderName: '', senderEmail: 'ann@sender.test', subject: '' },
    raw: Buffer.from(RAW),
    receivedAt: now,
  })
  const [id] = await store.listMessageIds(OPERATOR)
  const message = await store.findMessage(OPERATOR, id ?? 0)
  assert.ok(message)
  return message
}

const checked = (answer: () => SenderChecks | undefined | Promise<undefined>) =>
  openSenderChecks({
    store: {
      ...store,
      readRaw(rawId) {
        rawReads += 1
        return store.readRaw(rawId)
      },
    },
    largeReads,
    check: async (facts) => {
      asked.push(facts)
      return await answer()
    },
    now: () => now,
    log: { error: (_facts, sentence) => lines.push(sentence) },
  })

test('a mail is checked from all that is known of how it came, and against whom readers see', async () => {
  const message = await keptMail()
  assert.deepEqual(await checked(() => PASSES)(message), PASSES)
  const { raw, receivedAt, ...facts } = asked[0] ?? assert.fail()
  assert.deepEqual(facts, {
    clientIp: '192.0.2.1',
    helo: 'h.test',
    mailFrom: 'a@b.test',
    shown: 'ann@sender.test',
  })
  assert.equal(Buffer.from(raw).toString(), RAW)
  assert.equal(receivedAt.getTime(), now.getTime())
})

test('a mail that many ask for at once is checked once, and never again', async () => {
  const message = await keptMail()
  const find = checked(() => PASSES)
  const all = await Promise.all(Array.from({ length: 10 }, () => find(message)))
  for (const one of all) assert.deepEqual(one, PASSES)
  assert.deepEqual(await checked(() => OPEN)(message), PASSES, 'also by another thread')
  assert.equal(asked.length, 1)
})

test('what the DNS did not answer is told, not kept, and asked again after a minute', async () => {
  const message = await keptMail()
  let answer = OPEN
  const find = checked(() => answer)
  for (let at = 0; at < 3; at += 1) assert.deepEqual(await find(message), OPEN)
  assert.equal(asked.length, 1)
  assert.equal(await store.readSenderChecks(message.rawId), undefined)
  answer = PASSES
  now = new Date(now.getTime() + 61_000)
  assert.deepEqual(await find(message), PASSES)
  assert.deepEqual(await store.readSenderChecks(message.rawId), PASSES)
  assert.equal(asked.length, 2)
})

test('a mail for which there was no room is checked when it is asked for some seconds later', async () => {
  const message = await keptMail()
  let answer: SenderChecks | undefined
  const find = checked(() => answer)
  for (let at = 0; at < 3; at += 1) assert.equal(await find(message), undefined)
  assert.equal(rawReads, 1, 'the mail is not read again each time')
  answer = PASSES
  now = new Date(now.getTime() + 6_000)
  assert.deepEqual(await find(message), PASSES)
})

test('a mail for which there was no room in the background is checked for a reader at once', async () => {
  const message = await keptMail()
  let answer: SenderChecks | undefined
  const find = checked(() => answer)
  assert.equal(await find(message, 'later'), undefined)
  answer = PASSES
  assert.equal(await find(message, 'later'), undefined)
  assert.deepEqual(await find(message), PASSES)
})

test('a mail is not read while too many are being checked', async () => {
  const message = await keptMail()
  const pending = Promise.withResolvers<undefined>()
  const find = checked(() => pending.promise)
  const all = Array.from({ length: 30 }, (_, at) =>
    find({ ...message, rawId: message.rawId + at, size: 0 }, 'later'),
  )
  assert.equal(await all[29], undefined)
  pending.resolve(undefined)
  await Promise.all(all)
  assert.equal(rawReads, 20)
})

test('a large mail waits for its turn to be read, in the background', async () => {
  const message = { ...(await keptMail()), size: 10_000_000 }
  const reading = Promise.withResolvers<void>()
  const reader = { client: undefined, mailbox: 'other@box.test', size: message.size }
  const other = largeReads.run('other', reader, () => reading.promise)
  const found = checked(() => PASSES)(message)
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
  assert.equal(rawReads, 0)
  reading.resolve()
  await other
  assert.deepEqual(await found, PASSES)
})

test('fetched mail is not checked, nor is mail that is gone', async () => {
  const message = await keptMail('')
  const find = checked(() => PASSES)
  assert.equal(await find(message), undefined)
  assert.equal(await find({ ...message, rawId: message.rawId + 1 }), undefined)
  assert.equal(asked.length, 0)
})

test('a fault keeps nobody from the mail, and is told', async () => {
  const message = await keptMail()
  const find = checked(() => {
    throw new Error('no way to the main thread')
  })
  assert.equal(await find(message), undefined)
  assert.deepEqual(lines, ['sender check failed'])
})
