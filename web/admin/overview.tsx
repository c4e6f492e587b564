import { useState } from 'preact/hooks'
import { formatSize } from '../../src/shared/format-size.ts'
import { ErrorMessage } from '../site/controls.tsx'
import { language, t } from '../site/i18n.ts'
import { PLOTS, Plot } from './plot.tsx'
import { RANGES, type Range } from './plot-data.ts'
import { type Response, useLoaded } from './state.ts'
import { a } from './texts.ts'
import './overview.css'

type Status = Response<'GET /admin/api/overview'>

export function Overview() {
  const { value, error, isLoading } = useLoaded('GET /admin/api/overview')
  return (
    <>
      <p class="soft">{a('admin_privacy')}</p>
      <ErrorMessage error={error} />
      {!value && isLoading && <p class="soft">{t('site_loading')}</p>}
      {value && <Attention status={value} />}
      {value?.figures && <Tiles figures={value.figures} />}
      <Traffic />
    </>
  )
}

function Traffic() {
  const [range, setRange] = useState<Range>('1h')
  return (
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
      <div class="admin-plots">
        {PLOTS.map((name) => (
          <Plot key={name} name={name} range={range} />
        ))}
      </div>
    </section>
  )
}

/** What stops mail, and what does not stop it but should not stay. */
function Attention({ status: { fault, warnings } }: { status: Status }) {
  return (
    <>
      {fault !== null && <p class="notice bad">{a('admin_fault', { reason: fault })}</p>}
      {warnings.map((warning) => (
        <p key={warning} class="notice" lang="en" dir="ltr">
          {warning}
        </p>
      ))}
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

function Tiles({ figures }: { figures: NonNullable<Status['figures']> }) {
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

interface Health {
  all: number
  failing: number
  warnings?: number
}

/** First what is stored, then what may fail. */
function tilesOf(figures: NonNullable<Status['figures']>): Tile[] {
  const { sessions, stored_bytes: bytes, pool, operator_mail: mail, domains } = figures
  const count = (number: number) => number.toLocaleString(language.value)
  const size = (bytes: number) => formatSize(bytes, language.value)
  const health = ({ all, failing, warnings = 0 }: Health) => {
    const warned = warnings > 0 ? a('admin_some_warnings', { some: warnings }) : undefined
    const more = failing > 0 ? a('admin_some_failing', { some: failing }) : warned
    return {
      value: count(all),
      more: all === 0 ? '' : (more ?? a('admin_all_well')),
      isBad: failing > 0,
    }
  }
  const inactive = domains.all - domains.active
  return [
    { name: a('admin_plot_sessions'), value: count(sessions), view: 'sessions' },
    { name: a('admin_plot_stored_bytes'), value: size(bytes) },
    { name: a('admin_pool'), value: count(pool.messages), more: size(pool.bytes) },
    {
      name: a('admin_view_mail'),
      value: count(mail.messages),
      more: size(mail.bytes),
      view: 'mail',
    },
    {
      name: a('admin_view_domains'),
      value: count(domains.active),
      more: inactive === 0 ? '' : a('admin_some_inactive', { some: inactive }),
      view: 'domains',
    },
    { name: a('admin_view_accounts'), ...health(figures.gmail_accounts), view: 'accounts' },
    { name: a('admin_view_webhooks'), ...health(figures.webhooks), view: 'webhooks' },
    { name: a('admin_view_checks'), ...health(figures.checks), view: 'checks' },
  ]
}
