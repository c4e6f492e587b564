import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, test } from 'vitest'
import { openSqliteTestMail } from '../../../test/support/stores.ts'
import { makeWaiterCounts, openMemoryBus } from '../../bus/memory.ts'
import { parseAddress } from '../../core/address.ts'
import { makeSecretToken, secretHash } from '../../core/id.ts'
import { StoreUnavailable } from '../../core/problem.ts'
import type { Session } from '../../core/session.ts'
import { endSession } from '../sessions/session.ts'
import type { CodeScanner } from './code-scanner.ts'
import { type MailEvent, mailEvents } from './events.ts'
import type { MailboxView } from './mailbox-view.ts'
import { deleteMail } from './read-mail.ts'
import { receiveMail } from './receive-mail.ts'
import { openSharedPolls, type SharedPolls } from './shared-poll.ts'

const token = makeSecretToken(new Uint8Array(32))
const address = parseAddress('ann@box.test')
assert.ok(address)
const hour = 3_600_000
/** As if another thread looked at all mail. */
const NO_LOOKS: CodeScanner = { scan: () => undefined, close: () => {} }

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
  const scratch = await openSqliteTestMail()
  const bus = openMemoryBus(randomUUID(), makeWaiterCounts())
  const mailboxPolls = openSharedPolls<MailboxView>(bus)
  deps = { store: scratch.store, bus, now: () => new Date(), codes: NO_LOOKS, mailboxPolls }
  const now = deps.now()
  const name = address.split('@')[1] as never
  await scratch.store.addDomain({ name, sessions: true, reader: false, ttlSeconds: undefined })
  const made = await scratch.store.createSession({
    address,
    tokenHash: secretHash(token),
    keyId: undefined,
    createdAt: now,
    expiresAt: new Date(now.getTime() + hour),
    cooldownMs: hour,
  })
  assert.ok(made)
  session = made
  close = async () => {
    // The bus tells its news in the next turn.
    await new Promise(setImmediate)
    await bus.close()
    await scratch.close()
  }
})
afterEach(() => close())

const follow = (
  more: { sinceId?: number; heartbeatMs?: number; pollMs?: number; signal?: AbortSignal } = {},
) =>
  mailEvents(deps, {
    token,
    session,
    sinceId: 0,
    resumes: true,
    heartbeatMs: hour,
    // Only the bus wakes: whoever forgets to tell it leaves the test waiting.
    pollMs: hour,
    signal: new AbortController().signal,
    ...more,
  })
const envelope = {
  clientIp: '192.0.2.1',
  helo: 'x',
  mailFrom: '',
  tls: undefined,
  protocol: 'SMTP',
}
const send = (subject: string) =>
  receiveMail(deps, {
    recipients: [{ address, mailbox: session.id }],
    envelope,
    raw: Buffer.from(`Subject: ${subject}\r\n\r\n`),
  })
const nextOf = async (events: AsyncGenerator<MailEvent>) => {
  const { value } = await events.next()
  assert.ok(value)
  return value
}
const subjectOf = (event: MailEvent) =>
  event.kind === 'message' ? event.message.subject : event.kind

test('messages come oldest first, then as they arrive', async () => {
  await send('one')
  await send('two')
  const events = follow()
  assert.equal(subjectOf(await nextOf(events)), 'one')
  assert.equal(subjectOf(await nextOf(events)), 'two')
  await send('three')
  assert.equal(subjectOf(await nextOf(events)), 'three')
  await events.return(undefined)
})

test('a store that is away for a while ends nothing, and nothing is told twice or never', async () => {
  await send('one')
  // First before it all, then between what is told of a deletion and what is told of a mail.
  const away: string[] = ['listMessages']
  const { store } = deps
  const listMessages: typeof store.listMessages = async (...page) => {
    if (away.pop() !== undefined) throw new StoreUnavailable()
    return await store.listMessages(...page)
  }
  const findSession: typeof store.findSession = async (hash) => {
    if (away.at(-1) === 'findSession' && away.pop()) throw new StoreUnavailable()
    return await store.findSession(hash)
  }
  deps = { ...deps, store: { ...store, listMessages, findSession } }
  const events = follow({ pollMs: 5 })
  const one = await nextOf(events)
  assert.equal(subjectOf(one), 'one')

  const id = one.kind === 'message' ? one.message.id : 0
  away.push('listMessages', 'findSession')
  await deleteMail({ ...deps, store }, token, id)
  await send('two')
  assert.deepEqual(await nextOf(events), { kind: 'deleted', id })
  assert.equal(subjectOf(await nextOf(events)), 'two')
  assert.deepEqual(away, [])
  await events.return(undefined)
})

test('a deletion is told of what was told or was there before, and only of that', async () => {
  await send('before')
  const [before] = await deps.store.listMessageIds(session.id)
  assert.ok(before)
  const events = follow({ sinceId: before })
  await send('told')
  const told = await nextOf(events)
  assert.equal(subjectOf(told), 'told')
  await deleteMail(deps, token, before)
  assert.deepEqual(await nextOf(events), { kind: 'deleted', id: before })
  const id = told.kind === 'message' ? told.message.id : 0
  await deleteMail(deps, token, id)
  assert.deepEqual(await nextOf(events), { kind: 'deleted', id })
  await events.return(undefined)
})

test('a quiet mailbox has a heartbeat', async () => {
  const events = follow({ heartbeatMs: 5 })
  assert.deepEqual(await nextOf(events), { kind: 'beat' })
  assert.deepEqual(await nextOf(events), { kind: 'beat' })
  await events.return(undefined)
})

test('the end is the last thing told', async () => {
  const events = follow()
  const next = nextOf(events)
  await endSession(deps, token)
  assert.deepEqual(await next, { kind: 'end', reason: 'deleted' })
  assert.equal((await events.next()).done, true)
})

test('after a revival the old stream ends, and a new one is woken by the new mailbox', async () => {
  const old = follow()
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
  const events = follow()
  const next = nextOf(events)
  // Once it has looked and found nothing, only the bus can wake it.
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
  await send('after')
  assert.equal(subjectOf(await next), 'after')
  deps.bus.wake(before.id)
  assert.deepEqual(await end, { kind: 'end', reason: 'expired' })
  await events.return(undefined)
})

test('an abort ends it with its reason', async () => {
  const controller = new AbortController()
  const events = follow({ signal: controller.signal })
  const next = events.next()
  controller.abort(new Error('enough'))
  await assert.rejects(next, /enough/)
})

test('a hundred streams of one mailbox look up as often as one, and each is told everything', async () => {
  const looked: string[] = []
  const { store } = deps
  const noting = <Args extends unknown[], Result>(
    call: (...args: Args) => Result,
    name: string,
  ) => {
    return (...args: Args) => {
      looked.push(name)
      return call(...args)
    }
  }
  const counted = {
    ...store,
    findSession: noting(store.findSession, 'findSession'),
    listMessages: noting(store.listMessages, 'listMessages'),
    listMessageIds: noting(store.listMessageIds, 'listMessageIds'),
  }
  await send('before')
  deps = { ...deps, store: counted }
  const streams = Array.from({ length: 100 }, () => follow())
  for (const events of streams) assert.equal(subjectOf(await nextOf(events)), 'before')

  looked.length = 0
  const next = streams.map(nextOf)
  await send('after')
  const told = await Promise.all(next)
  assert.ok(looked.length <= 6, `${looked.length} look-ups: ${looked}`)
  for (const event of told) assert.equal(event, told[0], 'the same event, to be written once')
  assert.equal(subjectOf(told[0] ?? { kind: 'beat' }), 'after')
  await Promise.all(streams.map((events) => events.return(undefined)))
})
