import { afterEach, beforeEach, expect, test } from 'vitest'
import { START } from '../../../test/kit/gmail/gmail.ts'
import { makeRates, openMemoryLimit } from '../../limit/memory.ts'
import type { CodeScanner } from '../read/code-scanner.ts'
import { accountTopic, type Topic } from '../rules/session.ts'
import { liveSession } from '../sessions/session.ts'
import { type CodeFixture, openCodeFixture } from '../testing/codes.ts'
import { forcePoll, listMail } from './check-mail.ts'

let fixture: CodeFixture
afterEach(() => fixture.close())

const PAGE = { sinceId: 0, limit: 100 }
const list = (codes: Pick<CodeScanner, 'scan'> = fixture.codes) =>
  listMail({ ...fixture.deps, codes }, fixture, PAGE)

test('a list is incomplete if some of its messages were not accepted for scanning', async () => {
  fixture = await openCodeFixture()
  await fixture.send('111111')
  const fullQueue = { scan: () => ({ complete: false, found: async () => false }) }
  expect((await list(fullQueue)).complete).toBe(false)
  const listed = await list()
  expect([listed.complete, listed.messages[0]?.code]).toStrictEqual([true, '111111'])
})

test('a list is incomplete if that happens while it waits for other codes', async () => {
  fixture = await openCodeFixture()
  await fixture.send('111111')
  let scans = 0
  const fillingUp = {
    scan() {
      scans += 1
      const isFirst = scans === 1
      return { complete: isFirst, found: async () => isFirst }
    },
  }
  expect((await list(fillingUp)).complete).toBe(false)
})

test('a list is returned with the session as read after the codes were saved', async () => {
  fixture = await openCodeFixture()
  await fixture.send('111111')
  const { session } = await list()
  expect(session).toStrictEqual(await liveSession(fixture, fixture.token))
})

test('a session that ends while its list waits is an invalid token', async () => {
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
  await expect(list(ending)).rejects.toMatchObject({ code: 'invalid_token' })
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

test('forcePoll wakes the account of the session', async () => {
  await forcePoll(deps, { accountId: 7 })
  expect(woken).toStrictEqual([accountTopic(7)])
})

test('concurrent forced polls are passed on once per account in three seconds', async () => {
  await Promise.all(Array.from({ length: 50 }, () => forcePoll(deps, { accountId: 7 })))
  await forcePoll(deps, { accountId: 8 })
  expect(woken).toStrictEqual([accountTopic(7), accountTopic(8)])
  now = new Date(START.getTime() + 2_999)
  await forcePoll(deps, { accountId: 7 })
  expect(woken.length).toBe(2)
  now = new Date(START.getTime() + 3_000)
  await forcePoll(deps, { accountId: 7 })
  expect(woken.length).toBe(3)
})

test('forcePoll for a session at a mail domain wakes nothing', async () => {
  await forcePoll(deps, { accountId: undefined })
  expect(woken).toStrictEqual([])
})
