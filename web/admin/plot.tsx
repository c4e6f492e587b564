import { useState } from 'preact/hooks'
import { formatSize } from '../../src/shared/format-size.ts'
import { dayForKey } from '../key/bars.ts'
import { ErrorMessage } from '../site/controls.tsx'
import { language, listSeparator, t } from '../site/i18n.ts'
import { heightOf, type Series, type Step, stepsOf } from './plot-data.ts'
import { useLoaded } from './state.ts'
import { a } from './texts.ts'

export const RANGES = ['1h', '24h', '30d'] as const
export type Range = (typeof RANGES)[number]

export const PLOTS = [
  'mails',
  'refusals',
  'sessions',
  'stored_bytes',
  'requests',
  'latency',
  'waiting',
  'parse_queue',
  'webhooks',
] as const

interface PlotProps {
  name: (typeof PLOTS)[number]
  range: Range
}

/** One series as bars, and as a table. */
export function Plot({ name, range }: PlotProps) {
  const { value, error, isLoading } = useLoaded('GET /admin/api/series', { name, range })
  const title = a(`admin_plot_${name}`)
  const steps = value ? stepsOf(value) : []
  return (
    <section class="panel admin-plot" aria-label={title}>
      <h3>{title}</h3>
      <ErrorMessage error={error} />
      {value && steps.length > 0 ? (
        <>
          <Bars title={title} series={value} steps={steps} range={range} />
          <Legend series={value} />
          <StepTable series={value} steps={steps} range={range} />
        </>
      ) : (
        <p class="soft admin-plot-none">{isLoading ? t('site_loading') : a('admin_plot_empty')}</p>
      )}
    </section>
  )
}

interface BarsProps {
  series: Series
  steps: readonly Step[]
  range: Range
}

// In units of the drawing, which is stretched to the available width.
const STEP = 10
const GAP = 2
const HEIGHT = 100

/** One tab stop: the arrow keys move through time, and the selected step is shown above. */
function Bars({ title, series, steps, range }: BarsProps & { title: string }) {
  const last = steps.length - 1
  const [chosen, choose] = useState<number | undefined>(undefined)
  const at = Math.min(chosen ?? last, last)
  const most = Math.max(...steps.map((step) => heightOf(series.kind, step)))
  const words = stepText(series, steps[at], range)
  return (
    <div class="admin-bars">
      <div class="admin-plot-ends soft" aria-hidden="true">
        <span>{valueText(series, most)}</span>
        <bdi class="admin-plot-told">{words}</bdi>
      </div>
      <div
        role="slider"
        tabIndex={0}
        aria-label={a('admin_plot_hint', { name: title })}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={at}
        aria-valuetext={words}
        onKeyDown={(event) => {
          const to = dayForKey(event.key, at, steps.length)
          if (to === undefined) return
          event.preventDefault()
          choose(to)
        }}
      >
        <svg
          viewBox={`0 0 ${steps.length * STEP} ${HEIGHT}`}
          preserveAspectRatio="none"
          aria-hidden="true"
        >
          {steps.map((step, index) => (
            <g
              key={index}
              class={index === chosen ? 'chosen' : ''}
              onPointerEnter={() => choose(index)}
            >
              <rect class="room" x={index * STEP} y={0} width={STEP} height={HEIGHT} />
              {rectsOf(series, step, most).map(({ line, y, height }) => (
                <rect
                  key={line}
                  class={`line-${line % COLOURS}`}
                  x={index * STEP + GAP / 2}
                  y={y}
                  width={STEP - GAP}
                  height={height}
                />
              ))}
            </g>
          ))}
        </svg>
      </div>
      <div class="admin-plot-ends soft" aria-hidden="true">
        <bdi>{timeText(steps[0]?.start, range)}</bdi>
        <bdi>{timeText(steps[last]?.end, range)}</bdi>
      </div>
    </div>
  )
}

/** As many as admin.css has. */
const COLOURS = 6

/** Counts stand on each other; of quantiles, the smaller one is drawn over the larger. */
function rectsOf({ kind }: Series, { values }: Step, most: number) {
  let below = 0
  const rects = values.map((value, line) => {
    const height = most === 0 ? 0 : ((value ?? 0) / most) * HEIGHT
    const y = HEIGHT - below - height
    if (kind === 'count') below += height
    return { line, y, height }
  })
  const drawn = rects.filter(({ height }) => height > 0)
  return kind === 'count' ? drawn : drawn.sort((one, other) => other.height - one.height)
}

function Legend({ series: { lines } }: { series: Series }) {
  if (lines.length === 1 && lines[0]?.label === '') return null
  return (
    <ul class="admin-legend soft">
      {lines.map(({ label }, line) => (
        <li key={label}>
          <span class={`swatch line-${line % COLOURS}`} /> <bdi>{labelText(label)}</bdi>
        </li>
      ))}
    </ul>
  )
}

function StepTable({ series, steps, range }: BarsProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details class="more" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{t('key_table')}</summary>
      {isOpen && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard
        <section class="admin-table" aria-label={t('key_table')} tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">{t('hook_time')}</th>
                {series.lines.map(({ label }) => (
                  <th key={label} scope="col" class="number">
                    {label === '' ? t('key_total') : labelText(label)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {steps.toReversed().map((step) => (
                <tr key={step.start.getTime()}>
                  <td>{timeText(step.start, range)}</td>
                  {step.values.map((value, line) => (
                    <td key={series.lines[line]?.label} class="number">
                      {value === null ? '–' : valueText(series, value)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </details>
  )
}

/** Labels are those of the metrics. */
function labelText(label: string): string {
  return label.replaceAll('_', ' ')
}

function stepText(series: Series, step: Step | undefined, range: Range): string {
  if (!step) return ''
  const parts = series.lines.flatMap(({ label }, line) => {
    const value = step.values[line] ?? null
    return value === null ? [] : [`${labelText(label)} ${valueText(series, value)}`.trim()]
  })
  const values = parts.length === 0 ? '–' : parts.join(listSeparator())
  return `${timeText(step.start, range)}: ${values}`
}

function valueText({ unit }: Series, value: number): string {
  if (unit === 'bytes') return formatSize(Math.round(value), language.value)
  if (unit === 'seconds') {
    const ms = value * 1000
    const time = ms.toLocaleString(language.value, { maximumSignificantDigits: 3 })
    return t('docs_duration', { time })
  }
  return value.toLocaleString(language.value, { maximumFractionDigits: value < 10 ? 1 : 0 })
}

function timeText(time: Date | undefined, range: Range): string {
  const clock = { hour: 'numeric', minute: '2-digit' } as const
  const day = { month: 'short', day: 'numeric' } as const
  const format = range === '30d' ? { ...day, hour: 'numeric' as const } : clock
  return time?.toLocaleString(language.value, format) ?? ''
}
