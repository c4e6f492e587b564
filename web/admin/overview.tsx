import { useState } from 'preact/hooks'
import { formatSize } from '../../src/shared/format-size.ts'
import { ErrorMessage } from '../site/controls.tsx'
import { language, t } from '../site/i18n.ts'
import { PLOTS, Plot, RANGES, type Range } from './plot.tsx'
import { type Response, useLoaded } from './state.ts'
import { a } from './texts.ts'

type OverviewResponse = Response<'GET /admin/api/overview'>
type Figures = NonNullable<OverviewResponse['figures']>

export function Overview() {
  const { value, error, isLoading } = useLoaded('GET /admin/api/overview')
  return (
    <>
      <p class="soft">{a('admin_privacy')}</p>
      <ErrorMessage error={error} />
      {!value && isLoading && <p class="soft">{t('site_loading')}</p>}
      {value && <Attention of={value} />}
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
function Attention({ of: { fault, warnings } }: { of: OverviewResponse }) {
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

function Tiles({ figures }: { figures: Figures }) {
  const { sessions, pool, operator_mail: mail, domains, gmail_accounts: accounts } = figures
  const count = (number: number) => number.toLocaleString(language.value)
  const size = (bytes: number) => formatSize(bytes, language.value)
  const failing = (some: number) =>
    some === 0 ? a('admin_all_well') : a('admin_some_failing', { some })
  const tiles: [name: string, view: string, value: string, more: string, isBad?: boolean][] = [
    [a('admin_view_sessions'), 'sessions', count(sessions), size(figures.stored_bytes)],
    [a('admin_pool'), 'domains', count(pool.messages), size(pool.bytes)],
    [a('admin_view_mail'), 'mail', count(mail.messages), size(mail.bytes)],
    [
      a('admin_view_domains'),
      'domains',
      count(domains.active),
      a('admin_some_of', { some: domains.active, all: domains.all }),
    ],
    [
      a('admin_view_accounts'),
      'accounts',
      count(accounts.all),
      failing(accounts.failing),
      accounts.failing > 0,
    ],
    [
      a('admin_view_webhooks'),
      'webhooks',
      count(figures.webhooks.all),
      failing(figures.webhooks.failing),
      figures.webhooks.failing > 0,
    ],
  ]
  return (
    <ul class="tiles" aria-label={a('admin_view_overview')}>
      {tiles.map(([name, view, value, more, isBad = false]) => (
        <li key={name}>
          <a href={`#${view}`}>
            <span class="tile-name">{name}</span>
            <span class="tile-value">{value}</span>
            <span class={`tile-more ${isBad ? 'bad' : ''}`}>{more}</span>
          </a>
        </li>
      ))}
    </ul>
  )
}
