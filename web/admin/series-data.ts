import { formatSize } from '../../src/shared/format-size.ts'
import { language, t } from '../site/i18n.ts'
import { type PlotData, sumOf } from '../site/plot-data.ts'
import type { Series } from './api.ts'
import { labelText } from './texts.ts'

/** In seconds. */
export const MINUTE = 60

/** Counts are per minute, so that the same traffic looks the same in every range. */
export function seriesData({ kind, unit, lines, ...series }: Series, title: string): PlotData {
  const { start_iso: start, step_seconds: seconds } = series
  const steps = lines[0]?.values.length ?? 0
  const isCount = kind === 'count'
  const rate = (count: number | null) => count && (count * MINUTE) / seconds
  return {
    times: Array.from(
      { length: steps + 1 },
      (_, step) => new Date(Date.parse(start) + step * seconds * 1000),
    ),
    lines: lines.map(({ label, values }) => ({
      label: label === '' ? title : labelText(label),
      values: isCount ? values.map(rate) : values,
      total: isCount ? sumOf(values) : undefined,
    })),
    formatValue(value) {
      if (unit === 'bytes') return formatSize(Math.round(value), language.value)
      const shown = unit === 'seconds' ? value * 1000 : value
      const digits = shown < 100 ? { maximumSignificantDigits: 3 } : { maximumFractionDigits: 0 }
      const text = shown.toLocaleString(language.value, digits)
      return unit === 'seconds' ? t('docs_duration', { time: text }) : text
    },
  }
}
