import { afterEach, expect, test } from 'vitest'
import type { CodeScanner } from '../read/code-scanner.ts'
import { deleteMail } from '../read/read-mail.ts'
import { type CodeFixture, heldParser, NO_WAIT, openCodeFixture, SCAN } from '../testing/codes.ts'
import { awaitMail } from './check-mail.ts'
import { type MailEvent, openMailEvents } from './events.ts'

let fixture: CodeFixture
afterEach(() => fixture.close())

const HOUR_MS = 3_600_000
/** As if other threads scanned all mail. */
const NO_SCANS: CodeScanner = { scan: () => undefined, close: () => {} }

const openStream = ({
  sinceId = 0,
  codes = fixture.codes,
  resumes = true,
  now = fixture.deps.now,
} = {}) =>
  openMailEvents(
    { ...fixture.deps, codes, now },
    {
      token: fixture.token,
      session: fixture.session,
      sinceId,
      resumes,
      heartbeatMs: HOUR_MS,
      // Never elapses: a change that does not wake the bus leaves the test waiting.
      pollMs: HOUR_MS,
      signal: new AbortController().signal,
    },
  )

/** Formatted as `kind subject code`. */
async function next(events: AsyncGenerator<MailEvent>): Promise<string> {
  const { value: event } = await events.next()
  expect(event).toBeTruthy()
  if (!('message' in event)) return event.kind
  const { subject, code } = event.message
  return `${event.kind} ${subject} ${code ?? 'unlooked'}`
}

test('a code found in time is in the message event, and no update follows', async () => {
  fixture = await openCodeFixture()
  const events = await openStream()
  const first = next(events)
  await fixture.send('111111', 'one')
  expect(await first).toBe('message one 111111')
  await fixture.send('222222', 'two')
  expect(await next(events)).toBe('message two 222222')
  await events.return(undefined)
})

test('a code is scanned on behalf of the client of the stream, even if others wait for the mailbox', async () => {
  fixture = await openCodeFixture()
  let scans = 0
  const codes: CodeScanner = {
    ...fixture.codes,
    scan(mailbox, messages) {
      scans += 1
      return fixture.codes.scan(mailbox, messages, '192.0.2.1')
    },
  }
  const { token, session, deps } = fixture
  const disconnect = new AbortController()
  const wait = { token, session, seconds: 60, pollMs: HOUR_MS, signal: disconnect.signal }
  const waited = awaitMail(deps, { ...wait, isDone: () => false })
  const events = await openStream({ codes })
  const first = next(events)
  await fixture.send('111111', 'one')
  expect(await first).toBe('message one 111111')
  expect(scans).toBeGreaterThan(0)
  disconnect.abort(new Error('gone'))
  await expect(waited).rejects.toThrow(/gone/)
  await events.return(undefined)
})

test('a code found later is sent as an update', async () => {
  const reader = heldParser()
  fixture = await openCodeFixture({ parse: reader.parse, resultWaitMs: NO_WAIT })
  reader.hold()
  const events = await openStream()
  await fixture.send('111111', 'one')
  expect(await next(events)).toBe('message one unlooked')
  const update = next(events)
  reader.release()
  expect(await update).toBe('updated one 111111')
  await events.return(undefined)
})

test('a mail without a code is sent as an update too, once', async () => {
  const reader = heldParser()
  fixture = await openCodeFixture({ parse: reader.parse, resultWaitMs: NO_WAIT })
  reader.hold()
  const events = await openStream()
  await fixture.send('', 'none')
  expect(await next(events)).toBe('message none unlooked')
  const update = next(events)
  reader.release()
  expect(await update).toBe('updated none ')
  const event = next(events)
  await fixture.send('', 'next')
  expect((await event).split(' ')[1]).toBe('next')
  await events.return(undefined)
})

test('a code found by another thread is sent as an update', async () => {
  fixture = await openCodeFixture()
  const events = await openStream({ codes: NO_SCANS })
  const id = await fixture.send('111111', 'one')
  expect(await next(events)).toBe('message one unlooked')
  const update = next(events)
  const { id: mailbox } = fixture.session
  await fixture.store.saveScan({ ...SCAN, mailbox, id, code: '111111' })
  fixture.bus.wake(mailbox)
  expect(await update).toBe('updated one 111111')
  await events.return(undefined)
})

test('older mail is scanned as well, and its codes are sent as updates', async () => {
  const reader = heldParser()
  fixture = await openCodeFixture({ parse: reader.parse })
  await fixture.send('111111', 'old')
  const sinceId = await fixture.send('222222', 'newer')
  reader.hold()
  const stream = await openStream({ sinceId })
  const update = next(stream)
  while (reader.read.length < 2) await new Promise(setImmediate)
  reader.release()
  const updates = [await update, await next(stream)]
  expect(updates.sort()).toStrictEqual(['updated newer 222222', 'updated old 111111'])
  await stream.return(undefined)
})

test('a resumed stream gets the codes found in the meantime, for recent mail only', async () => {
  fixture = await openCodeFixture()
  const sinceId = await fixture.send('111111', 'one')
  const { id: mailbox } = fixture.session
  await fixture.store.saveScan({ ...SCAN, mailbox, id: sinceId, code: '111111' })
  const resumed = await openStream({ sinceId })
  expect(await next(resumed)).toBe('updated one 111111')
  const resumedEvent = next(resumed)
  const later = () => new Date(Date.now() + 6 * 60_000)
  const others = await Promise.all([
    openStream({ sinceId, now: later }),
    openStream({ sinceId, resumes: false }),
  ])
  const pending = others.map(next)
  await fixture.send('222222', 'two')
  for (const event of [resumedEvent, ...pending]) expect(await event).toBe('message two 222222')
  for (const stream of [resumed, ...others]) await stream.return(undefined)
})

test('a mail deleted during its scan causes no event', async () => {
  const reader = heldParser()
  fixture = await openCodeFixture({ parse: reader.parse })
  reader.hold()
  const events = await openStream()
  const event = next(events)
  const id = await fixture.send('111111', 'gone')
  await fixture.send('222222', 'there')
  while (reader.read.length < 1) await new Promise(setImmediate)
  await deleteMail(fixture, fixture.token, id)
  reader.release()
  expect(await event).toBe('message there 222222')
  await fixture.send('333333', 'last')
  expect(await next(events)).toBe('message last 333333')
  await events.return(undefined)
})

test('a deletion is sent without waiting for the code of another mail', async () => {
  const reader = heldParser()
  fixture = await openCodeFixture({ parse: reader.parse })
  const id = await fixture.send('111111', 'one')
  const events = await openStream()
  expect(await next(events)).toBe('message one 111111')
  reader.hold()
  await fixture.send('222222', 'two')
  await deleteMail(fixture, fixture.token, id)
  expect(await next(events)).toBe('deleted')
  reader.release()
  expect(await next(events)).toBe('message two 222222')
  await events.return(undefined)
})
