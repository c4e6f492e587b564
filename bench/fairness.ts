import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startMayfly } from './contestants/mayfly.ts'
import { BODY_FLOODS } from './tools/body-floods.ts'
import { issueKey } from './tools/keys.ts'
import { against, options, quick } from './tools/options.ts'
import { benchFolder, cpuSeconds } from './tools/processes.ts'
import { proxiedClient, TRUST_LOOPBACK } from './tools/proxied-client.ts'
import {
  alternate,
  figure,
  fullReport,
  median,
  percentile,
  progress,
  reportGoal,
  reportHeader,
  reportTable,
  saveReport,
  say,
  spread,
} from './tools/report.ts'
import { FLOOD_NAMES, type FloodCounts, startFlood } from './tools/start-flood.ts'
import {
  DEADLINE_MS,
  type Latencies,
  mergeLatencies,
  OPERATIONS,
  openVictim,
} from './tools/victim.ts'

// Latency of other clients while one client floods the service within the default limits. `--against FOLDER` also measures
// another checkout, alternating; `--part FLOOD`, which may be repeated, selects floods; `--json FILE` sets the path of the JSON
// output. Updates RESULTS.md unless `--quick` or `--part`.

const JSON_FILE = options.json ?? join(tmpdir(), 'mayfly-fairness.json')
const ROUNDS = quick ? 1 : 5
const SECONDS = quick ? 1 : 2.5
const VICTIMS = 4
const ALL_LOADS = ['none', ...FLOOD_NAMES] as const
type LoadName = (typeof ALL_LOADS)[number]
const LOADS = ALL_LOADS.filter((load) => options.part?.includes(load) ?? true)
// Floods of requests that are refused, cost little or share their work: beside them, others should notice nothing.
// Not of chunks: Node parses 64 KB of a connection at once, and calls back for each of 10,900 chunks before we can refuse them.
const CHEAP: readonly LoadName[] = [
  ...BODY_FLOODS.filter((flood) => flood !== 'chunks'),
  'large reads',
  'bursts of large reads',
]

// Lower than the usual default of 1,024, so that the limit is reached sooner.
const FEW_DESCRIPTORS = ['sh', '-c', 'ulimit -n 512; exec "$@"', 'sh']

// Restores the limits that startMayfly lifts.
const DEFAULT_LIMITS = {
  MAYFLY_RATE_LIMITS: 'on',
  MAYFLY_SESSION_MAX_MESSAGES: '1000',
  MAYFLY_SESSION_MAX_BYTES: '100MB',
  ...TRUST_LOOPBACK,
}

interface Contestant {
  name: string
  root?: string
}

interface Run {
  latencies: Latencies
  seconds: number
  cpuSeconds: number
  flood: FloodCounts
}

interface Result {
  load: LoadName
  contestant: string
  mails: number
  failed: number
  cpuCores: number
  cpuMsPerMail: number
  flood: FloodCounts[]
  /** `p50` and `p99` per round, `max` over all rounds. */
  ms: Record<string, { p50: number[]; p99: number[]; max: number }>
}

async function main(): Promise<void> {
  reportHeader('Latency of other clients during a flood', 'fairness', against)
  const contestants: Contestant[] = [
    { name: 'here' },
    ...(against ? [{ name: 'against', root: against }] : []),
  ]
  describe()
  const folder = benchFolder()
  const results: Result[] = []
  for (const load of LOADS) {
    progress(`load: ${load}`)
    let runs = 0
    const runsByName = await alternate(
      contestants,
      ROUNDS,
      (contestant) => {
        runs += 1
        return measure(contestant, load, folder.inside(`${load} ${runs}`))
      },
      false,
    )
    for (const [name, list] of runsByName) results.push(summarize(load, name, list))
  }
  report(results)
  if (!quick && !options.part) saveReport('fairness', fullReport())
  writeFileSync(JSON_FILE, `${JSON.stringify({ quick, ROUNDS, SECONDS, results }, null, 2)}\n`)
  progress(`JSON output: ${JSON_FILE}`)
}

function describe(): void {
  const alternating = against ? '; against: another checkout, alternating' : ''
  say(
    `- Settings: ${ROUNDS} round(s) of ${SECONDS} s per flood and checkout, each on a fresh SQLite service with default limits; victims, flood and service on the same machine${alternating}`,
    `- Victims: ${VICTIMS} clients with distinct IP addresses, each with an open event stream; each sends, lists and reads a new mail about 6 times a second, with a new connection for every step`,
    `- intake: from connect to 250; stream: from the last byte of DATA to the event. Operations that fail, exceed the timeout or cannot be attempted count as ${figure(DEADLINE_MS)} ms.`,
    '- Floods, each from one IP address: hostile mails of 100 KB (8 a second, each read) and aborted reads of 10 MB of HTML (30 a second); the same reads alone, 40 a second, and in bursts of 20 twice a second; downloads of a 7 MB attachment, aborted after 0.1 s (50 a second); event streams of 6 mailboxes that receive 8 mails a second; /metrics on 40 keep-alive connections; 1,000 idle connections to a service with 512 file descriptors; POSTs, 45 a second: 43,000 form names or 27,000 JSON keys in 256 KB, 999 form fields with invalid escapes, 64 KB in chunks of one byte, batches of 100 and 25,000 unknown arguments to /mcp, and a webhook filter of 256 KB',
    '- p50 and p99: medians over all rounds, p99 with minimum and maximum.',
    '- CPU: cores used by the service, including threads and child processes.',
  )
}

async function measure({ root }: Contestant, load: LoadName, folder: string): Promise<Run> {
  const service = await startMayfly(folder, DEFAULT_LIMITS, {
    ...(root && { root }),
    ...(load === 'idle connections' && { under: FEW_DESCRIPTORS }),
  })
  const victims = await Promise.all(
    Array.from({ length: VICTIMS }, (_, number) =>
      openVictim(proxiedClient(`198.51.100.${number + 1}`, service)),
    ),
  )
  await Promise.all(victims.map((victim) => victim.measure(0.5)))
  const key = load === 'webhook filters' ? issueKey('business', { MAYFLY_DATA: folder }, root) : ''
  const flood = load === 'none' ? undefined : await startFlood(load, service, { quick, key })
  const [cpuBefore, start] = [cpuSeconds(service.pid), performance.now()]
  const latencies = await Promise.all(victims.map((victim) => victim.measure(SECONDS)))
  const usage = {
    seconds: (performance.now() - start) / 1000,
    cpuSeconds: cpuSeconds(service.pid) - cpuBefore,
  }
  const counts = (await flood?.stop()) ?? {}
  for (const victim of victims) victim.close()
  await service.kill()
  return { latencies: mergeLatencies(latencies), ...usage, flood: counts }
}

function summarize(load: LoadName, contestant: string, runs: readonly Run[]): Result {
  const all = mergeLatencies(runs.map(({ latencies }) => latencies))
  const figures = OPERATIONS.map((operation) => {
    const rounds = runs.map(({ latencies }) => latencies[operation])
    const p50 = rounds.map(median)
    const p99 = rounds.map((times) => percentile(times, 0.99))
    return [operation, { p50, p99, max: percentile(all[operation], 1) }] as const
  })
  const sum = (field: 'seconds' | 'cpuSeconds') => runs.reduce((all, run) => all + run[field], 0)
  return {
    load,
    contestant,
    mails: all.intake.length,
    failed: all.failed,
    cpuCores: sum('cpuSeconds') / sum('seconds'),
    cpuMsPerMail: (sum('cpuSeconds') * 1000) / all.intake.length,
    flood: runs.map(({ flood }) => flood),
    ms: Object.fromEntries(figures),
  }
}

function report(results: readonly Result[]): void {
  const columns = OPERATIONS.flatMap((operation) => [`${operation} p50 ms`, 'p99'])
  reportTable(
    ['flood', 'checkout', ...columns, 'mails', 'failed', 'CPU'],
    results.map(({ load, contestant, ms, mails, failed, cpuCores }) => [
      load,
      contestant,
      ...OPERATIONS.flatMap((operation) => [
        figure(median(ms[operation]?.p50 ?? [])),
        spread(ms[operation]?.p99 ?? []),
      ]),
      String(mails),
      String(failed),
      figure(cpuCores),
    ]),
  )
  for (const { load, contestant, cpuMsPerMail } of results) {
    const cost = `${figure(cpuMsPerMail)} ms of CPU per mail received, streamed, listed and read`
    if (load === 'none') say(`- ${contestant}: ${cost}.`)
  }
  for (const { load, contestant, ms } of results) {
    if (load === 'none' || contestant !== 'here') continue
    const { p50 = [], p99 = [] } = ms['check-mail'] ?? {}
    if (CHEAP.includes(load)) {
      const [middle, slowest] = [median(p50), median(p99)]
      reportGoal(`${load}: check-mail of other clients, p50 at most 20 ms`, middle, middle <= 20)
      reportGoal(
        `${load}: check-mail of other clients, p99 at most 200 ms`,
        slowest,
        slowest <= 200,
      )
    }
    const max = ms['read-mail']?.max ?? Number.NaN
    reportGoal(`${load}: every read-mail of other clients within 2,000 ms`, max, max <= 2_000)
  }
}

await main()
