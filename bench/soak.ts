import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startMayfly } from './contestants/mayfly.ts'
import { issueKey, UNLIMITED, unlimitedPlan } from './tools/keys.ts'
import { options, quick } from './tools/options.ts'
import { benchFolder, memoryByProcess } from './tools/processes.ts'
import { TRUST_LOOPBACK } from './tools/proxied-client.ts'
import {
  figure,
  p50AndP99,
  progress,
  reportGoal,
  reportHeader,
  reportTable,
  say,
} from './tools/report.ts'
import { RATES, SESSION_SECONDS, STREAMS, startLoad } from './tools/soak-load.ts'

// Does memory use level off under a steady, moderate load? `--minutes COUNT` sets how long, 30 by default.

const MINUTES = quick ? 0.5 : Number(options.minutes ?? 30)
const SAMPLE_SECONDS = quick ? 10 : 60
// From then on the caches are full, and pool mail expires as fast as it arrives.
const WARM_MINUTES = 10

const ENV = {
  ...TRUST_LOOPBACK,
  MAYFLY_POOL_TTL: '5m',
  MAYFLY_SMTP_THREADS: 'auto',
  MAYFLY_HTTP_THREADS: 'auto',
}

/** Heap of a thread, in bytes. */
interface Heap {
  used: number
  total: number
  external: number
}

interface Sample {
  minute: number
  pssMb: Map<string, number>
  heaps: Map<string, Heap>
  dataMb: number
  pollsMs: number[]
  mails: number
  failed: number
}

async function main(): Promise<void> {
  reportHeader('Soak', 'soak')
  say(
    `- Settings: a second has ${Object.entries(RATES)
      .map(([name, rate]) => `${rate} ${name}`)
      .join(
        ', ',
      )}; sessions of ${SESSION_SECONDS} s, ${STREAMS} streams; pool mail is kept for 5 minutes; mails of 4 to 200 KB; threads as by default; load generator on the same machine`,
    '- MB of each process: PSS. Heap: V8 heap in use, and reserved, of each thread of the main process.',
  )
  const folder = benchFolder()
  const [data, heaps] = [folder.inside('data'), folder.inside('heaps')]
  const plan = unlimitedPlan(folder.path)
  const sampler = fileURLToPath(new URL('tools/heap-sampler.cjs', import.meta.url))
  const mayfly = await startMayfly(data, {
    ...ENV,
    ...plan,
    MAYFLY_BENCH_HEAPS: heaps,
    NODE_OPTIONS: `--require=${sampler}`,
  })
  const key = issueKey(UNLIMITED, { ...plan, MAYFLY_DATA: data })
  const load = startLoad(mayfly, key)
  const samples: Sample[] = []
  for (let seconds = SAMPLE_SECONDS; seconds <= MINUTES * 60; seconds += SAMPLE_SECONDS) {
    await pause(SAMPLE_SECONDS * 1000)
    const sample = {
      minute: seconds / 60,
      pssMb: memoryByProcess(mayfly.pid),
      heaps: readHeaps(heaps),
      dataMb: folderMb(data),
      ...load.take(),
    }
    samples.push(sample)
    progress(rowOf(sample).join('  '))
  }
  load.stop()
  await mayfly.stop()
  report(samples)
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

function folderMb(folder: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return files.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0) / 2 ** 20
}

const sum = (values: Iterable<number>) => Iterator.from(values).reduce((all, one) => all + one, 0)
const mb = (bytes: number) => (bytes / 2 ** 20).toFixed(0)

const COLUMNS = ['minute', 'all MB', 'main', 'children', 'heap in use', 'reserved', 'data MB']

function rowOf({ minute, pssMb, heaps, dataMb, pollsMs, mails, failed }: Sample): string[] {
  const all = sum(pssMb.values())
  const main = pssMb.get('main') ?? 0
  const reserved = [...heaps.values()].map(({ total }) => total)
  const used = [...heaps.values()].map((heap) => heap.used)
  return [
    figure(minute),
    figure(all),
    figure(main),
    figure(all - main),
    mb(sum(used)),
    mb(sum(reserved)),
    figure(dataMb),
    ...p50AndP99(pollsMs),
    String(mails),
    String(failed),
  ]
}

function report(samples: readonly Sample[]): void {
  reportTable([...COLUMNS, 'poll p50 ms', 'p99', 'mails', 'failed'], samples.map(rowOf))
  const last = samples.at(-1)
  if (!last) return
  reportTable(
    ['thread, at the end', 'heap in use', 'reserved', 'buffers'],
    [...last.heaps].map(([name, { used, total, external }]) => [
      name,
      mb(used),
      mb(total),
      mb(external),
    ]),
  )
  const warm = samples.find(({ minute }) => minute >= WARM_MINUTES)
  if (!warm || warm === last) return
  const growth = sum(last.pssMb.values()) / sum(warm.pssMb.values())
  reportGoal(
    `memory at the end, of that after ${WARM_MINUTES} minutes: at most 1.1`,
    growth,
    growth <= 1.1,
  )
}

await main()
