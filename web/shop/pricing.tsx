import { signal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { formatPrice, formatTerm, planFeatures } from '../../src/shared/plan-text.ts'
import type { Answers } from '../site/api.ts'
import { errorText, type Plan, requestJson } from '../site/api-client.ts'
import { language, t } from '../site/i18n.ts'
import { Layout, mountPage, setTitle } from '../site/layout.tsx'
import { siteConfig } from '../site/site-config.ts'
import { claimSecret } from './watch-order.ts'
import './shop.css'

/** A browser that keeps nothing could not show the key after the payment: nobody is sent to pay for that. */
export class StorageBlocked extends Error {}

/** Whether an order is on its way: meanwhile no second one is made. */
export const buying = signal(false)
export const buyError = signal<unknown>(undefined)

// A page that comes back from the browser's memory comes back as it was left.
addEventListener('pageshow', () => {
  buying.value = false
})

/** Makes the order and leads to where it is paid. */
export async function buy(plan: string, email: string): Promise<void> {
  if (buying.value) return
  buying.value = true
  buyError.value = undefined
  try {
    const made = await requestJson<Answers['POST /api/checkout']>('/api/checkout', {
      method: 'POST',
      values: { plan, email },
      headers: { 'idempotency-key': idempotencyKey(`${plan} ${email}`) },
    })
    if (!claimSecret(made.order_id).keep(made.claim_secret)) throw new StorageBlocked()
    location.assign(made.url)
  } catch (fault) {
    buyError.value = fault
    buying.value = false
  }
}

const attempts = new Map<string, string>()

/** One order however often it is tried; another plan or address is another order. */
function idempotencyKey(order: string): string {
  const known = attempts.get(order) ?? randomText()
  attempts.set(order, known)
  return known
}

function randomText(): string {
  return [...crypto.getRandomValues(new Uint8Array(32))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('')
}

interface PlanCardProps {
  plan: Plan
  /** Undefined where nothing is sold. */
  onBuy: ((plan: string) => void) | undefined
}

export function PlanCard({ plan, onBuy }: PlanCardProps) {
  const { id, name, price, renews } = plan
  const [months, perDay] = [plan.months ?? undefined, plan.per_day ?? undefined]
  return (
    <section class="card" aria-labelledby={`plan-${id}`}>
      <h2 id={`plan-${id}`}>{name}</h2>
      <p class="price">
        {formatPrice(price.cents, price.currency, language.value)}{' '}
        <span>{formatTerm({ months, renews }, t)}</span>
      </p>
      <ul>
        {planFeatures({ ...plan, months, perDay }, t).map((feature) => (
          <li key={feature}>
            <bdi>{feature}</bdi>
          </li>
        ))}
      </ul>
      {onBuy && (
        <button type="button" disabled={buying.value} onClick={() => onBuy(id)}>
          {t('shop_buy', { plan: name })}
        </button>
      )}
    </section>
  )
}

type Offer = Answers['GET /api/plans']

const offer = signal<Offer | undefined>(undefined)
const loadError = signal<unknown>(undefined)

async function loadPlans(): Promise<void> {
  loadError.value = undefined
  try {
    offer.value = await requestJson<Offer>('/api/plans')
  } catch (problem) {
    loadError.value = problem
  }
}

function Pricing() {
  return (
    <Layout section="plans">
      <h1>{t('site_plans')}</h1>
      <p class="lead">
        {t('shop_intro')} <a href="/docs#emails">{t('shop_docs_link')}</a>
      </p>
      {offer.value ? <PlanList {...offer.value} /> : <LoadError />}
    </Layout>
  )
}

function LoadError() {
  return (
    <div role="alert">
      {loadError.value !== undefined && (
        <>
          <p class="notice bad">{errorText(loadError.value)}</p>
          <button type="button" onClick={() => void loadPlans()}>
            {t('site_try_again')}
          </button>
        </>
      )}
    </div>
  )
}

function PlanList({ plans, payments: { provider, buyable } }: Offer) {
  const email = useRef<HTMLInputElement>(null)
  const buyPlan = (plan: string) => {
    const field = email.current
    if (field?.reportValidity()) void buy(plan, field.value.trim())
  }
  return (
    <>
      {provider === 'fake' && <p class="notice">{t('shop_test_notice')}</p>}
      {buyable && (
        <form class="field" onSubmit={(event) => event.preventDefault()}>
          <label for="email">{t(siteConfig.receipts ? 'shop_email_receipt' : 'shop_email')}</label>
          <input
            ref={email}
            id="email"
            type="email"
            dir="ltr"
            maxLength={254}
            autocomplete="email"
          />
        </form>
      )}
      <p class="fault" role="alert">
        {buyError.value === undefined ? '' : buyErrorText(buyError.value)}
      </p>
      <div class="plans">
        {plans.map((plan) => (
          <PlanCard key={plan.id} plan={plan} onBuy={buyable ? buyPlan : undefined} />
        ))}
      </div>
      {!buyable && <ManualPurchase plan={plans[0]?.id ?? ''} />}
    </>
  )
}

function buyErrorText(problem: unknown): string {
  return problem instanceof StorageBlocked ? t('shop_storage_blocked') : errorText(problem)
}

function ManualPurchase({ plan }: { plan: string }) {
  const { operator } = siteConfig
  return (
    <section class="panel">
      <h2>{t('shop_manual_title')}</h2>
      {operator ? (
        <p>
          {t('shop_manual')} <a href={`mailto:${operator}`}>{operator}</a>
        </p>
      ) : (
        <p>{t('shop_manual_no_contact')}</p>
      )}
      <p class="soft">
        {t('shop_manual_operator')} <code>mayfly key issue --plan {plan}</code>
      </p>
    </section>
  )
}

setTitle('site_plans')
// What the server wrote stands until the plans are here: nothing blinks.
await loadPlans()
await mountPage(() => <Pricing />)
