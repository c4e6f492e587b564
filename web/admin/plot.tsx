import { useState } from 'preact/hooks'
import { formatSize } from '../../src/shared/format-size.ts'
import { dayForKey } from '../key/bars.ts'
import { ErrorMessage } from '../site/controls.tsx'
import { language, listSeparator, t } from '../site/i18n.ts'
import { type Bar, barsOf, heightOf, type Range, type Series, sumOf } from './plot-data.ts'
import { useLoaded } from './state.ts'
import { a, labelText } from './texts.ts'

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
  const bars = value ? barsOf(value, range) : []
  const unit = value && bars.length > 0 ? unitText(value, range) : ''
  return (
    <section class="panel admin-plot" aria-label={title}>
      <h3>
        {title} <span class="soft">{unit}</span>
      </h3>
      <ErrorMessage error={error} />
      {value && bars.length > 0 ? (
        <>
          <Bars title={`${title} ${unit}`.trim()} series={value} bars={bars} range={range} />
          <BarTable series={value} bars={bars} range={range} />
        </>
      ) : (
        <p class="soft admin-plot-none">{isLoading ? t('site_loading') : a('admin_plot_empty')}</p>
      )}
    </section>
  )
}

/** Of a bar. Durations and sizes name their own. */
function unitText({ kind }: Series, range: Range): string {
  if (kind === 'count') return a('admin_plot_rate')
  return range === '1h' ? '' : a('admin_plot_most')
}

interface BarsProps {
  series: Series
  bars: readonly Bar[]
  range: Range
}

// In units of the drawing, which is stretched to the available width.
const STEP = 10
const GAP = 2
const HEIGHT = 100

/** One tab stop: the arrow keys move through time. The values of the selected bar, or the last one, are shown. */
function Bars({ title, series, bars, range }: BarsProps & { title: string }) {
  const last = bars.length - 1
  const [chosen, choose] = useState<number | undefined>(undefined)
  const at = Math.min(chosen ?? last, last)
  const most = Math.max(...bars.map((bar) => heightOf(series.kind, bar)))
  const selected = bars[at]
  const isSingle = series.lines[0]?.label === ''
  const only = isSingle && `: ${textOf(series, selected?.values[0] ?? null)}`
  return (
    <>
      <div class="admin-bars">
        <div class="admin-plot-ends soft" aria-hidden="true">
          <bdi>{valueText(series, most)}</bdi>
          <bdi class="admin-plot-told">
            {timeText(selected?.start, range)}
            {only}
          </bdi>
        </div>
        <div
          role="slider"
          tabIndex={0}
          aria-label={a('admin_plot_hint', { name: title })}
          aria-valuemin={0}
          aria-valuemax={last}
          aria-valuenow={at}
          aria-valuetext={barText(series, selected, range)}
          onKeyDown={(event) => {
            const to = dayForKey(event.key, at, bars.length)
            if (to === undefined) return
            event.preventDefault()
            choose(to)
          }}
        >
          <svg
            viewBox={`0 0 ${bars.length * STEP} ${HEIGHT}`}
            preserveAspectRatio="none"
            aria-hidden="true"
          >
            {bars.map((bar, index) => (
              <g
                key={index}
                class={index === chosen ? 'chosen' : ''}
                onPointerEnter={() => choose(index)}
              >
                <rect class="room" x={index * STEP} y={0} width={STEP} height={HEIGHT} />
                {rectsOf(series, bar, most).map(({ line, y, height }) => (
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
          <bdi>{endText(bars[0]?.start, range)}</bdi>
          {series.kind === 'count' && <bdi>{`${t('key_total')} ${totalText(series.lines)}`}</bdi>}
          <bdi>{endText(bars[last]?.end, range)}</bdi>
        </div>
      </div>
      {!isSingle && <Legend series={series} bar={selected} />}
    </>
  )
}

/** As many as overview.css has. */
const COLOURS = 6

/** Counts stand on each other; of quantiles, the smaller one is drawn over the larger. */
function rectsOf({ kind }: Series, { values }: Bar, most: number) {
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

function Legend({ series, bar }: { series: Series; bar: Bar | undefined }) {
  return (
    <ul class="admin-legend soft">
      {series.lines.map(({ label }, line) => (
        <li key={label}>
          <span class={`swatch line-${line % COLOURS}`} />
          <bdi>{lineText(label)}</bdi>
          <bdi class="number">{textOf(series, bar?.values[line] ?? null)}</bdi>
        </li>
      ))}
    </ul>
  )
}

function BarTable({ series, bars, range }: BarsProps) {
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
                    {lineText(label)}
                  </th>
                ))}
              </tr>
            </thead>
            {series.kind === 'count' && (
              <tbody class="admin-sum">
                <tr>
                  <th scope="row">{t('key_total')}</th>
                  {series.lines.map(({ label, values }) => (
                    <td key={label} class="number">
                      {totalText([{ values }])}
                    </td>
                  ))}
                </tr>
              </tbody>
            )}
            <tbody>
              {bars.toReversed().map((bar) => (
                <tr key={bar.start.getTime()}>
                  <td>{timeText(bar.start, range)}</td>
                  {bar.values.map((value, line) => (
                    <td key={series.lines[line]?.label} class="number">
                      {textOf(series, value)}
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

/** A series without labels has one line. */
function lineText(label: string): string {
  return label === '' ? t('key_total') : labelText(label)
}

function totalText(lines: readonly Pick<Series['lines'][number], 'values'>[]): string {
  return sumOf(lines.flatMap(({ values }) => values)).toLocaleString(language.value)
}

/** For screen readers. */
function barText(series: Series, bar: Bar | undefined, range: Range): string {
  if (!bar) return ''
  const parts = series.lines.map(({ label }, line) => {
    const text = textOf(series, bar.values[line] ?? null)
    return label === '' ? text : `${labelText(label)} ${text}`
  })
  return `${timeText(bar.start, range)}: ${parts.join(listSeparator())}`
}

function textOf(series: Series, value: number | null): string {
  return value === null ? '–' : valueText(series, value)
}

function valueText({ kind, unit }: Series, value: number): string {
  if (unit === 'bytes') return formatSize(Math.round(value), language.value)
  if (unit === 'seconds') {
    const ms = value * 1000
    const time = ms.toLocaleString(language.value, { maximumSignificantDigits: 3 })
    return t('docs_duration', { time })
  }
  const isSmallRate = kind === 'count' && value < 10
  const digits = isSmallRate ? { maximumSignificantDigits: 2 } : { maximumFractionDigits: 0 }
  return value.toLocaleString(language.value, digits)
}

const CLOCK = { hour: 'numeric', minute: '2-digit' } as const
const DAY = { month: 'short', day: 'numeric' } as const

function timeText(time: Date | undefined, range: Range): string {
  const format = range === '30d' ? { ...DAY, hour: 'numeric' as const } : CLOCK
  return time?.toLocaleString(language.value, format) ?? ''
}

/** Of the axis. */
function endText(time: Date | undefined, range: Range): string {
  return time?.toLocaleString(language.value, range === '30d' ? DAY : CLOCK) ?? ''
}
