import { useState } from 'preact/hooks'
import type { Usage } from '../site/api-client.ts'
import { formatDay } from '../site/format.ts'
import { language, t } from '../site/i18n.ts'
import { barHeights, dayForKey } from './bars.ts'

type Days = Usage['days']

/** The requests of the last 30 days, as bars and as a table. */
export function Plot({ days }: { days: Days }) {
  const total = days.reduce((sum, { requests }) => sum + requests, 0)
  return (
    <section class="panel" aria-labelledby="days">
      <div class="key-top row">
        <h2 id="days">{t('key_days')}</h2>
        <span class="soft">{t('shop_requests', { count: total })}</span>
      </div>
      <Bars days={days} />
      <details class="more">
        <summary>{t('key_table')}</summary>
        <DayTable days={days} />
      </details>
    </section>
  )
}

// In units of the drawing, which is stretched to the available width.
const STEP = 10
const GAP = 2.5
const HEIGHT = 100

/** One tab stop: the arrow keys move between days, and the selected day is shown above. */
function Bars({ days }: { days: Days }) {
  const last = days.length - 1
  const [chosen, choose] = useState(last)
  const at = Math.min(chosen, last)
  const most = Math.max(...days.map(({ requests }) => requests), 0)
  return (
    <div class="plot">
      <div class="plot-ends soft" aria-hidden="true">
        <span>{most.toLocaleString(language.value)}</span>
        <bdi class="plot-told">{dayText(days[at])}</bdi>
      </div>
      <div
        role="slider"
        tabIndex={0}
        aria-label={t('key_chart')}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={at}
        aria-valuetext={dayText(days[at])}
        onKeyDown={(event) => {
          const to = dayForKey(event.key, at, days.length)
          if (to === undefined) return
          event.preventDefault()
          choose(to)
        }}
      >
        <BarsSvg days={days} chosen={chosen} onChoose={choose} />
      </div>
      <div class="plot-ends soft" aria-hidden="true">
        <bdi>{shortDayText(days[0])}</bdi>
        <bdi>{shortDayText(days[last])}</bdi>
      </div>
    </div>
  )
}

interface BarsSvgProps {
  days: Days
  chosen: number
  onChoose(day: number): void
}

function BarsSvg({ days, chosen, onChoose }: BarsSvgProps) {
  const heights = barHeights(days.map(({ requests }) => requests))
  return (
    <svg
      viewBox={`0 0 ${days.length * STEP} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {days.map((day, index) => (
        <g
          key={day.date}
          class={index === chosen ? 'chosen' : ''}
          onPointerEnter={() => onChoose(index)}
        >
          <title>{dayText(day)}</title>
          <rect class="room" x={index * STEP} y={0} width={STEP} height={HEIGHT} />
          <rect
            class="amount"
            x={index * STEP + GAP / 2}
            y={HEIGHT * (1 - (heights[index] ?? 0))}
            width={STEP - GAP}
            height={HEIGHT * (heights[index] ?? 0)}
          />
        </g>
      ))}
    </svg>
  )
}

function dayText(day: Days[number] | undefined): string {
  return day ? t('key_day', { date: formatDay(day.date), count: day.requests }) : ''
}

function shortDayText(day: Days[number] | undefined): string {
  return day ? formatDay(day.date, 'short') : ''
}

function DayTable({ days }: { days: Days }) {
  return (
    <table class="days">
      <thead>
        <tr>
          <th scope="col">{t('key_date')}</th>
          <th scope="col" class="number">
            {t('key_requests')}
          </th>
        </tr>
      </thead>
      <tbody>
        {days.toReversed().map(({ date, requests }) => (
          <tr key={date}>
            <td>{formatDay(date)}</td>
            <td class="number">{requests.toLocaleString(language.value)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
