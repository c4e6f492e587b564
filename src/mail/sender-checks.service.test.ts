import { afterEach, beforeEach, expect, test } from 'vitest'
import { openSqliteTestMail } from '../../test/kit/store/stores.ts'
import { parseAddress, parseHost } from '../base/address.ts'
import type { SenderCheckInput, SenderChecks } from '../shared/mail.ts'
import type { Store } from '../store/store.ts'
import { type LargeReads, openLargeReads } from './read/large-reads.ts'
import type { Message } from './rules/message.ts'
import { OPERATOR } from './rules/session.ts'
import { openSenderChecks } from './sender-checks.ts'

const PASSES: SenderChecks = { spf: 'pass', dkim: 'pass', dmarc: 'pass' }
const TEMPERROR: SenderChecks = { spf: 'temperror', dkim: 'none', dmarc: 'temperror' }
const RAW = 'From: ann@sender.test\r\n\r\nPrivate words.\r\n'

let store: Store
let close: () => Promise<void>
let now: Date
let inputs: SenderCheckInput[]
let logged: string[]
let rawReads: number
let largeReads: LargeReads
beforeEach(async () => {
  const scratch = await openSqliteTestMail()
  store = scratch.store
  close = scratch.close
  now = new Date()
  inputs = []
  logged = []
  rawReads = 0
  largeReads = openLargeReads()
  const name = parseHost('box.test')
  expect.assert(name)
  await store.addDomain({ name, sessions: true, reader: false, ttlSeconds: undefined })
})
afterEach(() => close())

async function storedMail(clientIp = '192.0.2.1'): Promise<Message> {
  const address = parseAddress('abuse@box.test')
  expect.assert(address)
  await store.addMail({
    recipients: [{ address, mailbox: OPERATOR }],
    envelope: { clientIp, helo: 'h.test', mailFrom: 'a@b.test', tls: undefined, protocol: 'SMTP' },
    head: { senderName: '', senderEmail: 'ann@sender.test', subject: '' },
    raw: Buffer.from(RAW),
    receivedAt: now,
  })
  const [id] = await store.listMessageIds(OPERATOR)
  const message = await store.findMessage(OPERATOR, id ?? 0)
  expect.assert(message)
  return message
}

const openChecks = (result: () => SenderChecks | undefined | Promise<undefined>) =>
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
      inputs.push(facts)
      return await result()
    },
    now: () => now,
    log: { error: (_facts, sentence) => logged.push(sentence) },
  })

test('a mail is checked with its envelope, its bytes and the sender that is displayed', async () => {
  const message = await storedMail()
  expect(await openChecks(() => PASSES)(message)).toStrictEqual(PASSES)
  const { raw, receivedAt, ...facts } = inputs[0] ?? expect.fail()
  expect(facts).toStrictEqual({
    clientIp: '192.0.2.1',
    helo: 'h.test',
    mailFrom: 'a@b.test',
    shown: 'ann@sender.test',
  })
  expect(Buffer.from(raw).toString()).toBe(RAW)
  expect(receivedAt.getTime()).toBe(now.getTime())
})

test('a mail requested concurrently is checked once, and never again', async () => {
  const message = await storedMail()
  const find = openChecks(() => PASSES)
  const all = await Promise.all(Array.from({ length: 10 }, () => find(message)))
  for (const one of all) expect(one).toStrictEqual(PASSES)
  expect(await openChecks(() => TEMPERROR)(message), 'also by another thread').toStrictEqual(PASSES)
  expect(inputs.length).toBe(1)
})

test('a temporary DNS error is returned, not stored, and retried after a minute', async () => {
  const message = await storedMail()
  let result = TEMPERROR
  const find = openChecks(() => result)
  for (let attempt = 0; attempt < 3; attempt += 1)
    expect(await find(message)).toStrictEqual(TEMPERROR)
  expect(inputs.length).toBe(1)
  expect(await store.readSenderChecks(message.rawId)).toBeUndefined()
  result = PASSES
  now = new Date(now.getTime() + 61_000)
  expect(await find(message)).toStrictEqual(PASSES)
  expect(await store.readSenderChecks(message.rawId)).toStrictEqual(PASSES)
  expect(inputs.length).toBe(2)
})

test('a check refused for lack of capacity is retried when requested a few seconds later', async () => {
  const message = await storedMail()
  let result: SenderChecks | undefined
  const find = openChecks(() => result)
  for (let attempt = 0; attempt < 3; attempt += 1) expect(await find(message)).toBeUndefined()
  expect(rawReads, 'the mail is not read again each time').toBe(1)
  result = PASSES
  now = new Date(now.getTime() + 6_000)
  expect(await find(message)).toStrictEqual(PASSES)
})

test('a background check refused for lack of capacity does not delay a foreground check', async () => {
  const message = await storedMail()
  let result: SenderChecks | undefined
  const find = openChecks(() => result)
  expect(await find(message, 'background')).toBeUndefined()
  result = PASSES
  expect(await find(message, 'background')).toBeUndefined()
  expect(await find(message)).toStrictEqual(PASSES)
})

test('a mail is not read while too many checks are running', async () => {
  const message = await storedMail()
  const pending = Promise.withResolvers<undefined>()
  const find = openChecks(() => pending.promise)
  const all = Array.from({ length: 30 }, (_, at) =>
    find({ ...message, rawId: message.rawId + at, size: 0 }, 'background'),
  )
  expect(await all[29]).toBeUndefined()
  pending.resolve(undefined)
  await Promise.all(all)
  expect(rawReads).toBe(20)
})

test('a large mail waits in the background for its turn to be read', async () => {
  const message = { ...(await storedMail()), size: 10_000_000 }
  const reading = Promise.withResolvers<void>()
  const reader = { client: undefined, mailbox: 'other@box.test', size: message.size }
  const other = largeReads.run('other', reader, () => reading.promise)
  const found = openChecks(() => PASSES)(message)
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
  expect(rawReads).toBe(0)
  reading.resolve()
  await other
  expect(await found).toStrictEqual(PASSES)
})

test('neither fetched mail nor deleted mail is checked', async () => {
  const message = await storedMail('')
  const find = openChecks(() => PASSES)
  expect(await find(message)).toBeUndefined()
  expect(await find({ ...message, rawId: message.rawId + 1 })).toBeUndefined()
  expect(inputs.length).toBe(0)
})

test('an unexpected error is logged and yields no result', async () => {
  const message = await storedMail()
  const find = openChecks(() => {
    throw new Error('no way to the main thread')
  })
  expect(await find(message)).toBeUndefined()
  expect(logged).toStrictEqual(['sender check failed'])
})
