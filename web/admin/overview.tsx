import { useState } from 'preact/hooks'
import { ErrorMessage } from '../site/controls.tsx'
import { language, t } from '../site/i18n.ts'
import type { Figures } from './api.ts'
import { SeriesPlot } from './series.tsx'
import { useLoaded } from './state.ts'
import { a, sizeText } from './texts.ts'
import './overview.css'

const RANGES = ['1h', '24h', '30d'] as const

export function Overview() {
  const [range, setRange] = useState<(typeof RANGES)[number]>('1h')
  const { value, error, isLoading } = useLoaded('GET /admin/api/overview', { range })
  return (
    <>
      <p class="soft">{a('admin_privacy')}</p>
      <ErrorMessage error={error} />
      {!value && isLoading && <p class="soft">{t('site_loading')}</p>}
      {value && value.fault !== null && (
        <p class="notice bad">{a('admin_fault', { reason: value.fault })}</p>
      )}
      {value?.warnings.map((warning) => (
        <p key={warning} class="notice" lang="en" dir="ltr">
          {warning}
        </p>
      ))}
      {value?.figures && <Tiles figures={value.figures} />}
      <section class="stack" aria-label={a('admin_traffic')}>
        <fieldset class="row admin-period">
          <legend class="unseen">{a('admin_period')}</legend>
          {RANGES.map((one) => (
            <label key={one} class="tick">
              <input
                type="radio"
                name="range"
                checked={one === range}
                onChange={() => setRange(one)}
              />
              {a(`admin_period_${one}`)}
            </label>
          ))}
        </fieldset>
        <div class="admin-plots" aria-busy={isLoading}>
          {value?.series.map((series) => (
            <SeriesPlot key={series.name} series={series} />
          ))}
        </div>
      </section>
    </>
  )
}

interface Tile {
  name: string
  value: string
  more?: string
  isBad?: boolean
  /** The view with the details. */
  view?: string
}

function Tiles({ figures }: { figures: Figures }) {
  return (
    <ul class="tiles" aria-label={a('admin_view_overview')}>
      {tilesOf(figures).map(({ name, value, more = '', isBad = false, view }) => {
        const content = (
          <>
            <span class="tile-value">{value}</span>
            <span class="tile-name">{name}</span>
            <span class={`tile-more ${isBad ? 'bad' : ''}`}>{more}</span>
          </>
        )
        return (
          <li key={name}>
            {view === undefined ? (
              <div class="tile">{content}</div>
            ) : (
              <a class="tile" href={`#${view}`}>
                {content}
              </a>
            )}
          </li>
        )
      })}
    </ul>
  )
}

/** First what is stored, then what may fail. */
function tilesOf(figures: Figures): Tile[] {
  const { pool, operator_mail: mail, domains } = figures
  const inactive = domains.all - domains.active
  return [
    { name: a('admin_plot_sessions'), value: count(figures.sessions), view: 'sessions' },
    { name: a('admin_plot_stored_bytes'), value: sizeText(figures.stored_bytes) },
    { name: a('admin_pool'), value: count(pool.messages), more: sizeText(pool.bytes) },
    {
      name: a('admin_view_mail'),
      value: count(mail.messages),
      more: sizeText(mail.bytes),
      view: 'mail',
    },
    {
      name: a('admin_view_domains'),
      value: count(domains.active),
      more: inactive === 0 ? '' : a('admin_some_inactive', { some: inactive }),
      view: 'domains',
    },
    healthTile('accounts', figures.gmail_accounts),
    healthTile('webhooks', figures.webhooks),
    checksTile(figures.checks),
  ]
}

function checksTile(checks: Figures['checks']): Tile {
  const tile = healthTile('checks', checks)
  return checks.all === 0 ? { ...tile, value: '–', more: a('admin_check_none') } : tile
}

function healthTile(
  view: 'accounts' | 'webhooks' | 'checks',
  { all, failing, warnings = 0 }: { all: number; failing: number; warnings?: number },
): Tile {
  const tile = { name: a(`admin_view_${view}`), value: count(all), view, isBad: failing > 0 }
  if (failing > 0) return { ...tile, more: a('admin_some_failing', { some: failing }) }
  if (warnings > 0) return { ...tile, more: a('admin_some_warnings', { some: warnings }) }
  return { ...tile, more: all === 0 ? '' : a('admin_all_well') }
}

function count(number: number): string {
  return number.toLocaleString(language.value)
}
