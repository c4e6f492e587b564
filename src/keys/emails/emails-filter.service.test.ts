import { afterAll, beforeAll, expect, test } from 'vitest'
import { countTurns } from '../../../test/kit/mail/turns.ts'
import { openSqliteTestMail } from '../../../test/kit/store/stores.ts'
import { parseAddress, parseHost } from '../../base/address.ts'
import { openStepScheduler } from '../../mail/read/step-scheduler.ts'
import { parseFilter } from '../../mail/rules/filter.ts'
import { POOL } from '../../mail/rules/session.ts'
import { EMPTY_MAIL } from '../../shared/mail.ts'
import type { Store } from '../../store/store.ts'
import { type EmailQuery, emailMatchTest, MAX_EXAMINED, newestEmailId } from './emails.ts'
import { listEmails } from './list-emails.ts'

const MESSAGES = 12_000
/** The oldest, with long subjects. */
const LONG = 40
const LONG_TO = parseAddress('long@pool.test') ?? expect.fail()
const now = () => new Date('2026-03-01T12:00:00Z')

let opened: Awaited<ReturnType<typeof openSqliteTestMail>>
beforeAll(async () => {
  opened = await openSqliteTestMail({
    mailbox: { maxMessages: 1_000_000, maxBytes: 100_000_000 },
    poolMaxBytes: 1_000_000_000,
    ownMaxBytes: 1_000_000_000,
    maxMailBytes: 1_000,
  })
  const [address, name] = [parseAddress('any@pool.test'), parseHost('pool.test')]
  if (!address || !name) throw new Error('a good address')
  await opened.store.addDomain({ name, sessions: true, reader: true, ttlSeconds: undefined })
  const send = (subject: string, to = address) =>
    opened.store.addMail({
      recipients: [{ address: to, mailbox: POOL }],
      envelope: { clientIp: '', helo: '', mailFrom: '', tls: undefined, protocol: 'SMTP' },
      head: { senderName: '', senderEmail: 'ann@shop.test', subject },
      raw: new Uint8Array([1]),
      receivedAt: now(),
    })
  for (let sent = 0; sent < LONG; sent += 1) await send('ᾷ'.repeat(998), LONG_TO)
  await send('wanted')
  // Concurrent, so that they share commits; the oldest and the newest are single.
  await Promise.all(Array.from({ length: MESSAGES - LONG - 2 }, (_, at) => send(`other ${at}`)))
  await send('newest')
})
afterAll(() => opened.close())

/** Counts the rows that are examined of the mail of a key, and those that are read whole. */
function countingDeps() {
  let rows = 0
  let whole = 0
  const listKeyMailHeads: Store['listKeyMailHeads'] = async (scope, page) => {
    const found = await opened.store.listKeyMailHeads(scope, page)
    rows += found.length
    return found
  }
  const readKeyMail: Store['readKeyMail'] = async (scope, ids) => {
    const found = await opened.store.readKeyMail(scope, ids)
    whole += found.length
    return found
  }
  const deps = {
    store: {
      ...opened.store,
      listKeyMailHeads,
      readKeyMail,
      listKeyMail: async () => expect.fail(),
    },
    parsed: async () => EMPTY_MAIL,
    steps: openStepScheduler(),
    poolAccess: 'open' as const,
    now,
  }
  return { deps, rows: () => rows, whole: () => whole }
}

const NOBODY = { client: undefined, toJson: (record: object) => record, reserve: () => {} }

const queryFor = (subject: string): EmailQuery => ({
  keyId: 'key',
  to: undefined,
  sinceId: 0,
  beforeId: undefined,
  limit: 10,
  filter: parseFilter({ subject }),
})

test('a filtered page examines at most 5,000 messages, and the next one goes on there', async () => {
  const pages: { found: number; rows: number; whole: number }[] = []
  let beforeId: number | undefined
  do {
    const { deps, rows, whole } = countingDeps()
    const query = { ...queryFor('wanted'), beforeId }
    const page = await listEmails(deps, query, NOBODY)
    pages.push({ found: page.records.length, rows: rows(), whole: whole() })
    beforeId = page.nextAfter
  } while (beforeId !== undefined)
  expect(pages).toStrictEqual([
    { found: 0, rows: MAX_EXAMINED, whole: 0 },
    { found: 0, rows: MAX_EXAMINED, whole: 0 },
    { found: 1, rows: MESSAGES - 2 * MAX_EXAMINED, whole: 1 },
  ])
})

test('a page that is full examines no more than it needs', async () => {
  const { deps, rows } = countingDeps()
  const { records, nextAfter } = await listEmails(deps, queryFor('other'), NOBODY)
  expect([records.length, nextAfter]).toStrictEqual([10, records.at(-1)?.id])
  expect(rows(), `${rows()} rows`).toBeLessThanOrEqual(500)
})

test('a full page ends with the rows that were read for it, and the next one goes on there', async () => {
  const { deps, rows } = countingDeps()
  const query = { ...queryFor('newest'), limit: 1 }
  const first = await listEmails(deps, query, NOBODY)
  expect([first.records.length, rows()]).toStrictEqual([1, 500])
  const rest = { ...query, sinceId: 0, beforeId: first.nextAfter }
  expect((await listEmails(deps, rest, NOBODY)).records).toStrictEqual([])
})

test('a wait tests each message once, and knows where it stopped', async () => {
  const { deps, rows } = countingDeps()
  const query = queryFor('wanted')
  const newest = await newestEmailId(deps, query)
  const before = rows()
  const { isFound, nextAfter } = emailMatchTest(deps, query, query.filter ?? expect.fail(), NOBODY)
  const newestId = async () => newest
  expect(await isFound({ newestId })).toBe(false)
  expect(rows() - before).toBe(MAX_EXAMINED)
  expect(await isFound({ newestId })).toBe(false)
  expect(rows() - before).toBe(MAX_EXAMINED)
  const page = await listEmails(deps, query, NOBODY)
  expect(page.nextAfter).toBeTruthy()
  expect(nextAfter()).toBe(page.nextAfter)
})

test('a wait for which all messages were tested has nothing more to examine', async () => {
  const { deps } = countingDeps()
  const [{ id = 0 } = {}] = await opened.store.listKeyMail(
    { keyId: 'key', pool: true, to: undefined, now: now() },
    { sinceId: 0, beforeId: undefined, limit: 1 },
  )
  const query = { ...queryFor('not there'), sinceId: id - 1 }
  const { isFound, nextAfter } = emailMatchTest(deps, query, query.filter ?? expect.fail(), NOBODY)
  expect(await isFound({ newestId: async () => id })).toBe(false)
  expect(nextAfter()).toBeUndefined()
})

test('other requests are served while a filter reads many long subjects', async () => {
  const { deps, rows } = countingDeps()
  const query = { ...queryFor('not there'), to: LONG_TO }
  const turns = countTurns()
  await listEmails(deps, query, NOBODY)
  turns.stop()
  expect(rows()).toBe(LONG)
  // 10,000 characters each.
  expect(turns.count(), `${turns.count()} turns`).toBeGreaterThanOrEqual(3)
})
