import { useEffect, useRef, useState } from 'preact/hooks'
import { language, t } from './i18n.ts'
import { theme } from './layout.tsx'
import { matchesMedia } from './media.ts'
import { type PlotData, plotRows, valueText } from './plot-data.ts'
import './plot.css'

interface PlotProps {
  /** Heading of the times in the table. */
  timeHeading: string
  /** Drawn again when it is another object. */
  data: PlotData
  formatTime(time: Date): string
  /** The steps with the same text are one row of the table: the mean of counts, else the largest value. */
  formatRow?(time: Date): string
}

const isDark = matchesMedia('(prefers-color-scheme: dark)')

/** Lines over time, with the values at the pointer, which all plots of a page share; and a table, for keyboards and screen readers. */
export function Plot({ timeHeading, data, formatTime, formatRow = formatTime }: PlotProps) {
  const area = useRef<HTMLDivElement>(null)
  const [at, setAt] = useState<number | undefined>(undefined)
  useEffect(() => {
    let remove: (() => void) | undefined
    let isGone = false
    const draw = async () => {
      // Offline, or a newer build has replaced the file: the table remains.
      const { drawPlot } = (await import('./draw-plot.ts').catch(() => undefined)) ?? {}
      if (!drawPlot || !area.current || isGone) return
      const swatches = [...(area.current.parentElement?.querySelectorAll('.swatch') ?? [])]
      const colours = swatches.map((swatch) => getComputedStyle(swatch).backgroundColor)
      remove = drawPlot(data, { area: area.current, colours, onHover: setAt })
    }
    void draw()
    return () => {
      isGone = true
      remove?.()
    }
  }, [data, language.value, theme.value, isDark.value])
  return (
    <div class="plot">
      <div class="plot-area" ref={area} aria-hidden="true" />
      <Legend data={data} at={at} formatTime={formatTime} />
      <PlotTable timeHeading={timeHeading} data={data} formatRow={formatRow} />
    </div>
  )
}

interface LegendProps extends Pick<PlotProps, 'data' | 'formatTime'> {
  at: number | undefined
}

/** The values at the pointer; without one the totals of counts, else the last values. */
function Legend({ data, at, formatTime }: LegendProps) {
  const { times, lines } = data
  const hasTotals = at === undefined && lines.every(({ total }) => total !== undefined)
  const step = at ?? times.length - 2
  const time = times[step]
  return (
    <div class="plot-legend soft">
      <p>{hasTotals || !time ? t('key_total') : formatTime(time)}</p>
      <ul>
        {lines.map(({ label, values, total }, line) => (
          <li key={label}>
            <i class={`swatch line-${line % COLOURS}`} />
            <span>
              <bdi>{label}</bdi>
            </span>
            <bdi class="number">
              {hasTotals ? total?.toLocaleString(language.value) : valueText(data, values[step])}
            </bdi>
          </li>
        ))}
      </ul>
    </div>
  )
}

/** As many as plot.css has. */
const COLOURS = 6

function PlotTable({ timeHeading, data, formatRow }: Required<Omit<PlotProps, 'formatTime'>>) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details class="more" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{t('key_table')}</summary>
      {isOpen && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard
        <section class="plot-table" aria-label={t('key_table')} tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">{timeHeading}</th>
                {data.lines.map(({ label }) => (
                  <th key={label} scope="col" class="number">
                    {label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {plotRows(data, formatRow).map(([time, ...values]) => (
                <tr key={time}>
                  <th scope="row">{time}</th>
                  {values.map((value, line) => (
                    <td key={data.lines[line]?.label} class="number">
                      {value}
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
