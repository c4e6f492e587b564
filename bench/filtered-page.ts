import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseFilter } from '../src/core/mail-filter.ts'
import { EMPTY_MAIL } from '../src/core/message.ts'
import { listEmails } from '../src/service/mail/emails.ts'
import { openReadOnly } from '../src/store/sqlite/files.ts'
import { keyMailReads } from '../src/store/sqlite/mail/key-mail.ts'
import type { KeyMailPage, KeyScope, MailStore } from '../src/store/store.ts'
import { startMayfly } from './contestants/mayfly.ts'
import { fillPool } from './tools/fill.ts'
import { runLoad } from './tools/http-load.ts'
import { whileSending } from './tools/intake.ts'
import { writeMail } from './tools/mail-text.ts'
import { benchFolder } from './tools/processes.ts'
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

// A page of /emails with a filter that nothing matches, over a large pool: how many rows it examines, how long it takes, and
// whether intake notices clients that request such pages all the time.

const quick = process.argv.includes('--quick')
const MESSAGES = quick ? 50_000 : 1_000_000
const PAGES = quick ? 20 : 50
const ROUNDS = quick ? 2 : 5
const SECONDS = 1
const READERS = 4

const PLAN = { id: 'bench', name: 'Bench', price_cents: 0, requests: 1_000_000_000 }
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

  const { rows, statements } = await countRows(join(data, 'mail.db'))
  reportTable(['one page', 'rows', 'statements'], [['no match', figure(rows), figure(statements)]])
  reportGoal('a page examines at most 5,000 messages', rows, rows <= 5_000)

  const plans = join(folder.path, 'plans.json')
  writeFileSync(plans, JSON.stringify([PLAN]))
  const env = { MAYFLY_PLANS_FILE: plans, MAYFLY_POOL_BYTES: '1000GB' }
  const mayfly = await startMayfly(data, env)
  const headers = { APIKey: issueKey({ ...env, MAYFLY_DATA: data }) }
  const times: { filtered: number[]; plain: number[] } = { filtered: [], plain: [] }
  for (let page = 0; page < PAGES; page += 1) {
    times.filtered.push(await timeRequest(`${mayfly.url}${PATH}`, headers))
    times.plain.push(
      await timeRequest(`${mayfly.url}/emails?limit=1&cursor=${cursor(page)}`, headers),
    )
  }
  reportTable(
    ['request, sequential', 'p50 ms', 'p99 ms'],
    [
      ['filtered page, no match', ...p50AndP99(times.filtered)],
      ['page of one record', ...p50AndP99(times.plain)],
    ],
  )

  const file = writeMail(join(folder.path, 'mail'), 4096)
  const flood = (path: string) => () =>
    runLoad({ url: `${mayfly.url}${path}`, headers, seconds: SECONDS, connections: READERS })
  const clients = [
    { name: 'alone', work: () => pause(SECONDS * 1_000) },
    {
      name: 'with ten filtered pages a second',
      async work() {
        for (let page = 0; page < SECONDS * 10; page += 1) {
          await Promise.all([pause(100), timeRequest(`${mayfly.url}${PATH}`, headers)])
        }
      },
    },
    { name: `with ${READERS} clients, unfiltered pages`, work: flood('/emails?limit=1') },
    { name: `with ${READERS} clients, filtered pages`, work: flood(PATH) },
  ]
  const results = await alternate(clients, ROUNDS, async ({ work }) => {
    const { mails } = await whileSending(mayfly, { senders: 20, reuse: true, file }, async () => {
      await work()
    })
    return mails
  })
  const [alone = []] = results.values()
  reportTable(
    ['intake, 4 KB, reused connections, 20 senders', 'mails/s', 'of alone'],
    [...results].map(([name, list]) => [name, spread(list), figure(median(list) / median(alone))]),
  )
  say(
    '- Clients, HTTP threads and intake share the cores; four clients keep the HTTP threads busy.',
  )
  await mayfly.stop()
}

/** What one page reads, counted at the store. */
async function countRows(file: string): Promise<{ rows: number; statements: number }> {
  const db = openReadOnly(file)
  const reads = keyMailReads(db)
  const counted = { rows: 0, statements: 0 }
  const store = {
    async listKeyMail(scope: KeyScope, page: KeyMailPage) {
      const found = reads.listKeyMail(scope, page)
      counted.rows += found.length
      counted.statements += 1
      return found
    },
  } as MailStore
  await listEmails(
    { store, parsed: async () => EMPTY_MAIL, poolAccess: 'open', now: () => new Date() },
    {
      keyId: 'bench',
      to: undefined,
      sinceId: 0,
      beforeId: undefined,
      limit: 100,
      filter: parseFilter({ subject: 'nothing matches' }),
    },
    { client: undefined },
  )
  db.close()
  return counted
}

/** A cursor that no earlier request used, so that the page is not cached. */
function cursor(page: number): string {
  return Buffer.from(`after ${Number.MAX_SAFE_INTEGER - page}`).toString('base64url')
}

async function timeRequest(url: string, headers: Record<string, string>): Promise<number> {
  const start = performance.now()
  const response = await fetch(url, { headers })
  await response.text()
  if (response.status !== 200) throw new Error(`${url} returned ${response.status}`)
  return performance.now() - start
}

function issueKey(env: Record<string, string>): string {
  const program = fileURLToPath(new URL('../bin/mayfly.js', import.meta.url))
  const args = [program, 'key', 'issue', '--plan', PLAN.id, '--json']
  const output = execFileSync(process.execPath, args, { env: { ...process.env, ...env } })
  return (JSON.parse(String(output)) as { key: string }).key
}

await main()
