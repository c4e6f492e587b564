import type { Response } from './state.ts'

export type Series = Response<'GET /admin/api/series'>

export interface Step {
  start: Date
  end: Date
  /** By label, in the order of the lines; null where nothing was recorded. */
  values: (number | null)[]
}

// A bar needs at least three pixels on a phone.
const MAX_STEPS = 72

/** The series in fewer, longer steps: counts are added up, of levels the mean is taken, of quantiles the largest. */
export function stepsOf({ kind, start_iso: iso, step_seconds: seconds, lines }: Series): Step[] {
  const count = lines[0]?.values.length ?? 0
  const group = Math.ceil(count / MAX_STEPS)
  const time = (step: number) => new Date(Date.parse(iso) + Math.min(step, count) * seconds * 1000)
  return Array.from({ length: Math.ceil(count / Math.max(group, 1)) }, (_, at) => ({
    start: time(at * group),
    end: time((at + 1) * group),
    values: lines.map(({ values }) => merge(kind, values.slice(at * group, (at + 1) * group))),
  }))
}

function merge(kind: Series['kind'], values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null)
  if (known.length === 0) return null
  if (kind === 'quantiles') return Math.max(...known)
  const sum = known.reduce((total, value) => total + value, 0)
  return kind === 'count' ? sum : sum / known.length
}

/** The height that a step needs: lines of counts stand on each other, others start at 0. */
export function heightOf(kind: Series['kind'], { values }: Step): number {
  const known = values.map((value) => value ?? 0)
  return kind === 'count' ? known.reduce((sum, value) => sum + value, 0) : Math.max(0, ...known)
}
