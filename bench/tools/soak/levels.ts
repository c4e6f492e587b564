import { median, percentile } from '../report.ts'
import { RATES } from './load.ts'
import { memoryMb, type Sample } from './samples.ts'
import { LATENCIES } from './tally.ts'

// What should be level. The samples are divided into quarters: in the first one caches fill, and mail does not expire as fast as it
// arrives. The median of the last quarter is compared with that of the second. In the campaign there are 40 minutes between the two,
// with 360,000 operations, of which 190,000 are mails: each limit is stated as the least that it would detect there.

interface Rule {
  /** Undefined if this service has no such thing; NaN, which is not level, if nothing was measured. */
  of(sample: Sample): number | undefined
  /** The last quarter has at most this much of the second, */
  factor: number
  /** and so much more. */
  slack: number
  /** It has at least that instead. */
  isMinimum?: true
}

const RULES: Record<string, Rule> = {
  // With 270 MB, 54 bytes an operation.
  'MB of main processes': {
    of: ({ pssMb }) => pssMb.get('main') || Number.NaN,
    ...{ factor: 1.05, slack: 5 },
  },
  // With 390 MB, 130 bytes an operation. Children come and go.
  'MB of memory': { of: (sample) => memoryMb(sample) || Number.NaN, factor: 1.1, slack: 5 },
  // With 200, one of 24,000 operations that leaves its own open.
  descriptors: { of: ({ descriptors }) => descriptors || Number.NaN, factor: 1.05, slack: 5 },
  // With 150 MB, 2 % of the mails not deleted. Less than 100 bytes for each mail are meant to stay: the ledger of addresses, and a
  // line of the mail log each second.
  'MB of data': { of: ({ files }) => files.data || Number.NaN, factor: 1.1, slack: 16 },
  // A checkpoint that is held up for some minutes. On SQLite the file grows to 18 MB and is emptied every 30 seconds: samples a
  // minute apart find it at a size that drifts, and may find it empty.
  'MB of WAL': { of: ({ files }) => files.wal, factor: 1.5, slack: 20 },
  // 12 bytes that stay for each mail.
  'MB of Redis': { of: ({ files }) => files.redis, factor: 1.1, slack: 2 },
  // A line every two seconds.
  'KB of log a sample': {
    of: ({ grown: { log } }) => log && log * 1024,
    ...{ factor: 1.2, slack: 5 },
  },
  // A tenth of the mails stored twice.
  'KB of raw mail a mail': {
    of: ({ grown: { raw }, done }) =>
      raw === undefined ? undefined : (raw * 1024) / (done['mails'] ?? 0) || Number.NaN,
    ...{ factor: 1.1, slack: 0.1 },
  },
  // A backlog of a fifth of a second.
  'operations under way': { of: ({ pending }) => pending || Number.NaN, factor: 1.1, slack: 20 },
  // Of an idle machine, the last quarter of 30 minutes was up to 1.23 (p50) and 1.5 (p99) times as slow (bench/RESULTS.md).
  ...Object.fromEntries(
    LATENCIES.flatMap((name): [string, Rule][] => [
      [`${name} p50 ms`, { of: ({ ms }) => median(ms[name]), factor: 1.3, slack: 1 }],
      [`${name} p99 ms`, { of: ({ ms }) => percentile(ms[name], 0.99), factor: 1.5, slack: 20 }],
    ]),
  ),
  // Of 30 operations a sample, two that fail, find nothing to do, or are late.
  ...Object.fromEntries(
    Object.keys(RATES).map((name): [string, Rule] => [
      `${name} a sample`,
      { of: ({ done }) => done[name] || Number.NaN, factor: 0.95, slack: -0.5, isMinimum: true },
    ]),
  ),
}

export interface Level {
  name: string
  second: number
  last: number
  limit: number
  /** Whether less than the limit is not level, instead of more. */
  isMinimum: boolean
}

/** The medians of the second and of the last quarter. */
export function levelsOf(samples: readonly Sample[]): Level[] {
  const quarter = (number: number) =>
    samples.slice(
      Math.floor(((number - 1) * samples.length) / 4),
      Math.floor((number * samples.length) / 4),
    )
  return Object.entries(RULES).flatMap(([name, { of, factor, slack, isMinimum = false }]) => {
    if (samples.every((sample) => of(sample) === undefined)) return []
    const medianOf = (some: readonly Sample[]) => {
      const values = some.map((sample) => of(sample) ?? Number.NaN)
      return values.some(Number.isNaN) ? Number.NaN : median(values)
    }
    const [second, last] = [medianOf(quarter(2)), medianOf(quarter(4))]
    return [{ name, second, last, limit: second * factor + slack, isMinimum }]
  })
}

export const isLevel = ({ last, limit, isMinimum }: Level) =>
  isMinimum ? last >= limit : last <= limit

/** Too few cannot tell. */
const MIN_SAMPLES = 20

export function levelFaults(samples: readonly Sample[]): string[] {
  if (samples.length < MIN_SAMPLES)
    return [`${samples.length} samples are too few to tell what is level`]
  return levelsOf(samples)
    .filter((level) => !isLevel(level))
    .map(
      ({ name, second, last, limit, isMinimum }) =>
        `${name}: ${last.toFixed(1)} in the last quarter, ${second.toFixed(1)} in the second, at ${isMinimum ? 'least' : 'most'} ${limit.toFixed(1)} is level`,
    )
}
