import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'vitest'
import type { CodeScanner } from '../read/code-scanner.ts'
import { deleteMail } from '../read/read-mail.ts'
import { parseFilter } from '../rules/filter.ts'
import { liveSession } from '../sessions/session.ts'
import { type CodeFixture, NO_WAIT, openCodeFixture, SCAN } from '../testing/codes.ts'
import { nextEvent } from '../testing/events.ts'
import { countTurns } from '../testing/turns.ts'
import { mailboxState } from './check-mail.ts'
import { type MailEvent, mailEvents } from './events.ts'
import { changeFilter, listMatching, matchTest } from './filtered-mail.ts'

let fixture: CodeFixture
afterEach(() => fixture.close())

const HOUR_MS = 3_600_000
/** As if other threads scanned all mail. */
const NO_SCANS: CodeScanner = { scan: () => undefined, close: () => {} }
const HAS_CODE = parseFilter({ has_code: true }) ?? assert.fail()

function openStream(sinceId: number, resumes = true) {
  const { deps, token, session } = fixture
  return mailEvents(
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
  const event = await nextEvent(events)
  const { kind } = event
  assert.ok(kind === 'message' || kind === 'updated')
  const { subject } = event.message
  const id = kind === 'message' ? (event.resumeAfter ?? event.message.id) : undefined
  return { kind, subject, id }
}

describe('has_code on a stream', () => {
  test('a client never resumes after a message that is not scanned yet', async () => {
    fixture = await openCodeFixture()
    const events = openStream(0)
    const first = next(events)
    const one = await fixture.send('', 'one')
    const two = await fixture.send('', 'two')
    const three = await fixture.send('', 'three')
    await saveCode(three, '333333')
    assert.deepEqual(await first, { kind: 'message', subject: 'three', id: one - 1 })
    const second = next(events)
    await saveCode(one, '111111')
    assert.deepEqual(await second, { kind: 'message', subject: 'one', id: two - 1 })
    const third = next(events)
    await saveCode(two, '222222')
    assert.deepEqual(await third, { kind: 'message', subject: 'two', id: three })
    await events.return(undefined)
  })

  test('a message without a code, or deleted, holds nothing back', async () => {
    fixture = await openCodeFixture()
    const events = openStream(0)
    const event = next(events)
    await saveCode(await fixture.send('', 'none'), '')
    await deleteMail(fixture, fixture.token, await fixture.send('', 'deleted'))
    const id = await fixture.send('', 'last')
    await saveCode(id, '111111')
    assert.deepEqual(await event, { kind: 'message', subject: 'last', id })
    await events.return(undefined)
  })

  test('a client that resumes gets what it missed as `message`, and what it knows as `updated`', async () => {
    fixture = await openCodeFixture()
    const known = await fixture.send('', 'known')
    await saveCode(known, '111111')
    await saveCode(await fixture.send('', 'missed'), '222222')
    const events = openStream(known)
    assert.deepEqual(await next(events), { kind: 'updated', subject: 'known', id: undefined })
    assert.equal((await next(events)).kind, 'message')
    await events.return(undefined)
  })

  test('a message from before the start of the stream is new once it is scanned', async () => {
    fixture = await openCodeFixture()
    const id = await fixture.send('', 'earlier')
    const events = openStream(id, false)
    const event = next(events)
    // The first poll.
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
    await saveCode(id, '111111')
    assert.deepEqual(await event, { kind: 'message', subject: 'earlier', id })
    await events.return(undefined)
  })

  test('the deletion of a reported message is reported once', async () => {
    fixture = await openCodeFixture()
    const id = await fixture.send('', 'one')
    await saveCode(id, '111111')
    const [message] = await fixture.list()
    const filtered = changeFilter(HAS_CODE, 0)
    assert.equal(filtered({ kind: 'deleted', id }), undefined)
    assert.equal(filtered({ kind: 'message', message: message ?? assert.fail() })?.kind, 'message')
    assert.deepEqual(filtered({ kind: 'deleted', id }), { kind: 'deleted', id })
    assert.equal(filtered({ kind: 'deleted', id }), undefined)
  })
})

test('has_code: a wait asks again for the scan of a message for which the queue had no room', async () => {
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
  const isDone = matchTest({ ...deps, codes }, test)
  const poll = async () => isDone(mailboxState(deps, await liveSession(deps, token)))
  assert.equal(await poll(), false)
  while (!(await poll())) await new Promise(setImmediate)
})

test('other requests are served while a filter reads many long subjects', async () => {
  fixture = await openCodeFixture({ resultWaitMs: NO_WAIT })
  const { token, session, deps } = fixture
  for (let sent = 0; sent < 40; sent += 1) await fixture.send('', 'ᾷ'.repeat(998))
  const filter = parseFilter({ subject: 'not there' }) ?? assert.fail()
  const request = { filter, sinceId: 0, client: undefined }
  const codes = NO_SCANS
  const isDone = matchTest({ ...deps, codes }, request)
  for (const find of [
    () => listMatching({ ...deps, codes }, { token, session }, { ...request, limit: 100 }),
    async () => isDone(mailboxState(deps, await liveSession(deps, token))),
  ]) {
    const turns = countTurns()
    await find()
    turns.stop()
    // 10,000 characters each.
    assert.ok(turns.count() >= 3, `${turns.count()} turns`)
  }
})
