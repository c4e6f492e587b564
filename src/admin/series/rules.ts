/** Numbers by label: outcomes of mails, reasons of refusals. A series without labels has the empty one. */
export type Counts = Readonly<Record<string, number>>

/**
 * count: what happened in a minute, added up over nodes and time. gauge: what was there at its end, added up over nodes, and
 * the largest over time; of the installation, every node sees the same, and one value is stored. quantiles: a count by upper
 * bound of a histogram, in seconds, of which points have quantiles.
 */
interface SeriesRule {
  kind: 'count' | 'gauge' | 'quantiles'
  of: 'node' | 'installation'
  unit: 'count' | 'bytes' | 'seconds'
}

/** What is stored over time, for the overview of the operator. */
export const SERIES = {
  mails: { kind: 'count', of: 'node', unit: 'count' },
  refusals: { kind: 'count', of: 'node', unit: 'count' },
  sessions: { kind: 'gauge', of: 'installation', unit: 'count' },
  stored_bytes: { kind: 'gauge', of: 'installation', unit: 'bytes' },
  requests: { kind: 'count', of: 'node', unit: 'count' },
  latency: { kind: 'quantiles', of: 'node', unit: 'seconds' },
  waiting: { kind: 'gauge', of: 'node', unit: 'count' },
  parse_queue: { kind: 'gauge', of: 'node', unit: 'count' },
  webhooks: { kind: 'count', of: 'node', unit: 'count' },
} as const satisfies Record<string, SeriesRule>

export type SeriesName = keyof typeof SERIES
export const SERIES_NAMES = Object.keys(SERIES) as SeriesName[]

/** What one node, or the installation, counted in a minute or an hour. */
export interface SeriesRow {
  /** Its start, in milliseconds. */
  at: number
  counts: Counts
}

export interface SeriesPoint {
  /** The start of the step. */
  at: Date
  /**
   * By label. Of a count, every label of the series, 0 if nothing happened, also because no node was running. Of a gauge and of
   * quantiles (`p50`, `p99`), none where nothing was recorded.
   */
  values: Counts
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

export const SERIES_RANGES = {
  '1h': { stepMs: MINUTE_MS, steps: 60 },
  '24h': { stepMs: 5 * MINUTE_MS, steps: 288 },
  '30d': { stepMs: HOUR_MS, steps: 720 },
} as const

export type SeriesRange = keyof typeof SERIES_RANGES

/** The start of the minute. */
export function minuteOf(time: Date): Date {
  return new Date(startOf(time.getTime(), MINUTE_MS))
}

// Nodes save a minute some seconds after its end; shown before, it would be a dip.
const SAVED_MS = 5_000

/** The steps of a range that are complete at this time, and saved. */
export function rangeEnds(range: SeriesRange, now: Date): { from: Date; until: Date } {
  const { stepMs, steps } = SERIES_RANGES[range]
  const until = startOf(now.getTime() - SAVED_MS, stepMs)
  return { from: new Date(until - steps * stepMs), until: new Date(until) }
}

/** Minutes before `minutes` are rolled up to hours, hours before `hours` deleted. Both are full hours. */
export function seriesCutoffs(now: Date): { minutes: number; hours: number } {
  const time = now.getTime()
  return { minutes: startOf(time - DAY_MS, HOUR_MS), hours: startOf(time - 30 * DAY_MS, HOUR_MS) }
}

/** One row per hour. */
export function rollUp(name: SeriesName, rows: readonly SeriesRow[]): SeriesRow[] {
  const hours = Map.groupBy(rows, ({ at }) => startOf(at, HOUR_MS))
  return [...hours].map(([at, some]) => ({ at, counts: merge(name, some) }))
}

/** A point for every step of the range, oldest first. */
export function seriesPoints(
  name: SeriesName,
  rows: readonly SeriesRow[],
  { range, now }: { range: SeriesRange; now: Date },
): SeriesPoint[] {
  const { stepMs, steps } = SERIES_RANGES[range]
  const { from } = rangeEnds(range, now)
  const { kind } = SERIES[name]
  const labels = new Set(kind === 'count' ? rows.flatMap(({ counts }) => Object.keys(counts)) : [])
  const none = Object.fromEntries([...labels].map((label) => [label, 0]))
  const found = Map.groupBy(rows, ({ at }) => startOf(at, stepMs))
  return Array.from({ length: steps }, (_, step) => {
    const at = from.getTime() + step * stepMs
    const counts = merge(name, found.get(at) ?? [])
    const values = kind === 'quantiles' ? quantiles(counts) : { ...none, ...counts }
    return { at: new Date(at), values }
  })
}

/** Adds up nodes, and counts over time. Of a gauge the largest is taken: an average of hours would hide a full queue. */
function merge(name: SeriesName, rows: readonly SeriesRow[]): Counts {
  const sumOfRows = (some: readonly SeriesRow[]) =>
    sumOf(some.flatMap(({ counts }) => Object.entries(counts)))
  if (SERIES[name].kind !== 'gauge') return sumOfRows(rows)
  const times = [...Map.groupBy(rows, ({ at }) => at).values()].map(sumOfRows)
  const largest = new Map<string, number>()
  for (const [label, value] of times.flatMap((counts) => Object.entries(counts))) {
    largest.set(label, Math.max(largest.get(label) ?? 0, value))
  }
  return Object.fromEntries(largest)
}

/** By label. */
export function sumOf(values: readonly (readonly [string, number])[]): Counts {
  const sums = new Map<string, number>()
  for (const [label, value] of values) sums.set(label, (sums.get(label) ?? 0) + value)
  return Object.fromEntries(sums)
}

/** The buckets of a histogram, lowest first. */
export function bucketsOf(counts: Counts): { bound: number; label: string; count: number }[] {
  return Object.entries(counts)
    .map(([label, count]) => ({ bound: Number(label.replace('+Inf', 'Infinity')), label, count }))
    .sort((one, next) => one.bound - next.bound)
}

function quantiles(counts: Counts): Counts {
  const buckets = bucketsOf(counts)
  const all = buckets.reduce((sum, { count }) => sum + count, 0)
  return all === 0 ? {} : { p50: quantile(buckets, all * 0.5), p99: quantile(buckets, all * 0.99) }
}

/** As histogram_quantile of Prometheus: linear within a bucket, and the last bound of all above it. */
function quantile(buckets: readonly { bound: number; count: number }[], rank: number): number {
  let [below, lower] = [0, 0]
  for (const { bound, count } of buckets) {
    if (below + count >= rank && count > 0) {
      return Number.isFinite(bound) ? lower + (bound - lower) * ((rank - below) / count) : lower
    }
    below += count
    lower = bound
  }
  return lower
}

function startOf(time: number, stepMs: number): number {
  return Math.floor(time / stepMs) * stepMs
}
