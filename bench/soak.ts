import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startMayfly } from './contestants/mayfly.ts'
import { issueKey, UNLIMITED, unlimitedPlan } from './tools/keys.ts'
import { options, quick } from './tools/options.ts'
import { benchFolder } from './tools/processes.ts'
import { proxiedClient, TRUST_LOOPBACK } from './tools/proxied-client.ts'
import {
  figure,
  p50AndP99,
  progress,
  reportGoal,
  reportHeader,
  reportTable,
  say,
} from './tools/report.ts'
import { isLevel, levelsOf } from './tools/soak/levels.ts'
import { prepareLoad, RATES, startLoad } from './tools/soak/load.ts'
import { SESSION_SECONDS } from './tools/soak/mailboxes.ts'
import { memoryMb, type Sample, soak, sqliteFiles } from './tools/soak/samples.ts'
import { sumCounts } from './tools/soak/tally.ts'
import { STREAM_SECONDS } from './tools/soak/watchers.ts'

// Are memory, files and latencies level under a steady, moderate load? `--minutes COUNT` sets how long, 30 by default.

const MINUTES = quick ? 0.5 : Number(options.minutes ?? 30)
const SAMPLE_SECONDS = quick ? 10 : 60

const ENV = {
  ...TRUST_LOOPBACK,
  MAYFLY_SMTP_THREADS: 'auto',
  MAYFLY_HTTP_THREADS: 'auto',
}

/** Heap of a thread, in bytes. */
interface Heap {
  used: number
  total: number
  external: number
}

async function main(): Promise<void> {
  reportHeader('Soak', 'soak')
  say(
    `- Settings: a second has ${Object.entries(RATES)
      .map(([name, rate]) => `${rate} ${name}`)
      .join(
        ', ',
      )}; sessions of ${SESSION_SECONDS} s, streams of ${STREAM_SECONDS} s; pool mail is kept for 5 minutes; mails of 4 to 200 KB; threads as by default; load generator on the same machine`,
    '- MB of each process: PSS. Heap: V8 heap in use, and reserved, of each thread of the main process.',
  )
  const folder = benchFolder()
  const [data, heaps] = [folder.inside('data'), folder.inside('heaps')]
  const plan = unlimitedPlan(folder.path)
  const { account, env } = await prepareLoad(folder.path)
  const sampler = fileURLToPath(new URL('tools/heap-sampler.cjs', import.meta.url))
  const mayfly = await startMayfly(data, {
    ...ENV,
    ...env,
    ...plan,
    MAYFLY_BENCH_HEAPS: heaps,
    NODE_OPTIONS: `--require=${sampler}`,
  })
  const key = issueKey(UNLIMITED, { ...plan, MAYFLY_DATA: data })
  const client = proxiedClient('192.0.2.1', mayfly)
  const load = await startLoad({ client, url: mayfly.url, key, account })
  const target = { pids: () => [mayfly.pid], files: () => sqliteFiles(data) }
  const heapsBySample = new Map<Sample, Map<string, Heap>>()
  const rowOf = (sample: Sample) => cellsOf(sample, heapsBySample.get(sample) ?? new Map())
  const samples = await soak(target, load, {
    minutes: MINUTES,
    sampleSeconds: SAMPLE_SECONDS,
    onSample(sample) {
      heapsBySample.set(sample, readHeaps(heaps))
      progress(rowOf(sample).join('  '))
    },
  })
  const faults = await load.stop()
  load.close()
  await mayfly.stop()
  await account.close()
  reportTable(COLUMNS, samples.map(rowOf))
  reportHeaps(readHeaps(heaps))
  for (const level of levelsOf(samples)) {
    const { name, second, last, limit, isMinimum } = level
    const goal = `${name} in the last quarter, ${figure(second)} in the second: at ${isMinimum ? 'least' : 'most'} ${figure(limit)}`
    reportGoal(goal, last, isLevel(level))
  }
  for (const [what, counts] of [
    ['failed', sumCounts(samples.map(({ failed }) => failed))],
    ['repeated', sumCounts(samples.map(({ retries }) => retries))],
  ] as const)
    for (const [name, count] of Object.entries(counts)) say(`- ${what}: ${count} × ${name}`)
  say(...faults.map((fault) => `- fault: ${fault}`))
}

function readHeaps(folder: string): Map<string, Heap> {
  const files = readdirSync(folder).filter((file) => file.endsWith('.json'))
  return new Map(
    files.map((file) => [
      file.replace('.json', ''),
      JSON.parse(readFileSync(join(folder, file), 'utf8')) as Heap,
    ]),
  )
}

const sum = (values: Iterable<number>) => Iterator.from(values).reduce((all, one) => all + one, 0)
const mb = (bytes: number) => (bytes / 2 ** 20).toFixed(0)

const COLUMNS = [
  ...['minute', 'all MB', 'main', 'children', 'heap in use', 'reserved', 'descriptors', 'data MB'],
  ...['WAL MB', 'poll p50 ms', 'p99', '250 p50 ms', 'p99', 'mails', 'failed'],
]

function cellsOf(sample: Sample, heaps: ReadonlyMap<string, Heap>): string[] {
  const { minute, pssMb, descriptors, files, ms, done, failed } = sample
  const all = memoryMb(sample)
  const main = pssMb.get('main') ?? 0
  return [
    ...[minute, all, main, all - main].map(figure),
    mb(sum(heaps.values().map(({ used }) => used))),
    mb(sum(heaps.values().map(({ total }) => total))),
    String(descriptors),
    ...[files.data, files.wal].map(figure),
    ...p50AndP99(ms.poll),
    ...p50AndP99(ms['250']),
    String(done['mails'] ?? 0),
    String(sum(Object.values(failed))),
  ]
}

function reportHeaps(heaps: ReadonlyMap<string, Heap>): void {
  reportTable(
    ['thread, at the end', 'heap in use', 'reserved', 'buffers'],
    [...heaps].map(([name, { used, total, external }]) => [
      name,
      mb(used),
      mb(total),
      mb(external),
    ]),
  )
}

await main()
