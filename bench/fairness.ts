import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { startMayfly } from './contestants/mayfly.ts'
import { benchFolder, cpuSeconds } from './tools/processes.ts'
import { proxiedClient, TRUST_THIS_MACHINE } from './tools/proxied-client.ts'
import {
  alternate,
  figure,
  fullReport,
  median,
  percentile,
  progress,
  reportGoal,
  reportMachine,
  reportTable,
  saveReport,
  say,
  spread,
} from './tools/report.ts'
import { FLOOD_NAMES, type FloodCounts, startFlood } from './tools/start-flood.ts'
import { DEADLINE_MS, type Latencies, noLatencies, OPERATIONS, openVictim } from './tools/victim.ts'

// How long do others wait while one client does its worst within the default limits? With `--against FOLDER` the same is
// asked of another checkout, alternating. The report is kept in RESULTS.md, unless `--quick`; `--json FILE` says where the
// figures go besides.

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    against: { type: 'string' },
    json: { type: 'string', default: join(tmpdir(), 'mayfly-fairness.json') },
  },
})
const { quick } = options
const ROUNDS = quick ? 1 : 5
const SECONDS = quick ? 1 : 2.5
const VICTIMS = 4
const LOADS = ['none', ...FLOOD_NAMES] as const
type LoadName = (typeof LOADS)[number]

// As on a system whose limit was never raised, only sooner reached.
const FEW_DESCRIPTORS = ['sh', '-c', 'ulimit -n 512; exec "$@"', 'sh']

// Limits as they are by default: what startMayfly lifts for loads of one sender counts here.
const DEFAULT_LIMITS = {
  MAYFLY_RATE_LIMITS: 'on',
  MAYFLY_SESSION_MAX_MESSAGES: '1000',
  MAYFLY_SESSION_MAX_BYTES: '100MB',
  ...TRUST_THIS_MACHINE,
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
  /** `p50` and `p99` of each round; `worst` of all. */
  ms: Record<string, { p50: number[]; p99: number[]; worst: number }>
}

async function main(): Promise<void> {
  say('## Other users while one client floods the service (bench/fairness.ts)', '')
  reportMachine()
  const contestants: Contestant[] = [
    { name: 'here' },
    ...(options.against ? [{ name: 'against', root: resolve(options.against) }] : []),
  ]
  describe(contestants)
  const folder = benchFolder()
  const results: Result[] = []
  for (const load of LOADS) {
    progress(`load: ${load}`)
    let runs = 0
    const found = await alternate(
      contestants,
      ROUNDS,
      (contestant) => {
        runs += 1
        return measure(contestant, load, folder.inside(`${load} ${runs}`))
      },
      false,
    )
    for (const [name, list] of found) results.push(summary(load, name, list))
  }
  report(results)
  if (!quick) saveReport('fairness', fullReport())
  writeFileSync(options.json, `${JSON.stringify({ quick, ROUNDS, SECONDS, results }, null, 2)}\n`)
  progress(`The figures as JSON: ${options.json}`)
}

function describe(contestants: readonly Contestant[]): void {
  const others = contestants.length > 1 ? '; against: another checkout, alternating' : ''
  say(
    `- Settings: ${ROUNDS} round(s) of ${SECONDS} s for each flood and checkout, each with a fresh service on SQLite with default limits; victims, flood and service on the same machine${others}`,
    `- Victims: ${VICTIMS} users at addresses of their own, each with an open stream; a mail is sent, listed and read for the first time, about 6 times a second and user, with a new connection for everything`,
    `- intake: from connecting to the 250; stream: from the last byte to the event. What failed, took longer or could not be tried (no list, no mail) counts as ${figure(DEADLINE_MS)} ms.`,
    '- Floods, each of one address: hostile mails of 100 KB (8 a second, each read) and reads of 10 MB of HTML that are reset (30 a second); an attachment of 7 MB, asked for and reset after 0.1 s (50 a second); streams of 6 mailboxes that get 8 mails a second; /metrics on 40 kept connections; 1,000 idle connections to a service with 512 file descriptors',
    '- p50 and p99 are the medians of all rounds, for p99 with the least and the most.',
    '- CPU: cores that the service kept busy, its threads and children included.',
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
  const flood = load === 'none' ? undefined : await startFlood(load, service, { quick })
  const [cpuBefore, start] = [cpuSeconds(service.pid), performance.now()]
  const found = await Promise.all(victims.map((victim) => victim.measure(SECONDS)))
  const usage = {
    seconds: (performance.now() - start) / 1000,
    cpuSeconds: cpuSeconds(service.pid) - cpuBefore,
  }
  const counts = (await flood?.stop()) ?? {}
  for (const victim of victims) victim.close()
  await service.kill()
  return { latencies: together(found), ...usage, flood: counts }
}

function together(list: readonly Latencies[]): Latencies {
  const all = noLatencies()
  for (const one of list) {
    for (const operation of OPERATIONS) all[operation].push(...one[operation])
    all.failed += one.failed
  }
  return all
}

function summary(load: LoadName, contestant: string, runs: readonly Run[]): Result {
  const all = together(runs.map(({ latencies }) => latencies))
  const figures = OPERATIONS.map((operation) => {
    const rounds = runs.map(({ latencies }) => latencies[operation])
    const p50 = rounds.map(median)
    const p99 = rounds.map((times) => percentile(times, 0.99))
    return [operation, { p50, p99, worst: percentile(all[operation], 1) }] as const
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
    const what = `${contestant}: a mail that is taken, streamed, listed and read`
    if (load === 'none') say(`- ${what} costs the service ${figure(cpuMsPerMail)} ms of CPU.`)
  }
  for (const { load, contestant, ms } of results) {
    if (load === 'none' || contestant !== 'here') continue
    const worst = ms['read-mail']?.worst ?? Number.NaN
    reportGoal(`${load}: every first read-mail of others within 2,000 ms`, worst, worst <= 2_000)
  }
}

await main()
