import { setTimeout as pause } from 'node:timers/promises'
import { logFault } from '../../base/jobs/outage.ts'
import type { Log } from '../../base/log/log.ts'
import type { Metric } from '../../base/metrics.ts'
import {
  bucketsOf,
  type Counts,
  minuteOf,
  SERIES,
  SERIES_NAMES,
  type SeriesName,
  sumOf,
} from './rules.ts'
import type { SeriesMinute } from './store.ts'

export interface RecorderDeps {
  log: Pick<Log, 'warn' | 'error'>
  now(): Date
  store: { saveMinute(minute: SeriesMinute): Promise<void> }
  /** Metrics of all threads of this node. */
  readMetrics(): Promise<readonly Metric[]>
  /** The metrics when the recorder is opened: what was counted before is not ours. */
  before: readonly Metric[]
  /** Unique among all runs of all nodes. */
  newNode(): string
}

// The clock may be set: the end of a minute is not known in advance.
const CHECK_MS = 1_000

/**
 * Saves what this node counted, once a minute. Each row is what was counted since the minute began, so saving it again changes
 * nothing; while it cannot be saved, the minute goes on.
 */
export function openRecorder({ store, readMetrics, before, newNode, now, log }: RecorderDeps) {
  let start = { at: minuteOf(now()), node: newNode(), totals: totalsOf(before) }
  let saved = Promise.resolve()

  /** One after the other: a save that takes long must not replace the counts of a later one. */
  function record(): Promise<void> {
    const next = saved.then(save)
    saved = next.catch(() => {})
    return next
  }

  async function save(): Promise<void> {
    const minute = minuteOf(now())
    const totals = totalsOf(await readMetrics())
    const { at, node } = start
    await store.saveMinute({ at, node, counts: countsSince(start.totals, totals) })
    if (minute > at) start = { at: minute, node, totals }
    // The clock stepped back, perhaps to minutes that are saved: rows of their own keep those.
    if (minute < at) start = { at: minute, node: newNode(), totals }
  }

  return {
    /** Also for the last minute, which is not complete. */
    record,
    async run(ended: AbortSignal): Promise<void> {
      let minute = start.at.getTime()
      for (;;) {
        await pause(CHECK_MS, undefined, { signal: ended }).catch(() => {})
        if (ended.aborted) return
        const current = minuteOf(now()).getTime()
        if (current === minute) continue
        minute = current
        await record().catch((error) => logFault(log, error, 'cannot save the series; retrying'))
      }
    },
  }
}

type Totals = Partial<Record<SeriesName, Counts>>

function countsSince(before: Totals, totals: Totals): Totals {
  const entries = SERIES_NAMES.flatMap((name) => {
    const counts = totals[name]
    if (!counts || SERIES[name].kind === 'gauge') return counts ? [[name, counts]] : []
    const changes = Object.entries(counts).map(
      ([label, count]) => [label, count - (before[name]?.[label] ?? 0)] as const,
    )
    const changed = changes.filter(([, change]) => change > 0)
    // Quantiles need all bounds.
    const kept = SERIES[name].kind === 'quantiles' ? changes : changed
    return changed.length > 0 ? [[name, Object.fromEntries(kept)]] : []
  })
  return Object.fromEntries(entries)
}

// Load balancers and Prometheus request them all the time.
const MONITORING_ROUTES = new Set(['/livez', '/readyz', '/metrics'])

/** The series, from the metrics that they are read from. */
function totalsOf(metrics: readonly Metric[]): Totals {
  const find = (name: string) =>
    (metrics.find((metric) => metric.name === name)?.values ?? []).filter(
      ({ labels: { route = '' } }) => !MONITORING_ROUTES.has(route),
    )
  const byLabel = (name: string, label: string): [string, number][] =>
    find(name).map(({ labels, value }) => [labels[label] ?? '', value])
  const level = (name: string): Counts | undefined => {
    const [found] = find(name)
    return found && { '': found.value }
  }
  const mails = byLabel('mayfly_smtp_mails_total', 'outcome')
  const fetched = byLabel('mayfly_imap_mails_total', 'outcome')
    .filter(([outcome]) => outcome === 'stored')
    .map(([, count]): [string, number] => ['fetched', count])
  const buckets = find('mayfly_http_request_seconds').filter(({ labels }) => 'le' in labels)
  const totals: Record<SeriesName, Counts | undefined> = {
    mails: sumOf([...mails, ...fetched]),
    refusals: sumOf([
      ...byLabel('mayfly_smtp_connections_total', 'start').filter(([start]) => start !== 'greeted'),
      ...byLabel('mayfly_smtp_refused_senders_total', 'reason'),
      ...byLabel('mayfly_smtp_refused_recipients_total', 'reason'),
      ...mails.filter(([outcome]) => outcome !== 'stored'),
    ]),
    sessions: level('mayfly_live_sessions'),
    stored_bytes: level('mayfly_stored_bytes'),
    requests: sumOf(byLabel('mayfly_http_requests_total', 'status')),
    latency: bucketCounts(sumOf(buckets.map(({ labels, value }) => [labels['le'] ?? '', value]))),
    waiting: level('mayfly_http_waiting'),
    parse_queue: level('mayfly_parse_waiting'),
    webhooks: sumOf(byLabel('mayfly_webhook_attempts_total', 'result')),
  }
  return Object.fromEntries(Object.entries(totals).filter(([, counts]) => counts))
}

/** Buckets of a metric include those below. */
function bucketCounts(cumulative: Counts): Counts {
  const buckets = bucketsOf(cumulative).map(({ label, count }, at, all) => [
    label,
    count - (all[at - 1]?.count ?? 0),
  ])
  return Object.fromEntries(buckets)
}
