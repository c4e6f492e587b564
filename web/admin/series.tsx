import { useMemo } from 'preact/hooks'
import { language, t } from '../site/i18n.ts'
import { Plot } from '../site/plot.tsx'
import type { Series } from './api.ts'
import { MINUTE, seriesData } from './series-data.ts'
import { a } from './texts.ts'

export function SeriesPlot({ series }: { series: Series }) {
  const title = a(`admin_plot_${series.name}`)
  const data = useMemo(() => seriesData(series, title), [series, title])
  const { time, row } = FORMATS[series.step_seconds] ?? FORMATS[MINUTE]
  const format = (options: Intl.DateTimeFormatOptions) => (at: Date) =>
    at.toLocaleString(language.value, options)
  return (
    <section class="panel admin-plot" aria-label={title}>
      <h3>
        {title} <span class="soft">{series.lines.length > 0 && unitText(series)}</span>
      </h3>
      {series.lines.length === 0 ? (
        <p class="soft admin-plot-none">{a('admin_plot_empty')}</p>
      ) : (
        <Plot
          timeHeading={t('hook_time')}
          data={data}
          formatTime={format(time)}
          formatRow={format(row)}
        />
      )}
    </section>
  )
}

const CLOCK = { hour: 'numeric', minute: '2-digit' } as const
const DAY = { month: 'short', day: 'numeric' } as const
const HOUR = { ...DAY, hour: 'numeric' } as const

/** By seconds of a step: its time, and the row of the table that it is in. */
const FORMATS: { [MINUTE]: Formats; [seconds: number]: Formats } = {
  [MINUTE]: { time: CLOCK, row: CLOCK },
  300: { time: CLOCK, row: HOUR },
  3600: { time: HOUR, row: DAY },
}
type Formats = Record<'time' | 'row', Intl.DateTimeFormatOptions>

/** Durations and sizes name their own. */
function unitText({ kind, step_seconds: seconds }: Series): string {
  if (kind === 'count') return a('admin_plot_rate')
  return kind === 'gauge' && seconds > MINUTE ? a('admin_plot_most') : ''
}
