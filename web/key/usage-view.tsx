import { useEffect, useId, useMemo, useRef } from 'preact/hooks'
import type { Usage } from '../site/api.ts'
import { Button, ErrorMessage } from '../site/controls.tsx'
import { Facts } from '../site/facts.tsx'
import { formatDateTime } from '../site/format.ts'
import { knownText, language, listSeparator, t } from '../site/i18n.ts'
import { Plot } from '../site/plot.tsx'
import { sumOf } from '../site/plot-data.ts'
import { siteConfig } from '../site/site-config.ts'
import {
  clearUsage,
  hasInteracted,
  isLoading,
  loadUsage,
  planNames,
  storeKey,
  usageError,
} from './key-state.ts'
import { RollButton, rolledKey } from './roll.tsx'

export function UsageView({ usage }: { usage: Usage }) {
  const { plan, label, prefix, state, expires_at_iso: end, resets_at_iso: resets } = usage
  const title = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    if (hasInteracted.value) title.current?.focus()
  }, [])
  return (
    <>
      <section class="panel" aria-labelledby="plan">
        <div class="key-top row">
          <h2 id="plan" ref={title} tabIndex={-1}>
            {planNames.value.get(plan) ?? plan}
          </h2>
          <span class={`badge ${state === 'active' ? 'good' : 'bad'}`}>
            {knownText('key_state_', state)}
          </span>
        </div>
        <State usage={usage} />
        {usage.warnings.map(({ domain, at_iso: at }) => (
          <p key={domain} class="notice">
            {domain === null
              ? t('own_warning_expires', { time: formatDateTime(at) })
              : t('own_warning', { domain, time: formatDateTime(at) })}{' '}
            <a href="#domains">{t('own_title')}</a>
          </p>
        ))}
        <Meter
          label={t('key_total')}
          used={usage.used}
          all={usage.requests}
          left={usage.remaining}
        />
        {usage.per_day !== null && usage.remaining_today !== null && (
          <Meter
            label={t('key_today')}
            used={usage.used_today}
            all={usage.per_day}
            left={usage.remaining_today}
          />
        )}
        <Facts
          facts={[
            [t('key_prefix'), <code key="prefix">{prefix}</code>],
            [t('key_label'), label === '' ? null : label],
            [t('key_valid_until'), end === null ? t('key_never') : formatDateTime(end)],
            [t('key_resets'), usage.per_day === null ? null : formatDateTime(resets)],
          ]}
        />
        <Actions />
      </section>
      <Days days={usage.days} />
    </>
  )
}

function Days({ days }: Pick<Usage, 'days'>) {
  const data = useMemo(() => {
    const values = days.map(({ requests }) => requests)
    return {
      times: [...days.map(({ date }) => startOf(date)), startOf(days.at(-1)?.date ?? '', 1)],
      lines: [{ label: t('key_requests'), values, total: sumOf(values) }],
      formatValue: (count: number) => count.toLocaleString(language.value),
    }
  }, [days, language.value])
  return (
    <section class="panel" aria-labelledby="days">
      <h2 id="days">{t('key_days')}</h2>
      <Plot timeHeading={t('key_date')} data={data} formatTime={formatDay} />
    </section>
  )
}

function formatDay(day: Date): string {
  return day.toLocaleDateString(language.value, { month: 'long', day: 'numeric' })
}

/** Days are those of UTC. They are plotted as if they were local, so that each begins at a midnight of the axis. */
function startOf(date: string, daysLater = 0): Date {
  const start = new Date(`${date}T00:00`)
  start.setDate(start.getDate() + daysLater)
  return start
}

const REFUSALS = ['daily_limit', 'quota_exhausted', 'plan_expired', 'stopped'] as const

/** Why the key is rejected, and what helps. */
function State({ usage: { state, resets_at_iso: resets } }: { usage: Usage }) {
  const refusal = REFUSALS.find((one) => one === state)
  if (!refusal) return null
  const buys = state === 'quota_exhausted' || state === 'plan_expired'
  return (
    <p class="notice bad">
      {t(`key_hint_${refusal}`, { time: formatDateTime(resets) })}{' '}
      {buys && siteConfig.shop && <a href="/pricing">{t('key_see_plans')}</a>}
    </p>
  )
}

function Actions() {
  return (
    <>
      <div class="row key-actions">
        <Button class="plain" disabled={isLoading.value} onClick={() => void loadUsage()}>
          {t('key_refresh')}
        </Button>
        <RollButton />
        <Button
          class="quiet"
          onClick={() => {
            hasInteracted.value = true
            rolledKey.value = undefined
            storeKey('')
            clearUsage()
          }}
        >
          {t('key_forget')}
        </Button>
      </div>
      <ErrorMessage error={usageError.value} />
    </>
  )
}

interface MeterProps {
  label: string
  used: number
  all: number
  left: number
}

function Meter({ label, used, all, left }: MeterProps) {
  const id = useId()
  const numbers = t('key_used', { count: used, all: all.toLocaleString(language.value) })
  const rest = t('key_left', { count: left })
  // A plan may have been reduced below what was used.
  const share = all === 0 ? 1 : Math.min(1, used / all)
  return (
    <div class="meter">
      <div class="meter-words">
        <span id={id}>{label}</span>
        <span>
          {numbers}
          {listSeparator()}
          <strong>{rest}</strong>
        </span>
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: browsers draw <meter> each in its own way, and none in our colours */}
      <div
        class={`bar ${left === 0 ? 'full' : ''}`}
        role="meter"
        aria-labelledby={id}
        aria-valuemin={0}
        aria-valuemax={all}
        aria-valuenow={Math.min(used, all)}
        aria-valuetext={`${numbers}${listSeparator()}${rest}`}
      >
        <div style={{ width: `${share * 100}%` }} />
      </div>
    </div>
  )
}
