import assert from 'node:assert/strict'
import { afterEach, test } from 'vitest'
import { type CodeFixture, heldReader, IMPATIENT, openCodeFixture } from '../testing/codes.ts'
import { awaitMail } from './check-mail.ts'
import type { CodeScanner } from './code-scanner.ts'
import { type MailEvent, mailEvents } from './events.ts'
import { deleteMail } from './read-mail.ts'

let fixture: CodeFixture
afterEach(() => fixture.close())

const HOUR_MS = 3_600_000
/** As if other threads looked at all mail. */
const NO_LOOKS: CodeScanner = { scan: () => undefined, close: () => {} }

const follow = ({
  sinceId = 0,
  codes = fixture.codes,
  resumes = true,
  now = fixture.deps.now,
} = {}) =>
  mailEvents(
    { ...fixture.deps, codes, now },
    {
      token: fixture.token,
      session: fixture.session,
      sinceId,
      resumes,
      heartbeatMs: HOUR_MS,
      // Only the bus wakes: whoever forgets to tell it leaves the test waiting.
      pollMs: HOUR_MS,
      signal: new AbortController().signal,
    },
  )

/** As `kind subject code`. */
async function next(events: AsyncGenerator<MailEvent>): Promise<string> {
  const { value: event } = await events.next()
  assert.ok(event)
  if (!('message' in event)) return event.kind
  const { subject, code } = event.message
  return `${event.kind} ${subject} ${code ?? 'unlooked'}`
}

test('a code that is found in time is in the first event, and is told once', async () => {
  fixture = await openCodeFixture()
  const events = follow()
  const first = next(events)
  await fixture.send('111111', 'one')
  assert.equal(await first, 'message one 111111')
  await fixture.send('222222', 'two')
  assert.equal(await next(events), 'message two 222222')
  await events.return(undefined)
})

test('a code is looked up for the client of the stream, whoever waits for the same mailbox', async () => {
  fixture = await openCodeFixture()
  let looks = 0
  const codes: CodeScanner = {
    ...fixture.codes,
    scan(mailbox, messages) {
      looks += 1
      return fixture.codes.scan(mailbox, messages, '192.0.2.1')
    },
  }
  const { token, session, deps } = fixture
  const gone = new AbortController()
  const wait = { token, session, seconds: 60, pollMs: HOUR_MS, signal: gone.signal }
  const waited = awaitMail(deps, { ...wait, isDone: () => false })
  const events = follow({ codes })
  const first = next(events)
  await fixture.send('111111', 'one')
  assert.equal(await first, 'message one 111111')
  assert.ok(looks > 0)
  gone.abort(new Error('gone'))
  await assert.rejects(waited, /gone/)
  await events.return(undefined)
})

test('one that takes longer comes as an update', async () => {
  const reader = heldReader()
  fixture = await openCodeFixture({ parse: reader.parse, resultWaitMs: IMPATIENT })
  reader.hold()
  const events = follow()
  await fixture.send('111111', 'one')
  assert.equal(await next(events), 'message one unlooked')
  const update = next(events)
  reader.release()
  assert.equal(await update, 'updated one 111111')
  await events.return(undefined)
})

test('a mail without a code has no update', async () => {
  const reader = heldReader()
  fixture = await openCodeFixture({ parse: reader.parse, resultWaitMs: IMPATIENT })
  reader.hold()
  const events = follow()
  await fixture.send('', 'none')
  assert.equal(await next(events), 'message none unlooked')
  reader.release()
  while ((await fixture.list())[0]?.code === undefined) await new Promise(setImmediate)
  const { id: mailbox } = fixture.session
  const told = next(events)
  await fixture.send('', 'next')
  assert.equal((await told).split(' ')[1], 'next')
  assert.equal(fixture.woken.includes(mailbox), false)
  await events.return(undefined)
})

test('a code that another thread has found is told', async () => {
  fixture = await openCodeFixture()
  const events = follow({ codes: NO_LOOKS })
  const id = await fixture.send('111111', 'one')
  assert.equal(await next(events), 'message one unlooked')
  const update = next(events)
  const { id: mailbox } = fixture.session
  await fixture.store.saveCode({ mailbox, id, code: '111111' })
  fixture.bus.wake(mailbox)
  assert.equal(await update, 'updated one 111111')
  await events.return(undefined)
})

test('of what was there before, too: it is looked at because somebody watches', async () => {
  const reader = heldReader()
  fixture = await openCodeFixture({ parse: reader.parse })
  await fixture.send('111111', 'old')
  const sinceId = await fixture.send('222222', 'newer')
  reader.hold()
  const events = follow({ sinceId })
  const update = next(events)
  while (reader.read.length < 2) await new Promise(setImmediate)
  reader.release()
  const heard = [await update, await next(events)]
  assert.deepEqual(heard.sort(), ['updated newer 222222', 'updated old 111111'])
  await events.return(undefined)
})

test('who comes back is told the codes that were found meanwhile, of young mail', async () => {
  fixture = await openCodeFixture()
  const sinceId = await fixture.send('111111', 'one')
  const { id: mailbox } = fixture.session
  await fixture.store.saveCode({ mailbox, id: sinceId, code: '111111' })
  const back = follow({ sinceId })
  assert.equal(await next(back), 'updated one 111111')
  const soon = next(back)
  const later = () => new Date(Date.now() + 6 * 60_000)
  const others = [follow({ sinceId, now: later }), follow({ sinceId, resumes: false })]
  const heard = others.map(next)
  await fixture.send('222222', 'two')
  for (const told of [soon, ...heard]) assert.equal(await told, 'message two 222222')
  for (const events of [back, ...others]) await events.return(undefined)
})

test('a mail that goes away while it is looked at is not told, nor its end', async () => {
  const reader = heldReader()
  fixture = await openCodeFixture({ parse: reader.parse })
  reader.hold()
  const events = follow()
  const told = next(events)
  const id = await fixture.send('111111', 'gone')
  await fixture.send('222222', 'there')
  while (reader.read.length < 1) await new Promise(setImmediate)
  await deleteMail(fixture, fixture.token, id)
  reader.release()
  assert.equal(await told, 'message there 222222')
  await fixture.send('333333', 'last')
  assert.equal(await next(events), 'message last 333333')
  await events.return(undefined)
})

test('a deletion does not wait for the code of another', async () => {
  const reader = heldReader()
  fixture = await openCodeFixture({ parse: reader.parse })
  const id = await fixture.send('111111', 'one')
  const events = follow()
  assert.equal(await next(events), 'message one 111111')
  reader.hold()
  await fixture.send('222222', 'two')
  await deleteMail(fixture, fixture.token, id)
  assert.equal(await next(events), 'deleted')
  reader.release()
  assert.equal(await next(events), 'message two 222222')
  await events.return(undefined)
})
