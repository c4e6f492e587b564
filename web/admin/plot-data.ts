import type { Response } from './state.ts'

export type Series = Response<'GET /admin/api/series'>

export interface Bar {
  start: Date
  end: Date
  /** In the order of the lines: of counts per minute, of others the largest. Null where nothing was recorded. */
  values: (number | null)[]
}

export const RANGES = ['1h', '24h', '30d'] as const
export type Range = (typeof RANGES)[number]

// A bar needs at least three pixels on a phone.
const BAR_MINUTES = { '1h': 1, '24h': 20, '30d': 12 * 60 } as const satisfies Record<Range, number>
const MINUTE_MS = 60_000

/** The first and the last bar may be shorter: the others begin at midnight and noon, or the full hour, of the time zone. */
export function barsOf(
  { kind, start_iso: iso, step_seconds: seconds, lines }: Series,
  range: Range,
  offsetMinutes = (time: Date) => time.getTimezoneOffset(),
): Bar[] {
  const timeOf = (step: number) => new Date(Date.parse(iso) + step * seconds * 1000)
  const barOf = (step: number) => {
    const time = timeOf(step)
    return Math.floor((time.getTime() / MINUTE_MS - offsetMinutes(time)) / BAR_MINUTES[range])
  }
  const count = lines[0]?.values.length ?? 0
  // Not grouped by number: when the clocks go back, an hour has the numbers of the one before.
  const starts = Array.from({ length: count }, (_, step) => step).filter(
    (step) => step === 0 || barOf(step) !== barOf(step - 1),
  )
  return starts.map((first, at) => {
    const end = starts[at + 1] ?? count
    const minutes = ((end - first) * seconds) / 60
    return {
      start: timeOf(first),
      end: timeOf(end),
      values: lines.map(({ values }) => merge(kind, values.slice(first, end), minutes)),
    }
  })
}

function merge(
  kind: Series['kind'],
  values: readonly (number | null)[],
  minutes: number,
): number | null {
  const known = values.filter((value) => value !== null)
  if (known.length === 0) return null
  return kind === 'count' ? sumOf(known) / minutes : Math.max(...known)
}

export function sumOf(values: readonly (number | null)[]): number {
  return values.reduce<number>((sum, value) => sum + (value ?? 0), 0)
}

/** The height that a bar needs: lines of counts stand on each other, others start at 0. */
export function heightOf(kind: Series['kind'], { values }: Bar): number {
  return kind === 'count' ? sumOf(values) : Math.max(0, ...values.map((value) => value ?? 0))
}
