import { useEffect, useRef } from 'preact/hooks'
import { faultWords } from '../site/fault-words.ts'
import type { Usage } from '../site/shapes.ts'
import { timeWords } from '../site/time-words.ts'
import { say, type Words } from '../site/words.ts'
import { holdKey } from './held-key.ts'
import { Meter } from './meter.tsx'
import { Plot } from './plot.tsx'
import { forgetRolled, RollButton } from './roll.tsx'
import { asking, askUsage, dropUsage, handled, planNames, usageFault } from './usage.ts'

/** What a key has, what is used of it, and when. */
export function UsageView({ usage }: { usage: Usage }) {
  const { plan, label, prefix, state, expires_at_iso: end, resets_at_iso: resets } = usage
  const title = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    if (handled.value) title.current?.focus()
  }, [])
  return (
    <>
      <section class="panel" aria-labelledby="plan">
        <div class="key-top">
          <h2 id="plan" ref={title} tabIndex={-1}>
            {planNames.value.get(plan) ?? plan}
          </h2>
          <span class={`badge ${state === 'active' ? 'good' : 'bad'}`}>{stateWords(state)}</span>
        </div>
        <State usage={usage} />
        <Meter
          label={say('key_all')}
          used={usage.used}
          all={usage.requests}
          left={usage.remaining}
        />
        {usage.per_day !== null && usage.remaining_today !== null && (
          <Meter
            label={say('key_today')}
            used={usage.used_today}
            all={usage.per_day}
            left={usage.remaining_today}
          />
        )}
        <dl class="facts">
          <dt>{say('key_begins')}</dt>
          <dd>
            <code>{prefix}</code>
          </dd>
          {label !== '' && (
            <>
              <dt>{say('key_label')}</dt>
              <dd>{label}</dd>
            </>
          )}
          <dt>{say('key_ends')}</dt>
          <dd>{end === null ? say('key_never') : timeWords(end)}</dd>
          <dt>{say('key_resets')}</dt>
          <dd>{timeWords(resets)}</dd>
        </dl>
        <Actions />
      </section>
      <Plot days={usage.days} />
    </>
  )
}

const STATES: Record<string, { name: keyof Words; told?: keyof Words }> = {
  active: { name: 'key_state_active' },
  daily_limit: { name: 'key_state_daily_limit', told: 'key_told_daily_limit' },
  quota_exhausted: { name: 'key_state_quota_exhausted', told: 'key_told_quota_exhausted' },
  plan_expired: { name: 'key_state_plan_expired', told: 'key_told_plan_expired' },
  stopped: { name: 'key_state_stopped', told: 'key_told_stopped' },
}

function stateWords(state: string): string {
  const known = STATES[state]
  return known ? say(known.name) : state
}

/** Why the key is refused now, and what helps. */
function State({ usage: { state, resets_at_iso: resets } }: { usage: Usage }) {
  const told = STATES[state]?.told
  if (!told) return null
  const buys = state === 'quota_exhausted' || state === 'plan_expired'
  return (
    <p class="notice bad">
      {say(told, { time: timeWords(resets) })} {buys && <a href="/pricing">{say('key_buy')}</a>}
    </p>
  )
}

function Actions() {
  return (
    <>
      <div class="row key-actions">
        <button type="button" class="plain" disabled={asking.value} onClick={() => void askUsage()}>
          {say('key_again')}
        </button>
        <RollButton />
        <button
          type="button"
          class="quiet"
          onClick={() => {
            handled.value = true
            forgetRolled()
            holdKey('')
            dropUsage()
          }}
        >
          {say('key_forget')}
        </button>
      </div>
      <p class="fault" role="alert">
        {usageFault.value === undefined ? '' : faultWords(usageFault.value)}
      </p>
    </>
  )
}
