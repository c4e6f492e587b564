import { rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { startMayfly } from './contestants/mayfly.ts'
import { fill, MESSAGES_EACH, tokenOf } from './tools/fill.ts'
import {
  ifNoneMatch,
  measureRequests,
  pollPath,
  REQUEST_COLUMNS,
  type RequestResult,
  requestCells,
  requestEach,
} from './tools/http-load.ts'
import { whileTimingIntake } from './tools/intake.ts'
import { options, quick } from './tools/options.ts'
import { benchFolder } from './tools/processes.ts'
import {
  alternate,
  figure,
  median,
  progress,
  reportGoal,
  reportHeader,
  reportTable,
  say,
  spread,
} from './tools/report.ts'
import {
  dropFromPageCache,
  fileMb,
  filledStore,
  type IntakeLoadResult,
  liveSessions,
  loadIntake,
  mailFile,
  type Running,
  readMailPaths,
  readStore,
  type Store,
  timeSweep,
} from './tools/stored.ts'

// Does the service slow down with the amount of stored mail? The same measurements on a small and a large store, alternating.
// `--data FOLDER` keeps the large store there and uses it again; `--part NAME` runs only that part, with `--rounds N`.

const PARTS = ['requests', 'intake', 'sweep', 'start'] as const
const parts = options.part ?? PARTS
const ROUNDS = quick ? 1 : Number(options.rounds ?? 5)
const SECONDS = quick ? 1 : 2
const MAIL_BYTES = 1_000
const FEW = quick ? 5_000 : 10_000
const MANY = quick ? 50_000 : 10_000_000
const MAILBOXES = 500
const LIMITS_EACH = 4
const READS = 600
const SENDERS = 20
const NEWEST = FEW / MESSAGES_EACH
const SWEEP_SENDERS = 4
const SWEPT_SESSIONS = FEW / MESSAGES_EACH / 2
const LARGE_SWEEP_SESSIONS = quick ? 1_000 : 20_000
const WORST_RATIO = 1.1
const MAX_START_MS = 1_000
const MAX_WAL_MB = 128

const started = performance.now()
let largestWalMb = 0

async function main(): Promise<void> {
  reportHeader('Amount of stored mail', 'scale')
  say(
    `- Settings: mails of ${figure(MAIL_BYTES)} bytes, ${MESSAGES_EACH} per session, written through the store in transactions of 5,000 sessions without fsync, each mail to the next of them; ${ROUNDS} round(s), alternating; one HTTP and one SMTP thread; everything on the same machine`,
    '- Ratio: large store to small store, of CPU per operation unless stated otherwise; the goal is at most 1.1.',
  )
  const { path: folder } = benchFolder()
  const large = filledStore(options.data ? resolve(options.data) : folder, MANY, MAIL_BYTES)
  const stores = [filledStore(folder, FEW, MAIL_BYTES), large]
  reportFiles('before', stores)
  if (parts.includes('requests') || parts.includes('intake')) {
    const running = await Promise.all(
      stores.map(async (store) => ({ ...store, ...(await startMayfly(store.path)) })),
    )
    const watch = watchWal(large)
    if (parts.includes('requests')) await measureRequestCases(running)
    if (parts.includes('intake')) await measureIntake(running)
    clearInterval(watch)
    for (const service of running) await service.stop()
  }
  if (parts.includes('sweep')) await measureSweeps(large)
  // Last, because it empties the page cache.
  if (parts.includes('start')) await measureStart(stores)
  reportFiles('after', stores)
  reportGoal(
    `largest WAL in MB, at most ${MAX_WAL_MB}, twice what the writer truncates it to`,
    largestWalMb,
    largestWalMb <= MAX_WAL_MB,
  )
  say(`- The run took ${figure((performance.now() - started) / 60_000)} minutes.`)
}

function reportFiles(when: string, stores: readonly Store[]): void {
  reportTable(
    [`files, ${when}`, 'mail.db MB', 'free pages MB', 'WAL MB'],
    stores.map((store) => {
      const freePages = readStore(store, (db) => db.pragma('freelist_count', { simple: true }))
      const file = mailFile(store)
      const freeMb = (Number(freePages) * 4096) / 1e6
      return [store.name, figure(fileMb(file)), figure(freeMb), figure(fileMb(`${file}-wal`))]
    }),
  )
}

function watchWal(store: Store): NodeJS.Timeout {
  return setInterval(() => {
    largestWalMb = Math.max(largestWalMb, fileMb(`${mailFile(store)}-wal`))
  }, 100)
}

const KINDS = ['after a clean stop', 'after intake and SIGKILL', 'clean, not in the page cache']

/** From the start of the process to its first HTTP response, which comes last. */
async function measureStart(stores: readonly Store[]): Promise<void> {
  const rows: string[][] = []
  const goals: [string, number][] = []
  for (const kind of KINDS) {
    const results = await alternate(stores, ROUNDS, async (store) => {
      if (kind === KINDS[2]) dropFromPageCache(store)
      const start = performance.now()
      const mayfly = await startMayfly(store.path)
      const ms = performance.now() - start
      if (kind === KINDS[1]) {
        await whileTimingIntake(mayfly, SENDERS, () => pause(500)).catch(() => {})
        await mayfly.kill()
      } else await mayfly.stop()
      return ms
    })
    for (const [name, list] of results) {
      rows.push([kind, name, spread(list)])
      goals.push([`start, ${kind}, ${name}: under ${MAX_START_MS} ms`, median(list)])
    }
  }
  reportTable(['start', 'store', 'ms'], rows)
  for (const [goal, ms] of goals) reportGoal(goal, ms, ms < MAX_START_MS)
}

type RequestCase = { name: string; run(store: Running): Promise<RequestResult> }

async function measureRequestCases(stores: readonly Running[]): Promise<void> {
  const rows: string[][] = []
  const ratios: [string, number][] = []
  for (const { name, run } of requestCases()) {
    progress(name)
    const results = await alternate(stores, ROUNDS, run)
    for (const [store, list] of results) rows.push([name, store, ...requestCells(list)])
    ratios.push([name, ratioOf(results, ({ cpuPerThousand }) => cpuPerThousand)])
  }
  reportTable(['request', 'store', ...REQUEST_COLUMNS], rows)
  reportRatios(ratios)
}

/** Large store to small store, of the medians. */
function ratioOf<R>(results: ReadonlyMap<string, R[]>, costOf: (result: R) => number): number {
  const [few = 0, many = 0] = [...results.values()].map((list) => median(list.map(costOf)))
  return many / few
}

function reportRatios(ratios: readonly [string, number][]): void {
  for (const [name, ratio] of ratios)
    reportGoal(`${name}: ratio at most ${WORST_RATIO}`, ratio, ratio <= WORST_RATIO)
}

function requestCases(): RequestCase[] {
  const load = (store: Running, path: string, headers = {}) =>
    measureRequests(store, { path, headers, seconds: SECONDS, connections: 32 })
  const list = (store: Running) => pollPath(tokenOf(store.sessions[0] ?? 0))
  const spreadOut = sessionPicker()
  let limit = 100
  return [
    { name: 'check-mail, list', run: (store) => load(store, list(store)) },
    {
      name: 'check-mail, 304',
      run: async (store) => load(store, list(store), await ifNoneMatch(store, list(store))),
    },
    {
      name: `check-mail, not cached: ${MAILBOXES} mailboxes, ${LIMITS_EACH} lists each`,
      // A list is cached by its limit.
      run: (store) => {
        const tokens = spreadOut(store, MAILBOXES).map(tokenOf)
        const limits = Array.from({ length: LIMITS_EACH }, (_, at) => limit + at)
        limit += LIMITS_EACH
        return requestEach(
          store,
          limits.flatMap((most) => tokens.map((token) => `${pollPath(token)}&limit=${most}`)),
        )
      },
    },
    {
      name: 'read-mail, from memory',
      run: (store) => load(store, readMailPaths(store, store.sessions.slice(0, 1))[0] ?? ''),
    },
    {
      name: `read-mail, first read of ${READS} messages`,
      run: (store) =>
        requestEach(store, readMailPaths(store, spreadOut(store, READS / MESSAGES_EACH))),
    },
  ]
}

/** Sessions spread over a store; none is picked twice before all are. */
function sessionPicker(): (store: Store, count: number) => number[] {
  // Prime, so that it has no common factor with the number of sessions.
  const STEP = 7_919
  const next = new Map<string, number>()
  return ({ name, sessions }, count) => {
    const from = next.get(name) ?? Math.floor(Math.random() * sessions.length)
    next.set(name, from + count)
    const at = (number: number) => (number * STEP) % sessions.length
    return Array.from({ length: count }, (_, number) => sessions[at(from + number)] ?? 0)
  }
}

async function measureIntake(stores: readonly Running[]): Promise<void> {
  const rows: string[][] = []
  const ratios: [string, number][] = []
  for (const isRecent of [true, false]) {
    const to = isRecent ? `the newest ${figure(NEWEST)} mailboxes` : 'all mailboxes'
    progress(`intake, ${to}`)
    const results = await alternate(stores, ROUNDS, (store) =>
      loadIntake(store, {
        newest: isRecent ? NEWEST : store.sessions.length,
        senders: SENDERS,
        seconds: SECONDS,
      }),
    )
    for (const [name, list] of results) {
      const medianOf = (field: keyof IntakeLoadResult) =>
        figure(median(list.map((result) => result[field])))
      const rate = spread(list.map(({ perSecond }) => perSecond))
      const columns = ['p99Ms', 'cpuPerThousand', 'diskReads'] as const
      rows.push([to, name, rate, ...columns.map(medianOf)])
    }
    ratios.push([`intake, ${to}`, ratioOf(results, ({ cpuPerThousand }) => cpuPerThousand)])
  }
  const columns = ['mails/s', 'p99 ms', 'CPU s per 1,000', '4 KB disk reads per mail']
  reportTable([`intake, 4 KB, ${SENDERS} senders, to random ones of`, 'store', ...columns], rows)
  reportRatios(ratios)
}

async function measureSweeps(large: Store): Promise<void> {
  const service = { ...large, ...(await startMayfly(large.path)) }
  const watch = watchWal(large)
  const folder = benchFolder()
  const sweep = (running: Running, count: number) =>
    timeSweep(running, { count, senders: SWEEP_SENDERS })
  const results = await alternate(
    [{ name: `${FEW.toLocaleString('en-US')} messages` }, service],
    ROUNDS,
    async ({ name }) => {
      if (name === service.name) return await sweep(service, SWEPT_SESSIONS)
      const path = folder.inside('fresh')
      rmSync(path, { recursive: true })
      fill(path, FEW, { mailBytes: MAIL_BYTES })
      const fresh = { name, path, sessions: liveSessions(path), ...(await startMayfly(path)) }
      const swept = await sweep(fresh, SWEPT_SESSIONS)
      await fresh.stop()
      return swept
    },
  )
  const longest = await sweep(service, LARGE_SWEEP_SESSIONS)
  clearInterval(watch)
  await service.stop()
  const name = `${large.name}, ${figure(LARGE_SWEEP_SESSIONS * MESSAGES_EACH)} expired`
  reportTable(
    [
      `sweep of ${figure(SWEPT_SESSIONS * MESSAGES_EACH)} messages, ${SWEEP_SENDERS} senders`,
      'messages/s',
      'longest stall of intake ms',
      'p99 of intake ms',
      'mails/s',
    ],
    [...results, [name, [longest]] as const].map(([title, list]) => [
      title,
      spread(list.map(({ perSecond }) => perSecond)),
      spread(list.map(({ intake }) => intake.stallMs)),
      figure(median(list.map(({ intake }) => intake.p99Ms))),
      figure(median(list.map(({ intake }) => intake.perSecond))),
    ]),
  )
  reportRatios([['sweep, by time', ratioOf(results, ({ perSecond }) => 1 / perSecond)]])
}

await main()
