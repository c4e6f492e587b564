import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { listEmails } from '../src/keys/emails/list-emails.ts'
import { openStepScheduler } from '../src/mail/read/step-scheduler.ts'
import { parseFilter } from '../src/mail/rules/filter.ts'
import type { KeyMailPage, KeyScope } from '../src/mail/store.ts'
import { EMPTY_MAIL } from '../src/shared/mail.ts'
import { openReadOnly } from '../src/store/sqlite/files.ts'
import { keyMailReads } from '../src/store/sqlite/mail/key-mail.ts'
import type { Store } from '../src/store/store.ts'
import { type Mayfly, startMayfly } from './contestants/mayfly.ts'
import { fillPool } from './tools/fill.ts'
import { runLoad } from './tools/http-load.ts'
import { sendAtRate, whileSending } from './tools/intake.ts'
import { issueKey, UNLIMITED, unlimitedPlan } from './tools/keys.ts'
import { writeMail } from './tools/mail-text.ts'
import { quick } from './tools/options.ts'
import { benchFolder, threadTimes } from './tools/processes.ts'
import {
  alternate,
  figure,
  median,
  p50AndP99,
  progress,
  reportGoal,
  reportHeader,
  reportTable,
  say,
  spread,
} from './tools/report.ts'

// A page of /emails with a filter that nothing matches, over a large pool: how many rows the store returns for it, how long it
// takes, and whether intake notices clients that request such pages all the time: at a bounded rate, and at full load.

const MESSAGES = quick ? 50_000 : 1_000_000
const PAGES = quick ? 20 : 50
const ROUNDS = quick ? 2 : 5
const SECONDS = 1
const READERS = 4
// Far from what the machine can take.
const PACED = { perSecond: 300, seconds: quick ? 2 : 10 }
const PAGES_PER_SECOND = 10

const PATH = '/emails?subject=nothing+matches'

async function main(): Promise<void> {
  reportHeader('Filtered pages', 'filtered-page')
  const folder = benchFolder()
  const data = folder.inside('data')
  progress(`filling the pool with ${figure(MESSAGES)} messages`)
  fillPool(data, MESSAGES)
  say(
    `- Settings: ${MESSAGES.toLocaleString('en-US')} messages in the pool, SQLite, default threads`,
  )

  const { returned, statements } = await countReturnedRows(join(data, 'mail.db'))
  reportTable(
    ['one page', 'rows returned', 'statements'],
    [['no match', figure(returned), figure(statements)]],
  )
  reportGoal('the store returns at most 5,000 rows for a page', returned, returned <= 5_000)

  const env = { ...unlimitedPlan(folder.path), MAYFLY_POOL_BYTES: '1000GB' }
  const mayfly = await startMayfly(data, env)
  const headers = { APIKey: issueKey(UNLIMITED, { ...env, MAYFLY_DATA: data }) }
  await timePages(mayfly, headers)
  await comparePaced(mayfly, headers)
  await compareFullLoad(mayfly, headers, writeMail(join(folder.path, 'mail'), 4096))
  await mayfly.stop()
}

type Headers = Record<string, string>

async function timePages({ url }: Mayfly, headers: Headers): Promise<void> {
  const times: { filtered: number[]; plain: number[] } = { filtered: [], plain: [] }
  for (let page = 0; page < PAGES; page += 1) {
    times.filtered.push(await timeRequest(`${url}${PATH}`, headers))
    times.plain.push(await timeRequest(`${url}/emails?limit=1&cursor=${cursor(page)}`, headers))
  }
  reportTable(
    ['request, sequential', 'p50 ms', 'p99 ms'],
    [
      ['filtered page, no match', ...p50AndP99(times.filtered)],
      ['page of one record', ...p50AndP99(times.plain)],
    ],
  )
}

/** Requests filtered pages one after the other, at most at a fixed rate. Returns the rate that was reached. */
async function requestPages({ url }: Mayfly, headers: Headers, seconds: number): Promise<number> {
  const count = seconds * PAGES_PER_SECOND
  const start = performance.now()
  for (let page = 0; page < count; page += 1) {
    await Promise.all([pause(1000 / PAGES_PER_SECOND), timeRequest(`${url}${PATH}`, headers)])
  }
  return count / ((performance.now() - start) / 1000)
}

const PAGES_NAME = `with up to ${PAGES_PER_SECOND} filtered pages a second`

/** At a bounded rate: the times of the senders, and the CPU time of the threads that receive mail. */
async function comparePaced(mayfly: Mayfly, headers: Headers): Promise<void> {
  const { perSecond, seconds } = PACED
  const clients = [
    { name: 'alone', work: async () => 0 },
    { name: PAGES_NAME, work: () => requestPages(mayfly, headers, seconds) },
  ]
  const results = await alternate(clients, ROUNDS, async ({ work }) => {
    const before = threadTimes(mayfly.pid)
    const [times, pages] = await Promise.all([sendAtRate(mayfly, PACED), work()])
    const after = threadTimes(mayfly.pid)
    const cpu = (thread: RegExp) =>
      [...after].reduce(
        (sum, [name, s]) => sum + (thread.test(name) ? s - (before.get(name) ?? 0) : 0),
        0,
      )
    const perMail = (thread: RegExp) => (cpu(thread) / times.mails) * 1e6
    return { ...times, pages, writer: perMail(/^mail-writer$/), smtp: perMail(/^smtp-/) }
  })
  const rows = [...results].map(([name, list]) => {
    const of = (field: 'perSecond' | 'pages' | 'p50Ms' | 'p99Ms' | 'writer' | 'smtp') =>
      list.map((one) => one[field])
    return { name, of }
  })
  reportTable(
    ['intake, 4 KB, 300 mails/s', 'mails/s', 'pages/s', 'p50 ms', 'p99 ms', 'writer µs', 'SMTP µs'],
    rows.map(({ name, of }) => [
      name,
      figure(median(of('perSecond'))),
      figure(median(of('pages'))),
      ...(['p50Ms', 'p99Ms', 'writer', 'smtp'] as const).map((field) => spread(of(field))),
    ]),
  )
  say(
    `- ${perSecond} mails a second for ${seconds} s, over 20 connections; times from the last byte to the 250, CPU time of the threads per mail.`,
  )
  const [alone, withPages] = rows
  if (!alone || !withPages) return
  const ratio = (field: 'p50Ms' | 'p99Ms' | 'writer' | 'smtp') =>
    median(withPages.of(field)) / median(alone.of(field))
  reportGoal('p50 with pages at most 1.1 of alone', ratio('p50Ms'), ratio('p50Ms') <= 1.1)
  reportGoal('p99 with pages at most 1.5 of alone', ratio('p99Ms'), ratio('p99Ms') <= 1.5)
  for (const [name, field] of [
    ['writer', 'writer'],
    ['SMTP threads', 'smtp'],
  ] as const) {
    const value = ratio(field)
    reportGoal(`CPU of the ${name} per mail with pages at most 1.1 of alone`, value, value <= 1.1)
  }
}

/** Where senders and pages compete for every core. */
async function compareFullLoad(mayfly: Mayfly, headers: Headers, file: string): Promise<void> {
  const flood = (path: string) => async () => {
    const load = { headers, seconds: SECONDS, connections: READERS }
    return (await runLoad({ ...load, url: `${mayfly.url}${path}` })).perSecond
  }
  const clients = [
    { name: 'alone', work: () => pause(SECONDS * 1_000, 0) },
    { name: PAGES_NAME, work: () => requestPages(mayfly, headers, SECONDS) },
    { name: `with ${READERS} clients, unfiltered pages`, work: flood('/emails?limit=1') },
    { name: `with ${READERS} clients, filtered pages`, work: flood(PATH) },
  ]
  const results = await alternate(clients, ROUNDS, ({ work }) =>
    whileSending(mayfly, { senders: 20, reuse: true, file }, work),
  )
  const rows = [...results].map(([name, list]) => {
    return { name, mails: list.map(({ mails }) => mails), pages: list.map(({ result }) => result) }
  })
  const alone = median(rows[0]?.mails ?? [])
  reportTable(
    ['intake at full load, 4 KB, reused connections, 20 senders', 'mails/s', 'of alone', 'pages/s'],
    rows.map(({ name, mails, pages }) => [
      name,
      spread(mails),
      figure(median(mails) / alone),
      figure(median(pages)),
    ]),
  )
  say(
    '- Clients, HTTP threads and intake share the cores; four clients keep the HTTP threads busy.',
  )
}

/** What the store returns for one page. SQLite itself may read more: it skips mail of sessions that have ended. */
async function countReturnedRows(file: string): Promise<{ returned: number; statements: number }> {
  const db = openReadOnly(file)
  const reads = keyMailReads(db)
  const counted = { returned: 0, statements: 0 }
  const store = {
    async listKeyMailHeads(scope: KeyScope, page: KeyMailPage) {
      const found = reads.listKeyMailHeads(scope, page)
      counted.returned += found.length
      counted.statements += 1
      return found
    },
  } as Store
  await listEmails(
    {
      store,
      parsed: async () => EMPTY_MAIL,
      steps: openStepScheduler(),
      poolAccess: 'open',
      now: () => new Date(),
    },
    {
      keyId: 'bench',
      to: undefined,
      sinceId: 0,
      beforeId: undefined,
      limit: 100,
      filter: parseFilter({ subject: 'nothing matches' }),
    },
    { client: undefined, toJson: (record) => record, reserve: () => {} },
  )
  db.close()
  return counted
}

/** A cursor that no earlier request used, so that the page is not cached. */
function cursor(page: number): string {
  return Buffer.from(`after ${Number.MAX_SAFE_INTEGER - page}`).toString('base64url')
}

async function timeRequest(url: string, headers: Headers): Promise<number> {
  const start = performance.now()
  const response = await fetch(url, { headers })
  await response.text()
  if (response.status !== 200) throw new Error(`${url} returned ${response.status}`)
  return performance.now() - start
}

await main()
