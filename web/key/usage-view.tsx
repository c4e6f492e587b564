import { useEffect, useId, useRef } from 'preact/hooks'
import type { Usage } from '../site/api-client.ts'
import { Button, ErrorMessage } from '../site/controls.tsx'
import { formatDateTime } from '../site/format.ts'
import { language, listSeparator, t } from '../site/i18n.ts'
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
import { Plot } from './plot.tsx'
import { RollButton, rolledKey } from './roll.tsx'
import { clearWebhooks } from './webhook-state.ts'

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
          <span class={`badge ${state === 'active' ? 'good' : 'bad'}`}>{stateText(state)}</span>
        </div>
        <State usage={usage} />
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
        <dl class="facts">
          <dt>{t('key_prefix')}</dt>
          <dd>
            <code>{prefix}</code>
          </dd>
          {label !== '' && (
            <>
              <dt>{t('key_label')}</dt>
              <dd>{label}</dd>
            </>
          )}
          <dt>{t('key_valid_until')}</dt>
          <dd>{end === null ? t('key_never') : formatDateTime(end)}</dd>
          <dt>{t('key_resets')}</dt>
          <dd>{formatDateTime(resets)}</dd>
        </dl>
        <Actions />
      </section>
      <Plot days={usage.days} />
    </>
  )
}

const REFUSALS = ['daily_limit', 'quota_exhausted', 'plan_expired', 'stopped'] as const

function stateText(state: string): string {
  const known = ['active' as const, ...REFUSALS].find((one) => one === state)
  return known ? t(`key_state_${known}`) : state
}

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
            clearWebhooks()
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

export function Meter({ label, used, all, left }: MeterProps) {
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
