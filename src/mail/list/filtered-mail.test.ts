import { afterEach, describe, expect, test } from 'vitest'
import { countTurns } from '../../../test/kit/mail/turns.ts'
import type { CodeScanner } from '../read/code-scanner.ts'
import { deleteMail } from '../read/read-mail.ts'
import { parseFilter } from '../rules/filter.ts'
import { liveSession } from '../sessions/session.ts'
import { type CodeFixture, NO_WAIT, openCodeFixture, SCAN } from '../testing/codes.ts'
import { type MailEvent, openMailEvents } from './events.ts'
import { listMatching, matchTest } from './filtered-mail.ts'

let fixture: CodeFixture
afterEach(() => fixture.close())

const HOUR_MS = 3_600_000
/** As if other threads scanned all mail. */
const NO_SCANS: CodeScanner = { scan: () => undefined, close: () => {} }
const HAS_CODE = parseFilter({ has_code: true }) ?? expect.fail()

function openStream(sinceId: number, resumes = true) {
  const { deps, token, session } = fixture
  return openMailEvents(
    { ...deps, codes: NO_SCANS },
    {
      token,
      session,
      sinceId,
      filter: HAS_CODE,
      resumes,
      heartbeatMs: HOUR_MS,
      pollMs: HOUR_MS,
      signal: new AbortController().signal,
    },
  )
}

async function saveCode(id: number, code: string): Promise<void> {
  const { id: mailbox } = fixture.session
  await fixture.store.saveScan({ ...SCAN, mailbox, id, code })
  fixture.bus.wake(mailbox)
}

/** The next event; `id` is where a client resumes after it. */
async function next(events: AsyncGenerator<MailEvent>) {
  const { value: event } = await events.next()
  expect(event?.kind === 'message' || event?.kind === 'updated').toBeTruthy()
  const id = event.kind === 'message' ? event.resumeAfter : undefined
  return { kind: event.kind, subject: event.message.subject, id }
}

describe('has_code on a stream', () => {
  test('a client never resumes after a message that is not scanned yet', async () => {
    fixture = await openCodeFixture()
    const events = await openStream(0)
    const first = next(events)
    const one = await fixture.send('', 'one')
    const two = await fixture.send('', 'two')
    const three = await fixture.send('', 'three')
    await saveCode(three, '333333')
    expect(await first).toStrictEqual({ kind: 'message', subject: 'three', id: one - 1 })
    const second = next(events)
    await saveCode(one, '111111')
    expect(await second).toStrictEqual({ kind: 'message', subject: 'one', id: two - 1 })
    const third = next(events)
    await saveCode(two, '222222')
    expect(await third).toStrictEqual({ kind: 'message', subject: 'two', id: three })
    await events.return(undefined)
  })

  test('a message without a code, or deleted, holds nothing back', async () => {
    fixture = await openCodeFixture()
    const events = await openStream(0)
    const event = next(events)
    await saveCode(await fixture.send('', 'none'), '')
    await deleteMail(fixture, fixture.token, await fixture.send('', 'deleted'))
    const id = await fixture.send('', 'last')
    await saveCode(id, '111111')
    expect(await event).toStrictEqual({ kind: 'message', subject: 'last', id })
    await events.return(undefined)
  })

  test('a client that resumes gets what it missed as `message`, and what it knows as `updated`', async () => {
    fixture = await openCodeFixture()
    const known = await fixture.send('', 'known')
    await saveCode(known, '111111')
    await saveCode(await fixture.send('', 'missed'), '222222')
    const events = await openStream(known)
    expect(await next(events)).toStrictEqual({ kind: 'updated', subject: 'known', id: undefined })
    expect((await next(events)).kind).toBe('message')
    await events.return(undefined)
  })

  test('a message from before the start of the stream is new once it is scanned', async () => {
    fixture = await openCodeFixture()
    // Never scanned: a client resumes before it, and then still gets it as new.
    const first = await fixture.send('', 'first')
    const id = await fixture.send('', 'earlier')
    const events = await openStream(id, false)
    const event = next(events)
    // The first poll.
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
    await saveCode(id, '111111')
    expect(await event).toStrictEqual({ kind: 'message', subject: 'earlier', id: first - 1 })
    await events.return(undefined)
  })

  test('only the deletion of a reported message is reported', async () => {
    fixture = await openCodeFixture()
    const events = await openStream(0)
    const none = await fixture.send('', 'none')
    await saveCode(none, '')
    const id = await fixture.send('', 'one')
    await saveCode(id, '111111')
    expect((await next(events)).kind).toBe('message')
    for (const gone of [none, id]) await deleteMail(fixture, fixture.token, gone)
    expect((await events.next()).value).toStrictEqual({ kind: 'deleted', id })
    await events.return(undefined)
  })
})

test('has_code: a wait asks again for a scan for which the queue had no room, and else reads only changes', async () => {
  fixture = await openCodeFixture({ resultWaitMs: NO_WAIT })
  const { token, deps } = fixture
  const test = { filter: HAS_CODE, sinceId: 0, client: undefined }
  await fixture.send('111111', 'one')
  let requests = 0
  const codes: CodeScanner = {
    ...fixture.codes,
    scan(...request) {
      requests += 1
      const isFull = requests === 1
      return isFull ? { complete: false, found: async () => false } : fixture.codes.scan(...request)
    },
  }
  let reads = 0
  const listMessages: typeof deps.store.listMessages = (...page) => {
    reads += 1
    return deps.store.listMessages(...page)
  }
  const store = { ...deps.store, listMessages }
  const isDone = matchTest({ ...deps, store, codes }, test)
  const poll = async () => isDone(await liveSession(deps, token))
  expect(await poll()).toBe(false)
  while (!(await poll())) await new Promise(setImmediate)
  expect(reads, 'without room, with room, with the result').toBe(3)
})

test('other requests are served while a filter reads many long subjects', async () => {
  fixture = await openCodeFixture({ resultWaitMs: NO_WAIT })
  const { token, session, deps } = fixture
  for (let sent = 0; sent < 40; sent += 1) await fixture.send('', 'ᾷ'.repeat(998))
  const filter = parseFilter({ subject: 'not there' }) ?? expect.fail()
  const request = { filter, sinceId: 0, client: undefined }
  const codes = NO_SCANS
  const isDone = matchTest({ ...deps, codes }, request)
  for (const find of [
    () => listMatching({ ...deps, codes }, { token, session }, { ...request, limit: 100 }),
    async () => isDone(await liveSession(deps, token)),
  ]) {
    const turns = countTurns()
    await find()
    turns.stop()
    // 10,000 characters each.
    expect(turns.count(), `${turns.count()} turns`).toBeGreaterThanOrEqual(3)
  }
})
