import { diskSpace } from '../base/disk-space.ts'
import { unlessFailing } from '../base/jobs/repeat.ts'
import type { Log } from '../base/log/log.ts'
import { gaugeOf, type Metric, readMetrics } from '../base/metrics.ts'
import { spaced, throttled } from '../base/throttled.ts'
import { checkMetrics } from '../doctor/metrics.ts'
import { accountMetrics } from '../gmail/health.ts'
import { LONG_POLL_LIMITS } from '../http/server/limits.ts'
import type { StoreLevels } from '../mail/level-store.ts'
import { backupMetrics } from '../store/backup/metrics.ts'
import type { Store } from '../store/store.ts'
import type { Config } from './config.ts'
import { memorySize } from './memory.ts'
import { storeFolder } from './stores.ts'
import { descriptorLimit } from './system.ts'
import type { Thread } from './thread.ts'

interface MetricsDeps {
  store: Store
  now(): Date
  log: Pick<Log, 'error'>
  /** On SQLite. */
  mailWriter: Thread | undefined
  /** All adapter threads; more may be added. */
  threads: readonly Thread[]
}

export type Metrics = ReturnType<typeof openMetrics>

/** Read from the store or its folder: a line for each folder that has some. */
const STORED = {
  accounts: accountMetrics,
  checks: checkMetrics,
  backup: backupMetrics,
}

// Counting the live sessions takes time, and anybody may request the metrics if there is no admin token.
const LEVELS_MS = 10_000
// Every read wakes all threads.
const READ_MS = 250

/** The metrics of this process: the sums of all threads, and what is read from store and disk. */
export function openMetrics(config: Config, { store, now, log, mailWriter, threads }: MetricsDeps) {
  const readLevels = throttled(LEVELS_MS, () => store.readStoreLevels(now()))
  const deps = { config, store, now }
  const stored = Object.values(STORED).map((readStored) =>
    throttled(LEVELS_MS, () => readStored(deps)),
  )
  const lastOf = new Map<Thread, Metric[]>()
  let closed = false

  const call = (thread: Thread) => thread.call('metrics') as Promise<Metric[]>

  async function readThread(thread: Thread): Promise<Metric[]> {
    if (!closed) lastOf.set(thread, await call(thread))
    return lastOf.get(thread) ?? []
  }

  async function readStore(): Promise<Metric[]> {
    const [levels, isReady, ...others] = await Promise.all([
      unlessFailing(log, readLevels),
      unlessFailing(log, async () => (await store.storageFault()) === undefined),
      ...stored.map((readStored) => unlessFailing(log, readStored)),
    ])
    return [
      level('mayfly_ready', 'Whether mail can be stored: 1, or 0 as in /readyz', isReady ? 1 : 0),
      ...(levels ? levelMetrics(levels, now()) : []),
      ...others.flatMap((some) => some ?? []),
    ]
  }

  async function read(): Promise<Metric[]> {
    const all = await Promise.all([
      ...threads.map(readThread),
      mailWriter ? call(mailWriter) : [],
      [...readMetrics(), ...processMetrics(), ...limitMetrics(config)],
      unlessFailing(log, () => diskMetrics(config)),
      readStore(),
    ])
    return addUp(all.flatMap((some) => some ?? []))
  }

  return {
    read,
    text: spaced(READ_MS, async () => metricsText(await read())),
    /** Closes the adapter threads; from then on their last metrics are used. */
    async closeThreads(): Promise<void> {
      await Promise.allSettled(threads.map(readThread))
      closed = true
      const results = await Promise.allSettled(
        threads.map(async (thread) => {
          const metrics = await thread.close()
          if (Array.isArray(metrics)) lastOf.set(thread, metrics)
        }),
      )
      const failed = results.find((one) => one.status === 'rejected')
      if (failed) throw failed.reason
    },
  }
}

function addUp(all: readonly Metric[]): Metric[] {
  const byName = [...Map.groupBy(all, ({ name }) => name).values()]
  return byName.flatMap(([first, ...others]) => {
    if (!first || others.length === 0) return first ?? []
    const values = [first, ...others].flatMap((metric) => metric.values)
    const alike = Map.groupBy(values, (value) => sampleName(first, value))
    const add = first.aggregator === 'min' ? Math.min : (sum: number, more: number) => sum + more
    const merged = [...alike.values()].flatMap(([one, ...more]) =>
      one ? { ...one, value: more.reduce((sum, { value }) => add(sum, value), one.value) } : [],
    )
    return { ...first, values: merged }
  })
}

/** In the text format of Prometheus, version 0.0.4. */
function metricsText(metrics: readonly Metric[]): string {
  const lines = metrics.flatMap((metric) => [
    `# HELP ${metric.name} ${metric.help}`,
    `# TYPE ${metric.name} ${metric.type}`,
    ...metric.values.map((value) => `${sampleName(metric, value)} ${value.value}`),
  ])
  return `${lines.join('\n')}\n`
}

/** With its labels. */
function sampleName({ name }: Metric, { labels, metricName = name }: Metric['values'][number]) {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${escaped(value)}"`)
  return pairs.length > 0 ? `${metricName}{${pairs.join()}}` : metricName
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

function levelMetrics({ liveSessions, storedBytes, oldestExpiry }: StoreLevels, now: Date) {
  const lagMs = oldestExpiry ? Math.max(0, now.getTime() - oldestExpiry.getTime()) : 0
  return [
    level('mayfly_live_sessions', 'Live sessions of the installation', liveSessions),
    level('mayfly_stored_bytes', 'Bytes that the mail database takes on disk', storedBytes),
    level(
      'mayfly_sweep_lag_seconds',
      'For how long the oldest expired session has waited for its mail to be deleted',
      lagMs / 1000,
    ),
  ]
}

function limitMetrics({ http: { connections, threads } }: Config): Metric[] {
  const most = Math.min(connections, threads * LONG_POLL_LIMITS.all)
  return [
    level('mayfly_http_max_waiting', 'Requests that may wait for mail at once', most),
    level(
      'mayfly_http_max_connections',
      'HTTP connections that the limit on open files allows',
      connections,
    ),
    level(
      'mayfly_memory_limit_bytes',
      'Memory of the machine or of the control group',
      memorySize('auto'),
    ),
  ]
}

/** A database server does not report its free disk space. */
function diskMetrics(config: Config): Metric[] {
  const folder = storeFolder(config)
  if (folder === undefined) return []
  const { free, least } = diskSpace(folder, config.minFreeBytes)
  return [
    level('mayfly_disk_free_bytes', 'Free space on the disk of the data directory', free),
    level('mayfly_disk_min_free_bytes', 'Free space below which mail is deferred', least),
  ]
}

const STARTED_AT = Math.round(Date.now() / 1000 - process.uptime())

/** Under the names that client libraries of Prometheus use. */
function processMetrics(): Metric[] {
  const { user, system } = process.cpuUsage()
  return [
    {
      ...level('process_cpu_seconds_total', 'CPU time of the process', (user + system) / 1e6),
      type: 'counter',
    },
    level(
      'process_resident_memory_bytes',
      'Resident memory of the process, without its children',
      process.memoryUsage.rss(),
    ),
    level('process_start_time_seconds', 'Start of the process, in Unix time', STARTED_AT),
    level('process_max_fds', 'Limit on open files of the process', descriptorLimit()),
  ]
}

function level(name: string, help: string, value: number): Metric {
  return gaugeOf(name, help, [{ labels: {}, value }])
}
