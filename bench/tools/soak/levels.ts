import { median, percentile } from '../report.ts'
import { memoryMb, type Sample } from './samples.ts'
import { LATENCIES } from './tally.ts'

// What should be level. The samples are divided into quarters: in the first one caches fill, and mail does not expire as fast as it
// arrives. The median of the last quarter is compared with that of the second.

interface Rule {
  /** Undefined if this service has no such thing; NaN, which is not level, if nothing was measured. */
  of(sample: Sample): number | undefined
  /** The last quarter has at most this much of the second, */
  factor: number
  /** and so much more. */
  slack: number
}

const RULES: Record<string, Rule> = {
  'MB of memory': { of: (sample) => memoryMb(sample) || Number.NaN, factor: 1.1, slack: 5 },
  descriptors: { of: ({ descriptors }) => descriptors || Number.NaN, factor: 1.1, slack: 5 },
  // Less than 100 bytes for each mail: the ledger of addresses, and a line of the mail log each second.
  'MB of data': { of: ({ files }) => files.data || Number.NaN, factor: 1.1, slack: 16 },
  'MB of WAL': { of: ({ files }) => files.wal, factor: 1.5, slack: 16 },
  'KB of log a sample': {
    of: ({ grown: { log } }) => log && log * 1024,
    ...{ factor: 1.5, slack: 10 },
  },
  'KB of raw mail a mail': {
    of: ({ grown: { raw }, done }) => raw && (raw * 1024) / (done['mails'] ?? 0),
    ...{ factor: 1.2, slack: 0.1 },
  },
  ...Object.fromEntries(
    LATENCIES.flatMap((name): [string, Rule][] => [
      [`${name} p50 ms`, { of: ({ ms }) => median(ms[name]), factor: 1.3, slack: 1 }],
      [`${name} p99 ms`, { of: ({ ms }) => percentile(ms[name], 0.99), factor: 1.5, slack: 20 }],
    ]),
  ),
}

export interface Level {
  name: string
  second: number
  last: number
  limit: number
}

/** The medians of the second and of the last quarter. */
export function levelsOf(samples: readonly Sample[]): Level[] {
  const quarter = (number: number) =>
    samples.slice(
      Math.floor(((number - 1) * samples.length) / 4),
      Math.floor((number * samples.length) / 4),
    )
  return Object.entries(RULES).flatMap(([name, { of, factor, slack }]) => {
    if (samples.every((sample) => of(sample) === undefined)) return []
    const medianOf = (some: readonly Sample[]) => {
      const values = some.map((sample) => of(sample) ?? Number.NaN)
      return values.some(Number.isNaN) ? Number.NaN : median(values)
    }
    const [second, last] = [medianOf(quarter(2)), medianOf(quarter(4))]
    return [{ name, second, last, limit: second * factor + slack }]
  })
}

export const isLevel = ({ last, limit }: Level) => last <= limit

/** Too few cannot tell. */
const MIN_SAMPLES = 20

export function levelFaults(samples: readonly Sample[]): string[] {
  if (samples.length < MIN_SAMPLES) return []
  return levelsOf(samples)
    .filter((level) => !isLevel(level))
    .map(
      ({ name, second, last, limit }) =>
        `${name}: ${last.toFixed(1)} in the last quarter, ${second.toFixed(1)} in the second, at most ${limit.toFixed(1)} is level`,
    )
}
