import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { inlineParser } from '../../../test/kit/mail/inline-parser.ts'
import { openSqliteTestMail } from '../../../test/kit/store/stores.ts'
import { parseAddress, parseHost } from '../../base/address.ts'
import { Problem } from '../../base/problem.ts'
import { EMPTY_MAIL, type Mail, PARSE_VERSION } from '../../shared/mail.ts'
import { OPERATOR } from '../rules/session.ts'
import type { MailStore } from '../store.ts'
import { openLargeReads } from './large-reads.ts'
import { openParseOnce } from './parse-once.ts'
import { openMailJson, openParsedMail } from './parsed-mail.ts'

let store: MailStore
let close: () => Promise<void>
let rawId: number
beforeEach(async () => {
  const scratch = await openSqliteTestMail()
  store = scratch.store
  close = scratch.close
  const [name, recipient] = [parseHost('box.test'), parseAddress('abuse@box.test')]
  expect.assert(name && recipient)
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
const FOREGROUND = { client: '192.0.2.1', mailbox: 'abuse@box.test', size: 18 }
const BACKGROUND = { ...FOREGROUND, background: true }
const parsing = (parse: (raw: Uint8Array) => Promise<Mail>, overrides: Partial<MailStore> = {}) =>
  openParseOnce({ store: { ...store, ...overrides }, parser: inlineParser(parse) })

async function storedMail(): Promise<Mail | undefined> {
  const json = await store.readParsedJson(rawId)
  return json && JSON.parse(json.toString())
}

test('a mail requested concurrently is parsed once, and never again', async () => {
  let parses = 0
  const parse = async (raw: Uint8Array) => {
    parses += 1
    expect(Buffer.from(raw).toString()).toBe('Subject: x\r\n\r\nhi\r\n')
    return mail
  }
  const parsed = parsing(parse)
  const all = await Promise.all(Array.from({ length: 10 }, () => parsed(rawId, FOREGROUND)))
  for (const one of all) expect(one).toStrictEqual(mail)
  expect(await parsing(parse)(rawId, FOREGROUND), 'also by another process').toBe('stored')
  expect(parses).toBe(1)
})

test('a parse is charged to the client and to the mailbox it is for', async () => {
  const parser = inlineParser(async () => mail)
  const owners: unknown[] = []
  const use: typeof parser.use = (key, request, task) => {
    owners.push(request.owner)
    return parser.use(key, request, task)
  }
  await openParseOnce({ store, parser: { ...parser, use } })(rawId, FOREGROUND)
  expect(owners).toStrictEqual([['client 192.0.2.1', 'mailbox abuse@box.test']])
})

test('a failed parse is retried by the next request', async () => {
  let parses = 0
  const parsed = parsing(async () => {
    parses += 1
    if (parses === 1) throw new Error('the child died')
    return mail
  })
  await expect(parsed(rawId, FOREGROUND)).rejects.toThrow(/the child died/)
  expect(await parsed(rawId, FOREGROUND)).toStrictEqual(mail)
})

test('a deleted mail has no parse', async () => {
  const parse = () => Promise.reject(new Error('nothing to parse'))
  expect.assert((await parsing(parse)(rawId + 1, FOREGROUND)) === undefined)
})

test('a parsed mail with a long text is not passed on but read from the store by each request', async () => {
  const long = { ...mail, text: 'x'.repeat(256 * 1024 + 1) }
  const parse = parsing(async () => long)
  expect.assert((await parse(rawId, FOREGROUND)) === 'stored')
  expect(await openParsedMail({ store, largeReads, parse })(rawId, FOREGROUND)).toStrictEqual(long)
})

/** How often a JSON text of a megabyte was made and parsed. */
function countLargeJson(): () => { made: number; parsed: number } {
  const stringify = vi.spyOn(JSON, 'stringify')
  const parse = vi.spyOn(JSON, 'parse')
  onTestFinished(() => {
    stringify.mockRestore()
    parse.mockRestore()
  })
  const isLarge = (text: unknown) => typeof text === 'string' && text.length > 1_000_000
  return () => ({
    made: stringify.mock.results.filter(({ value }) => isLarge(value)).length,
    parsed: parse.mock.calls.filter(([text]) => isLarge(text)).length,
  })
}

test('a long text that is stored already is not parsed to see that it is current', async () => {
  await store.saveParsed(rawId, { ...mail, text: 'x'.repeat(2_000_000) })
  const counts = countLargeJson()
  const parse = parsing(() => Promise.reject(new Error('parsed again')))
  expect.assert((await parse(rawId, FOREGROUND)) === 'stored')
  expect(counts()).toStrictEqual({ made: 0, parsed: 0 })
})

test('on a full disk, all who wait for a long text share one serialization of it', async () => {
  const long = { ...mail, text: 'x'.repeat(2_000_000) }
  const saveParsed = () => Promise.reject(new Problem('overloaded', 'x'))
  const parse = parsing(async () => structuredClone(long), { saveParsed })
  const read = openMailJson({ store, largeReads, parse })
  const counts = countLargeJson()
  const request = { ...FOREGROUND, size: 2_000_000 }
  const all = await Promise.all(Array.from({ length: 4 }, () => read(rawId, request)))
  expect(counts()).toStrictEqual({ made: 1, parsed: 0 })
  for (const one of all) {
    expect.assert(one?.long.get(one.mail.text ?? '')?.toString() === `"${long.text}"`)
  }
  const reserved: number[] = []
  await read(rawId, { ...request, reserve: (bytes) => reserved.push(bytes) })
  expect.assert((reserved[0] ?? 0) > 2_000_000, 'now its size is known')
})

test('a text that is not complete is truncated; HTML is not said to be', async () => {
  const long = 'x'.repeat(2_000_000)
  for (const [parts, truncated] of [
    [{ text: long, html: null }, true],
    [{ text: 'hi', html: long }, undefined],
  ] as const) {
    await store.saveParsed(rawId, { ...mail, ...parts })
    const parse = parsing(() => Promise.reject(new Error('parsed again')))
    const found = await openParsedMail({ store, largeReads, parse })(rawId, FOREGROUND)
    expect.assert(`${found?.text}${found?.html}`.length < long.length)
    expect(found?.truncated).toBe(truncated)
  }
})

test('a parsed large mail with a short text is passed to each request', async () => {
  const raw = await store.readRaw(rawId)
  expect.assert(raw)
  const readRaw = async () => ({ ...raw, bytes: Buffer.alloc(256 * 1024 + 1) })
  expect(await parsing(async () => mail, { readRaw })(rawId, FOREGROUND)).toStrictEqual(mail)
})

for (const [name, version] of [
  ['without a version, as by 0.3.0', undefined],
  ['of the last version', PARSE_VERSION - 1],
] as const) {
  test(`a stored parse ${name} is made again when it is read, once`, async () => {
    await store.saveParsed(rawId, { ...mail, text: 'old', version })
    let parses = 0
    const parse = parsing(async () => {
      parses += 1
      return mail
    })
    const read = openParsedMail({ store, largeReads, parse })
    for (let times = 0; times < 2; times += 1)
      expect(await read(rawId, FOREGROUND)).toStrictEqual(mail)
    expect(await storedMail()).toStrictEqual(mail)
    expect(parses).toBe(1)
  })
}

test('a stored parse of a newer version is kept, as while nodes are upgraded one by one', async () => {
  const newer = { ...mail, version: PARSE_VERSION + 1 }
  await store.saveParsed(rawId, newer)
  const parse = parsing(() => Promise.reject(new Error('parsed again')))
  expect(await openParsedMail({ store, largeReads, parse })(rawId, FOREGROUND)).toStrictEqual(newer)
})

describe('a request', () => {
  const never = () => new Promise<never>(() => {})
  const hurried = openLargeReads({ deadlineMs: 1 })

  test('that exceeds the deadline is refused as overloaded', async () => {
    const parsed = openParsedMail({ store, largeReads: hurried, parse: parsing(never) })
    await expect(parsed(rawId, FOREGROUND)).rejects.toMatchObject({
      code: 'overloaded',
      retryAfter: 2,
    })
  })

  test('that exceeds the deadline while a large mail is read is refused as overloaded', async () => {
    const slow = { ...store, readParsedJson: never }
    const read = openParsedMail({ store: slow, largeReads: hurried, parse: parsing(never) })
    const request = { ...FOREGROUND, size: 10_000_000 }
    await expect(read(rawId, request)).rejects.toMatchObject({ code: 'overloaded', retryAfter: 2 })
  })

  test('whose client has disconnected ends at once', async () => {
    const disconnect = new AbortController()
    const parsed = openParsedMail({ store, largeReads, parse: parsing(never) })
    const read = parsed(rawId, { ...FOREGROUND, signal: disconnect.signal })
    disconnect.abort(new Error('the client hung up'))
    await expect(read).rejects.toThrow(/hung up/)
  })
})

describe('a parse in the background', () => {
  test('is stored unless the disk is nearly full', async () => {
    for (const [storageFault, stored] of [
      [{ kind: 'full', reason: 'little is left' }, undefined],
      [undefined, mail],
    ] as const) {
      const parsed = parsing(async () => mail, { storageFault: async () => storageFault })
      expect(await parsed(rawId, BACKGROUND)).toStrictEqual(mail)
      expect(await storedMail()).toStrictEqual(stored)
    }
  })

  test('is stored on a nearly full disk if a client waits for it too', async () => {
    const full = { storageFault: async () => ({ kind: 'full', reason: 'little is left' }) as const }
    const parse = Promise.withResolvers<Mail>()
    const parsed = parsing(() => parse.promise, full)
    const both = [parsed(rawId, BACKGROUND), parsed(rawId, FOREGROUND)]
    parse.resolve(mail)
    await Promise.all(both)
    expect(await storedMail()).toStrictEqual(mail)
  })

  test('is not stored after a failed write until a foreground write succeeds', async () => {
    const writes: string[] = []
    let isFull = true
    const saveParsed = async () => {
      writes.push(isFull ? 'refused' : 'stored')
      if (isFull) throw new Problem('overloaded', 'x')
    }
    const parsed = parsing(async () => mail, { saveParsed })
    for (const request of [BACKGROUND, BACKGROUND, FOREGROUND, BACKGROUND])
      await parsed(rawId, request)
    expect(writes, 'the first, and that of the reader').toStrictEqual(['refused', 'refused'])
    isFull = false
    for (const request of [BACKGROUND, FOREGROUND, BACKGROUND]) await parsed(rawId, request)
    expect(writes.slice(2)).toStrictEqual(['stored', 'stored'])
  })
})

describe('a transient parse', () => {
  const TRANSIENT = { ...FOREGROUND, transient: true }

  test('is not stored', async () => {
    expect(await parsing(async () => mail)(rawId, TRANSIENT)).toStrictEqual(mail)
    expect(await storedMail()).toBeUndefined()
  })

  test('is stored if a reader shares it', async () => {
    const parse = Promise.withResolvers<Mail>()
    const parsed = parsing(() => parse.promise)
    const both = [parsed(rawId, TRANSIENT), parsed(rawId, FOREGROUND)]
    parse.resolve(mail)
    expect(await Promise.all(both)).toStrictEqual([mail, mail])
    expect(await storedMail()).toStrictEqual(mail)
  })
})
