import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { accountTopic, type Topic } from '../../core/session.ts'
import { makeRates, openMemoryLimit } from '../../limit/memory.ts'
import { liveSession } from '../sessions/session.ts'
import { type CodeFixture, openCodeFixture } from '../testing/codes.ts'
import { START } from '../testing/gmail.ts'
import { forcePoll, listMail } from './check-mail.ts'
import type { CodeScanner } from './code-scanner.ts'

let fixture: CodeFixture
afterEach(() => fixture.close())

const PAGE = { sinceId: 0, limit: 100 }
const list = (codes: Pick<CodeScanner, 'scan'> = fixture.codes) =>
  listMail({ ...fixture.deps, codes }, fixture, PAGE)

test('a list tells when some of it was not taken on to be looked at', async () => {
  fixture = await openCodeFixture()
  await fixture.send('111111')
  const full = { scan: () => ({ complete: false, found: async () => false }) }
  assert.equal((await list(full)).complete, false)
  const listed = await list()
  assert.deepEqual([listed.complete, listed.messages[0]?.code], [true, '111111'])
})

test('also when that came while it waited for the others', async () => {
  fixture = await openCodeFixture()
  await fixture.send('111111')
  let asked = 0
  const filling = {
    scan() {
      asked += 1
      const isFirst = asked === 1
      return { complete: isFirst, found: async () => isFirst }
    },
  }
  assert.equal((await list(filling)).complete, false)
})

test('it comes with the session as it is when the codes are noted', async () => {
  fixture = await openCodeFixture()
  await fixture.send('111111')
  const { session } = await list()
  assert.deepEqual(session, await liveSession(fixture, fixture.token))
})

test('a session that ends while its list waits opens nothing any more', async () => {
  fixture = await openCodeFixture()
  await fixture.send('111111')
  const ending = {
    scan: () => ({
      complete: true,
      async found() {
        await fixture.store.endSession(fixture.session.id, fixture.now())
        return true
      },
    }),
  }
  await assert.rejects(list(ending), { code: 'invalid_token' })
})

let now: Date
let woken: Topic[]
let deps: Parameters<typeof forcePoll>[0]
beforeEach(() => {
  now = START
  woken = []
  deps = {
    bus: { wake: (mailbox) => void woken.push(mailbox) },
    limit: openMemoryLimit(makeRates()),
    now: () => now,
  }
})

test('a look is asked for at the session’s own account', async () => {
  await forcePoll(deps, { accountId: 7 })
  assert.deepEqual(woken, [accountTopic(7)])
})

test('of many at once one is passed on, and the next after a few seconds; each account counts by itself', async () => {
  await Promise.all(Array.from({ length: 50 }, () => forcePoll(deps, { accountId: 7 })))
  await forcePoll(deps, { accountId: 8 })
  assert.deepEqual(woken, [accountTopic(7), accountTopic(8)])
  now = new Date(START.getTime() + 2_999)
  await forcePoll(deps, { accountId: 7 })
  assert.equal(woken.length, 2)
  now = new Date(START.getTime() + 3_000)
  await forcePoll(deps, { accountId: 7 })
  assert.equal(woken.length, 3)
})

test('a session at a mail domain asks nobody', async () => {
  await forcePoll(deps, { accountId: undefined })
  assert.deepEqual(woken, [])
})
