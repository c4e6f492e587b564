import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { inlineParser } from '../../../test/support/inline-parser.ts'
import { openSqliteTestMail } from '../../../test/support/stores.ts'
import { parseAddress, parseHost } from '../../core/address.ts'
import { EMPTY_MAIL, type Mail } from '../../core/message.ts'
import { Problem } from '../../core/problem.ts'
import { OPERATOR } from '../../core/session.ts'
import type { MailStore } from '../../store/store.ts'
import { openLargeReads } from './large-reads.ts'
import { openParseOnce } from './parse-once.ts'
import { openParsedReader } from './parsed-mail.ts'

let store: MailStore
let close: () => Promise<void>
let rawId: number
beforeEach(async () => {
  const scratch = await openSqliteTestMail()
  store = scratch.store
  close = scratch.close
  const [name, recipient] = [parseHost('box.test'), parseAddress('abuse@box.test')]
  assert.ok(name && recipient)
  await store.addDomain({ name, sessions: true, reader: false, ttlSeconds: undefined })
  await store.addMail({
    recipients: [{ address: recipient, mailbox: OPERATOR }],
    envelope: { clientIp: '192.0.2.1', helo: 'x', mailFrom: '', tls: undefined, protocol: 'SMTP' },
    head: { senderName: '', senderEmail: '', subject: '' },
    raw: Buffer.from('Subject: x\r\n\r\nhi\r\n'),
    receivedAt: new Date(),
  })
  const [id] = await store.listMessageIds(OPERATOR)
  rawId = (await store.findMessage(OPERATOR, id ?? 0))?.rawId ?? 0
})
afterEach(() => close())

const largeReads = openLargeReads()
const mail = { ...EMPTY_MAIL, text: 'hi' }
const READER = { client: '192.0.2.1', mailbox: 'abuse@box.test', size: 18 }
const LOOKUP = { ...READER, background: true }
const parsing = (parse: (raw: Uint8Array) => Promise<Mail>, trouble: Partial<MailStore> = {}) =>
  openParseOnce({ store: { ...store, ...trouble }, parser: inlineParser(parse) })

test('a mail that many ask for at once is parsed once, and never again', async () => {
  let parses = 0
  const parse = async (raw: Uint8Array) => {
    parses += 1
    assert.equal(Buffer.from(raw).toString(), 'Subject: x\r\n\r\nhi\r\n')
    return mail
  }
  const parsed = parsing(parse)
  const all = await Promise.all(Array.from({ length: 10 }, () => parsed(rawId, READER)))
  for (const one of all) assert.deepEqual(one, mail)
  assert.deepEqual(await parsing(parse)(rawId, READER), mail, 'also by another process')
  assert.equal(parses, 1)
})

test('a parse that failed is tried again by the next who asks', async () => {
  let parses = 0
  const parsed = parsing(async () => {
    parses += 1
    if (parses === 1) throw new Error('the child died')
    return mail
  })
  await assert.rejects(parsed(rawId, READER), /the child died/)
  assert.deepEqual(await parsed(rawId, READER), mail)
})

test('a mail that is gone has no parse', async () => {
  const parse = () => Promise.reject(new Error('nothing to parse'))
  assert.equal(await parsing(parse)(rawId + 1, READER), undefined)
})

test('a mail with a long text is left in the store, and read there by each who asked', async () => {
  const long = { ...mail, text: 'x'.repeat(256 * 1024 + 1) }
  const parse = parsing(async () => long)
  assert.equal(await parse(rawId, READER), 'stored')
  assert.deepEqual(await openParsedReader({ store, largeReads, parse })(rawId, READER), long)
})

test('a large mail with a short text is given to each who asked', async () => {
  const raw = await store.readRaw(rawId)
  assert.ok(raw)
  const readRaw = async () => ({ ...raw, bytes: Buffer.alloc(256 * 1024 + 1) })
  assert.deepEqual(await parsing(async () => mail, { readRaw })(rawId, READER), mail)
})

test('what an older version has stored without positions of attachments is parsed once more', async () => {
  const note = {
    index: 0,
    filename: 'a',
    contentType: 'a/b',
    size: 1,
    contentId: null,
    inline: false,
  }
  await store.saveParsed(rawId, { ...mail, attachments: [note] })
  const current = { ...note, position: { start: 0, end: 1, encoding: '' } }
  const parse = parsing(async () => ({ ...mail, attachments: [current] }))
  const read = openParsedReader({ store, largeReads, parse })
  assert.deepEqual((await read(rawId, READER))?.attachments, [current])
  assert.deepEqual((await store.readParsed(rawId))?.attachments, [current])
})

describe('a reader', () => {
  const never = () => new Promise<never>(() => {})

  test('who has waited too long is told to try again', async () => {
    const parsed = openParsedReader({ store, largeReads, parse: parsing(never), deadlineMs: 1 })
    await assert.rejects(parsed(rawId, READER), { code: 'overloaded', retryAfter: 2 })
  })

  test('who has waited too long for a large mail to be read is told to try again', async () => {
    const slow = { ...store, readParsed: never }
    const deps = { store: slow, largeReads: openLargeReads(), parse: parsing(never) }
    const read = openParsedReader({ ...deps, deadlineMs: 1 })(rawId, {
      ...READER,
      size: 10_000_000,
    })
    await assert.rejects(read, { code: 'overloaded', retryAfter: 2 })
  })

  test('who has gone is not waited for', async () => {
    const gone = new AbortController()
    const parsed = openParsedReader({ store, largeReads, parse: parsing(never) })
    const read = parsed(rawId, { ...READER, signal: gone.signal })
    gone.abort(new Error('the client hung up'))
    await assert.rejects(read, /hung up/)
  })
})

describe('a parse that nobody waits for', () => {
  test('is stored, but not where the disk is nearly full', async () => {
    for (const [obstacle, kept] of [
      [{ kind: 'full', reason: 'little is left' }, undefined],
      [undefined, mail],
    ] as const) {
      const parsed = parsing(async () => mail, { obstacle: async () => obstacle })
      assert.deepEqual(await parsed(rawId, LOOKUP), mail)
      assert.deepEqual(await store.readParsed(rawId), kept)
    }
  })

  test('is stored wherever there is room once a reader waits for it too', async () => {
    const full = { obstacle: async () => ({ kind: 'full', reason: 'little is left' }) as const }
    const parse = Promise.withResolvers<Mail>()
    const parsed = parsing(() => parse.promise, full)
    const both = [parsed(rawId, LOOKUP), parsed(rawId, READER)]
    parse.resolve(mail)
    await Promise.all(both)
    assert.deepEqual(await store.readParsed(rawId), mail)
  })

  test('is not stored once there was no room, until there is for what somebody reads', async () => {
    const tried: string[] = []
    let isFull = true
    const saveParsed = async () => {
      tried.push(isFull ? 'refused' : 'kept')
      if (isFull) throw new Problem('overloaded', 'x')
    }
    const parsed = parsing(async () => mail, { saveParsed })
    for (const request of [LOOKUP, LOOKUP, READER, LOOKUP]) await parsed(rawId, request)
    assert.deepEqual(tried, ['refused', 'refused'], 'the first, and that of the reader')
    isFull = false
    for (const request of [LOOKUP, READER, LOOKUP]) await parsed(rawId, request)
    assert.deepEqual(tried.slice(2), ['kept', 'kept'])
  })
})
