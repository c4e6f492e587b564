import { randomUUID } from 'node:crypto'
import { queryObjects } from 'node:v8'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { countTurns } from '../../../test/kit/mail/turns.ts'
import { openSqliteTestMail } from '../../../test/kit/store/stores.ts'
import { parseAddress } from '../../base/address.ts'
import { makeSecretToken, secretHash } from '../../base/id.ts'
import { StoreUnavailable } from '../../base/problem.ts'
import { makeWaiterCounts, openMemoryBus } from '../../bus/memory.ts'
import type { CodeScanner } from '../read/code-scanner.ts'
import { deleteMail } from '../read/read-mail.ts'
import { openStepScheduler } from '../read/step-scheduler.ts'
import { receiveMail } from '../receive-mail.ts'
import { type MailFilter, parseFilter } from '../rules/filter.ts'
import type { MailboxId, Session } from '../rules/session.ts'
import { endSession } from '../sessions/session.ts'
import { type MailEvent, openMailEvents } from './events.ts'
import { type MailboxView, mailboxPollSource } from './mailbox-view.ts'
import { openSharedPolls, type SharedPolls } from './shared-poll.ts'

const token = makeSecretToken(new Uint8Array(32))
const address = parseAddress('ann@box.test')
expect.assert(address)
const hour = 3_600_000
/** As if another thread scanned all mail. */
const NO_SCANS: CodeScanner = { scan: () => undefined, close: () => {} }

let deps: {
  store: Awaited<ReturnType<typeof openSqliteTestMail>>['store']
  bus: ReturnType<typeof openMemoryBus>
  now(): Date
  codes: CodeScanner
  mailboxPolls: SharedPolls<MailboxView>
}
let session: Session
let close: () => Promise<void>
beforeEach(async () => {
  const scratch = await openSqliteTestMail({
    mailbox: { maxMessages: 100, maxBytes: 100_000 },
    poolMaxBytes: 100_000,
    ownMaxBytes: 100_000,
    maxMailBytes: 10_000,
  })
  const bus = openMemoryBus(randomUUID(), makeWaiterCounts())
  const mailboxPolls = openSharedPolls<MailboxView>(bus)
  deps = { store: scratch.store, bus, now: () => new Date(), codes: NO_SCANS, mailboxPolls }
  const now = deps.now()
  const name = address.split('@')[1] as never
  await scratch.store.addDomain({ name, sessions: true, reader: false, ttlSeconds: undefined })
  const created = await scratch.store.createSession({
    address,
    tokenHash: secretHash(token),
    keyId: 'key',
    createdAt: now,
    expiresAt: new Date(now.getTime() + hour),
    cooldownMs: hour,
  })
  expect.assert(created)
  session = created
  close = async () => {
    // The bus delivers in the next turn of the event loop.
    await new Promise(setImmediate)
    await bus.close()
    await scratch.close()
  }
})
afterEach(() => close())

const openStream = (
  more: {
    sinceId?: number
    heartbeatMs?: number
    pollMs?: number
    signal?: AbortSignal
    filter?: MailFilter | undefined
  } = {},
) =>
  openMailEvents(
    { ...deps, steps: openStepScheduler() },
    {
      token,
      session,
      sinceId: 0,
      resumes: true,
      heartbeatMs: hour,
      // Never elapses: a change that does not wake the bus leaves the test waiting.
      pollMs: hour,
      signal: new AbortController().signal,
      ...more,
    },
  )
const envelope = {
  clientIp: '192.0.2.1',
  helo: 'x',
  mailFrom: '',
  tls: undefined,
  protocol: 'SMTP',
}
const send = (subject: string) =>
  receiveMail(
    { ...deps, findMailBlock: () => undefined },
    {
      recipients: [{ address, mailbox: session.id }],
      envelope,
      raw: Buffer.from(`Subject: ${subject}\r\n\r\n`),
    },
  )
async function nextOf(events: AsyncGenerator<MailEvent>): Promise<MailEvent> {
  const { value } = await events.next()
  expect(value).toBeTruthy()
  return value
}
const subjectOf = (event: MailEvent) =>
  event.kind === 'message' ? event.message.subject : event.kind

test('stored messages are sent oldest first, then new ones as they arrive', async () => {
  await send('one')
  await send('two')
  const events = await openStream()
  expect(subjectOf(await nextOf(events))).toBe('one')
  expect(subjectOf(await nextOf(events))).toBe('two')
  await send('three')
  expect(subjectOf(await nextOf(events))).toBe('three')
  await events.return(undefined)
})

test('what a stream reads late, after its token was rolled, is not returned', async () => {
  const { signal } = new AbortController()
  const view = await mailboxPollSource(deps, { token, session, pollMs: hour, signal }).poll(
    () => {},
  )
  const tokenHash = secretHash('another')
  await deps.store.rollToken({ address, keyId: 'key', tokenHash, now: deps.now() })
  await send('after')
  for (const read of [view.newest, view.ids, () => view.newerThan(0)]) {
    await expect(read()).rejects.toMatchObject({ code: 'invalid_token' })
  }
})

test('a stream with a filter tests one message per turn of the event loop', async () => {
  for (let sent = 0; sent < 40; sent += 1) await send('other')
  await send('wanted')
  const events = await openStream({ filter: parseFilter({ subject: 'wanted' }) })
  const turns = countTurns()
  expect(subjectOf(await nextOf(events))).toBe('wanted')
  turns.stop()
  expect(turns.count(), `${turns.count()} turns`).toBeGreaterThanOrEqual(40)
  await events.return(undefined)
})

test('a store outage does not end the stream, and no event is sent twice or lost', async () => {
  await send('one')
  // Fails first at the opening and before the first event, later between a deletion and a new message.
  const outages: string[] = ['listMessages', 'listMessageIds']
  const { store } = deps
  const listMessages: typeof store.listMessages = async (...page) => {
    if (outages.pop() !== undefined) throw new StoreUnavailable()
    return await store.listMessages(...page)
  }
  const findSession: typeof store.findSession = async (hash) => {
    if (outages.at(-1) === 'findSession' && outages.pop()) throw new StoreUnavailable()
    return await store.findSession(hash)
  }
  const listMessageIds: typeof store.listMessageIds = async (mailbox) => {
    if (outages.at(-1) === 'listMessageIds' && outages.pop()) throw new StoreUnavailable()
    return await store.listMessageIds(mailbox)
  }
  deps = { ...deps, store: { ...store, listMessages, findSession, listMessageIds } }
  const events = await openStream({ pollMs: 5 })
  const one = await nextOf(events)
  expect(subjectOf(one)).toBe('one')

  const id = one.kind === 'message' ? one.message.id : 0
  outages.push('listMessages', 'findSession')
  await deleteMail({ ...deps, store }, token, id)
  await send('two')
  expect(await nextOf(events)).toStrictEqual({ kind: 'deleted', id })
  expect(subjectOf(await nextOf(events))).toBe('two')
  expect(outages).toStrictEqual([])
  await events.return(undefined)
})

test('a deletion is sent for messages that were sent or existed before sinceId', async () => {
  await send('before')
  const [before] = await deps.store.listMessageIds(session.id)
  expect.assert(before)
  const events = await openStream({ sinceId: before })
  await send('told')
  const sent = await nextOf(events)
  expect(subjectOf(sent)).toBe('told')
  await deleteMail(deps, token, before)
  expect(await nextOf(events)).toStrictEqual({ kind: 'deleted', id: before })
  const id = sent.kind === 'message' ? sent.message.id : 0
  await deleteMail(deps, token, id)
  expect(await nextOf(events)).toStrictEqual({ kind: 'deleted', id })
  await events.return(undefined)
})

test('a deletion is sent even if it precedes the first poll of the stream', async () => {
  await send('before')
  const [id = 0] = await deps.store.listMessageIds(session.id)
  const events = await openStream({ sinceId: id })
  await deleteMail(deps, token, id)
  expect(await nextOf(events)).toStrictEqual({ kind: 'deleted', id })
  await events.return(undefined)
})

test('an idle mailbox gets heartbeats', async () => {
  const events = await openStream({ heartbeatMs: 5 })
  expect(await nextOf(events)).toStrictEqual({ kind: 'beat' })
  expect(await nextOf(events)).toStrictEqual({ kind: 'beat' })
  await events.return(undefined)
})

test('the end event is the last one', async () => {
  const events = await openStream()
  const next = nextOf(events)
  await endSession(deps, token)
  expect(await next).toStrictEqual({ kind: 'end', reason: 'deleted' })
  expect((await events.next()).done).toBe(true)
})

test('after a revival the old stream ends, and a new one is woken by the new mailbox', async () => {
  const old = await openStream()
  const end = nextOf(old)
  const later = new Date(session.expiresAt.getTime() + 1)
  deps = { ...deps, now: () => later }
  const revived = await deps.store.reviveSession({
    mailbox: session.id,
    now: later,
    expiresAt: new Date(later.getTime() + hour),
    cooldownMs: hour,
  })
  expect.assert(revived)
  const before = session
  session = revived
  const events = await openStream()
  const next = nextOf(events)
  // After a first read without messages, only the bus can wake it.
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
  await send('after')
  expect(subjectOf(await next)).toBe('after')
  deps.bus.wake(before.id)
  expect(await end).toStrictEqual({ kind: 'end', reason: 'expired' })
  await events.return(undefined)
})

test('an abort ends the stream with its reason', async () => {
  const controller = new AbortController()
  const events = await openStream({ signal: controller.signal })
  const next = events.next()
  controller.abort(new Error('enough'))
  await expect(next).rejects.toThrow(/enough/)
})

const OLDER = Array.from({ length: 1_000 }, (_, at) => 1_000 - at)

test('a hundred streams of one mailbox read and hold its ids as often as one, and each gets every event', async () => {
  const reads: string[] = []
  const { store } = deps
  const recording = <Args extends unknown[], Result>(
    call: (...args: Args) => Result,
    name: string,
  ) => {
    return (...args: Args) => {
      reads.push(name)
      return call(...args)
    }
  }
  const counted = {
    ...store,
    findSession: recording(store.findSession, 'findSession'),
    listMessages: recording(store.listMessages, 'listMessages'),
    listMessageIds: recording(
      async (mailbox: MailboxId) => [...(await store.listMessageIds(mailbox)), ...OLDER],
      'listMessageIds',
    ),
  }
  await send('before')
  deps = { ...deps, store: counted }
  const largeSets = () =>
    (queryObjects(Set, { format: 'summary' }) as string[]).filter((set) =>
      /^Set\(100\d\)/.test(set),
    ).length
  const setsBefore = largeSets()
  const streams = await Promise.all(
    Array.from({ length: 100 }, () => openStream({ sinceId: OLDER.length })),
  )
  for (const stream of streams) expect(subjectOf(await nextOf(stream))).toBe('before')

  reads.length = 0
  const next = streams.map(nextOf)
  await send('after')
  const events = await Promise.all(next)
  expect(reads.length, `${reads.length} look-ups: ${reads}`).toBeLessThanOrEqual(10)
  const messages = new Set(events.map((event) => event.kind === 'message' && event.message))
  expect(messages.size, 'the same object, to be written once').toBe(1)
  expect(subjectOf(events[0] ?? { kind: 'beat' })).toBe('after')
  expect(largeSets() - setsBefore).toBeLessThanOrEqual(6)
  await Promise.all(streams.map((stream) => stream.return(undefined)))
})
