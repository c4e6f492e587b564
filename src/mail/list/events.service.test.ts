import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, test } from 'vitest'
import { openSqliteTestMail } from '../../../test/support/stores.ts'
import { parseAddress } from '../../base/address.ts'
import { makeSecretToken, secretHash } from '../../base/id.ts'
import { StoreUnavailable } from '../../base/problem.ts'
import { makeWaiterCounts, openMemoryBus } from '../../bus/memory.ts'
import type { CodeScanner } from '../read/code-scanner.ts'
import { deleteMail } from '../read/read-mail.ts'
import { openStepScheduler } from '../read/step-scheduler.ts'
import { receiveMail } from '../receive-mail.ts'
import { type MailFilter, parseFilter } from '../rules/filter.ts'
import type { Session } from '../rules/session.ts'
import { endSession } from '../sessions/session.ts'
import { nextEvent as nextOf } from '../testing/events.ts'
import { countTurns } from '../testing/turns.ts'
import { type MailEvent, mailEvents } from './events.ts'
import type { MailboxView } from './mailbox-view.ts'
import { openSharedPolls, type SharedPolls } from './shared-poll.ts'

const token = makeSecretToken(new Uint8Array(32))
const address = parseAddress('ann@box.test')
assert.ok(address)
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
    keyId: undefined,
    createdAt: now,
    expiresAt: new Date(now.getTime() + hour),
    cooldownMs: hour,
  })
  assert.ok(created)
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
  mailEvents(
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
const subjectOf = (event: MailEvent) =>
  event.kind === 'message' ? event.message.subject : event.kind

test('stored messages are sent oldest first, then new ones as they arrive', async () => {
  await send('one')
  await send('two')
  const events = openStream()
  assert.equal(subjectOf(await nextOf(events)), 'one')
  assert.equal(subjectOf(await nextOf(events)), 'two')
  await send('three')
  assert.equal(subjectOf(await nextOf(events)), 'three')
  await events.return(undefined)
})

test('a stream with a filter tests one message per turn of the event loop', async () => {
  for (let sent = 0; sent < 40; sent += 1) await send('other')
  await send('wanted')
  const events = openStream({ filter: parseFilter({ subject: 'wanted' }) })
  const turns = countTurns()
  assert.equal(subjectOf(await nextOf(events)), 'wanted')
  turns.stop()
  assert.ok(turns.count() >= 40, `${turns.count()} turns`)
  await events.return(undefined)
})

test('a store outage does not end the stream, and no event is sent twice or lost', async () => {
  await send('one')
  // Fails first before the first event, later between a deletion and a new message.
  const outages: string[] = ['listMessages']
  const { store } = deps
  const listMessages: typeof store.listMessages = async (...page) => {
    if (outages.pop() !== undefined) throw new StoreUnavailable()
    return await store.listMessages(...page)
  }
  const findSession: typeof store.findSession = async (hash) => {
    if (outages.at(-1) === 'findSession' && outages.pop()) throw new StoreUnavailable()
    return await store.findSession(hash)
  }
  deps = { ...deps, store: { ...store, listMessages, findSession } }
  const events = openStream({ pollMs: 5 })
  const one = await nextOf(events)
  assert.equal(subjectOf(one), 'one')

  const id = one.kind === 'message' ? one.message.id : 0
  outages.push('listMessages', 'findSession')
  await deleteMail({ ...deps, store }, token, id)
  await send('two')
  assert.deepEqual(await nextOf(events), { kind: 'deleted', id })
  assert.equal(subjectOf(await nextOf(events)), 'two')
  assert.deepEqual(outages, [])
  await events.return(undefined)
})

test('a deletion is sent for messages that were sent or existed before sinceId', async () => {
  await send('before')
  const [before] = await deps.store.listMessageIds(session.id)
  assert.ok(before)
  const events = openStream({ sinceId: before })
  await send('told')
  const sent = await nextOf(events)
  assert.equal(subjectOf(sent), 'told')
  await deleteMail(deps, token, before)
  assert.deepEqual(await nextOf(events), { kind: 'deleted', id: before })
  const id = sent.kind === 'message' ? sent.message.id : 0
  await deleteMail(deps, token, id)
  assert.deepEqual(await nextOf(events), { kind: 'deleted', id })
  await events.return(undefined)
})

test('a deletion is sent even if it follows the opening at once', async () => {
  await send('before')
  const [id = 0] = await deps.store.listMessageIds(session.id)
  const events = openStream({ sinceId: id })
  assert.deepEqual((await events.next()).value, { kind: 'open' })
  await deleteMail(deps, token, id)
  assert.deepEqual(await nextOf(events), { kind: 'deleted', id })
  await events.return(undefined)
})

test('a stream opens although the store is unavailable, and not again', async () => {
  await send('one')
  const { store } = deps
  let isFirst = true
  const listMessages: typeof store.listMessages = async (...page) => {
    if (isFirst) throw new StoreUnavailable()
    return await store.listMessages(...page)
  }
  deps = { ...deps, store: { ...store, listMessages } }
  const events = openStream({ pollMs: 5 })
  assert.deepEqual((await events.next()).value, { kind: 'open' })
  isFirst = false
  assert.equal(subjectOf((await events.next()).value ?? { kind: 'beat' }), 'one')
  await events.return(undefined)
})

test('an idle mailbox gets heartbeats', async () => {
  const events = openStream({ heartbeatMs: 5 })
  assert.deepEqual(await nextOf(events), { kind: 'beat' })
  assert.deepEqual(await nextOf(events), { kind: 'beat' })
  await events.return(undefined)
})

test('the end event is the last one', async () => {
  const events = openStream()
  const next = nextOf(events)
  await endSession(deps, token)
  assert.deepEqual(await next, { kind: 'end', reason: 'deleted' })
  assert.equal((await events.next()).done, true)
})

test('after a revival the old stream ends, and a new one is woken by the new mailbox', async () => {
  const old = openStream()
  const end = nextOf(old)
  const later = new Date(session.expiresAt.getTime() + 1)
  deps = { ...deps, now: () => later }
  const revived = await deps.store.reviveSession({
    mailbox: session.id,
    now: later,
    expiresAt: new Date(later.getTime() + hour),
    cooldownMs: hour,
  })
  assert.ok(revived)
  const before = session
  session = revived
  const events = openStream()
  const next = nextOf(events)
  // After a first read without messages, only the bus can wake it.
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
  await send('after')
  assert.equal(subjectOf(await next), 'after')
  deps.bus.wake(before.id)
  assert.deepEqual(await end, { kind: 'end', reason: 'expired' })
  await events.return(undefined)
})

test('an abort ends the stream with its reason', async () => {
  const controller = new AbortController()
  const events = openStream({ signal: controller.signal })
  const next = events.next()
  controller.abort(new Error('enough'))
  await assert.rejects(next, /enough/)
})

test('a hundred streams of one mailbox read the store as often as one, and each gets every event', async () => {
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
    listMessageIds: recording(store.listMessageIds, 'listMessageIds'),
  }
  await send('before')
  deps = { ...deps, store: counted }
  const streams = Array.from({ length: 100 }, () => openStream())
  for (const stream of streams) assert.equal(subjectOf(await nextOf(stream)), 'before')

  reads.length = 0
  const next = streams.map(nextOf)
  await send('after')
  const events = await Promise.all(next)
  assert.ok(reads.length <= 6, `${reads.length} look-ups: ${reads}`)
  for (const event of events) assert.equal(event, events[0], 'the same event, to be written once')
  assert.equal(subjectOf(events[0] ?? { kind: 'beat' }), 'after')
  await Promise.all(streams.map((stream) => stream.return(undefined)))
})
