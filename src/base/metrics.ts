// Metrics of this thread, as plain numbers: counting allocates nothing and takes nanoseconds. `readMetrics` copies them, and
// runtime/metrics.ts adds up the threads.

export interface Metric {
  name: string
  help: string
  type: 'counter' | 'gauge' | 'histogram'
  aggregator: Aggregator
  values: MetricValue[]
}

interface MetricValue {
  labels: Readonly<Record<string, string>>
  value: number
  /** Name of a histogram's sample: with `_bucket`, `_sum` or `_count`. */
  metricName?: string
}

/** How the values of the threads are combined; `min` for what all of them see alike, but perhaps not at the same time. */
type Aggregator = 'sum' | 'min'

const metrics: (() => Metric)[] = []

export function registerMetric(read: () => Metric): void {
  metrics.push(read)
}

export function readMetrics(): Metric[] {
  return metrics.map((read) => read())
}

interface Counter<Label extends string = string> {
  add(label: Label, by?: number): void
}

/**
 * `known` labels are 0 from the start: Prometheus sees no increase of a counter that begins with 1. If there may be others, say
 * `counter<string>`.
 */
export function counter<Label extends string = string>(
  name: string,
  help: string,
  label: string,
  known: readonly Label[] = [],
): Counter<Label> {
  const counts = new Map(known.map((at) => [at, 0]))
  registerMetric(() => {
    const values = [...counts].map(([at, value]) => ({ labels: { [label]: at }, value }))
    return { name, help, type: 'counter', aggregator: 'sum', values }
  })
  return {
    add(at, by = 1) {
      counts.set(at, (counts.get(at) ?? 0) + by)
    },
  }
}

/** A gauge that is read on request. */
export function gaugeOf(name: string, help: string, values: MetricValue[]): Metric {
  return { name, help, type: 'gauge', aggregator: 'sum', values }
}

/** `read` returns undefined while there is no value. */
export function gauge(
  name: string,
  help: string,
  read: () => number | undefined,
  aggregator: Aggregator = 'sum',
): void {
  registerMetric(() => {
    const value = read()
    const values = value === undefined ? [] : [{ labels: {}, value }]
    return { name, help, type: 'gauge', aggregator, values }
  })
}

interface Histogram {
  observe(label: string, seconds: number): void
}

interface Observed {
  /** Count of each bucket, without those below; the last is above all bounds. */
  counts: number[]
  sum: number
}

/**
 * Seconds: from a read of the cache to the longest timeout. Few enough to keep one histogram per route. Thresholds of alerts are
 * among them: a quantile between two bounds is interpolated.
 */
export const BOUNDS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15,
]

/** Durations by label. Without a label name, the label is empty. */
export function histogram(name: string, help: string, label?: string): Histogram {
  const all = new Map<string, Observed>()
  registerMetric(() => {
    const values = [...all].flatMap(([at, observed]) =>
      bucketValues(name, label === undefined ? {} : { [label]: at }, observed),
    )
    return { name, help, type: 'histogram', aggregator: 'sum', values }
  })
  return {
    observe(at, seconds) {
      let observed = all.get(at)
      if (!observed) {
        observed = { counts: new Array(BOUNDS.length + 1).fill(0), sum: 0 }
        all.set(at, observed)
      }
      let bucket = 0
      while (seconds > (BOUNDS[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1
      observed.counts[bucket] = (observed.counts[bucket] ?? 0) + 1
      observed.sum += seconds
    },
  }
}

function bucketValues(name: string, labels: object, { counts, sum }: Observed): MetricValue[] {
  let below = 0
  const buckets = counts.map((count, at) => {
    below += count
    const le = at < BOUNDS.length ? String(BOUNDS[at]) : '+Inf'
    return { labels: { ...labels, le }, value: below, metricName: `${name}_bucket` }
  })
  return [
    ...buckets,
    { labels: { ...labels }, value: sum, metricName: `${name}_sum` },
    { labels: { ...labels }, value: below, metricName: `${name}_count` },
  ]
}
