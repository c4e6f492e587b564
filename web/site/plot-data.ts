import { language, t } from './i18n.ts'

export interface PlotData {
  /** When each step begins, and when the last one ends. */
  times: readonly Date[]
  lines: readonly PlotLine[]
  formatValue(value: number): string
}

interface PlotLine {
  label: string
  /** One per step. Null: nothing was recorded. */
  values: readonly (number | null)[]
  /** Sums of counts. */
  total?: number | undefined
}

/**
 * The rows of the table: first the totals, if there are any, then the newest. The steps with the same text are one row, with
 * the mean of counts, and the largest of other values.
 */
export function plotRows(data: PlotData, formatRow: (time: Date) => string): string[][] {
  const { times, lines } = data
  const steps = times.slice(0, -1).map((time, step) => ({ text: formatRow(time), step }))
  const rows = [...Map.groupBy(steps, ({ text }) => text)].map(([text, some]) => [
    text,
    ...lines.map(({ values, total }) => {
      const known = some.map(({ step }) => values[step] ?? null).filter((value) => value !== null)
      if (known.length === 0) return valueText(data, null)
      return valueText(data, total === undefined ? Math.max(...known) : sumOf(known) / known.length)
    }),
  ])
  const totals = lines.map(({ total }) => total?.toLocaleString(language.value) ?? '')
  const hasTotals = totals.some((total) => total !== '')
  return [...(hasTotals ? [[t('key_total'), ...totals]] : []), ...rows.toReversed()]
}

/** What the axis of values ends at: a round number whose half is round, too, so that three ticks name it. */
export function axisTop(max: number, isWhole: boolean): number {
  const half = Math.max(max, isWhole ? 2 : 0) / 2
  if (half === 0) return 1
  const unit = 10 ** Math.floor(Math.log10(half))
  const round = ROUND.find((one) => one * unit >= half && !(isWhole && (one * unit) % 1)) ?? 10
  return 2 * round * unit
}

const ROUND = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8]

export function valueText({ formatValue }: PlotData, value: number | null | undefined): string {
  return typeof value === 'number' ? formatValue(value) : '–'
}

export function sumOf(values: readonly (number | null)[]): number {
  return values.reduce<number>((sum, value) => sum + (value ?? 0), 0)
}
