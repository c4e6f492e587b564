import { signal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { formatPrice, formatTerm, planFeatures } from '../../src/shared/plan-text.ts'
import type { ApiResponses, Checkout, Plan } from '../site/api.ts'
import { errorText, requestJson } from '../site/api-client.ts'
import { Button, ErrorMessage } from '../site/controls.tsx'
import { language, t } from '../site/i18n.ts'
import { Layout, mountPage, setTitle } from '../site/layout.tsx'
import { siteConfig } from '../site/site-config.ts'
import { claimSecret } from './watch-order.ts'
import './shop.css'

/** The browser could not show the key after the payment, so the buyer is not sent to pay. */
class StorageBlocked extends Error {}

/** An order is being created; until then no second one is. */
const buying = signal(false)
const buyError = signal<unknown>(undefined)

// A page restored from the back/forward cache is still in the state in which it was left.
addEventListener('pageshow', () => {
  buying.value = false
})

/** Creates the order and redirects to its payment page. */
async function buy(plan: string, email: string): Promise<void> {
  if (buying.value) return
  buying.value = true
  buyError.value = undefined
  try {
    const made = await requestJson<Checkout>('/api/checkout', {
      method: 'POST',
      values: { plan, email },
      headers: { 'idempotency-key': idempotencyKey(`${plan} ${email}`) },
    })
    if (!claimSecret(made.order_id).set(made.claim_secret)) throw new StorageBlocked()
    location.assign(made.url)
  } catch (error) {
    buyError.value = error
    buying.value = false
  }
}

const attempts = new Map<string, string>()

/** The same for every attempt at an order; another plan or address is another order. */
function idempotencyKey(order: string): string {
  const key = attempts.get(order) ?? randomHex()
  attempts.set(order, key)
  return key
}

function randomHex(): string {
  return [...crypto.getRandomValues(new Uint8Array(32))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('')
}

interface PlanCardProps {
  plan: Plan
  /** Undefined if plans are not sold online. */
  onBuy: ((plan: string) => void) | undefined
}

function PlanCard({ plan, onBuy }: PlanCardProps) {
  const { id, name, price, renews } = plan
  const [months, perDay] = [plan.months ?? undefined, plan.per_day ?? undefined]
  return (
    <section class="card" aria-labelledby={`plan-${id}`}>
      <h2 id={`plan-${id}`}>{name}</h2>
      <p class="price">
        <bdi dir="ltr">{formatPrice(price.cents, price.currency, language.value)}</bdi>{' '}
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
        <Button disabled={buying.value} onClick={() => onBuy(id)}>
          {t('shop_buy', { plan: name })}
        </Button>
      )}
    </section>
  )
}

type Offer = ApiResponses['GET /api/plans']

const offer = signal<Offer | undefined>(undefined)
const loadError = signal<unknown>(undefined)

async function loadPlans(): Promise<void> {
  loadError.value = undefined
  try {
    offer.value = await requestJson<Offer>('/api/plans')
  } catch (error) {
    loadError.value = error
  }
}

function Pricing() {
  return (
    <Layout section="plans">
      <h1>{t('site_plans')}</h1>
      <p class="lead">
        {t('shop_intro')} <a href="/docs#list-emails">{t('shop_docs_link')}</a>
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
          <Button onClick={() => void loadPlans()}>{t('site_try_again')}</Button>
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
      <ErrorMessage
        error={
          buyError.value instanceof StorageBlocked ? t('shop_storage_blocked') : buyError.value
        }
      />
      <div class="plans">
        {plans.map((plan) => (
          <PlanCard key={plan.id} plan={plan} onBuy={buyable ? buyPlan : undefined} />
        ))}
      </div>
      {!buyable && <ManualPurchase plan={plans[0]?.id ?? ''} />}
    </>
  )
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
// The server's HTML stays until the plans are loaded, so that nothing flickers.
await loadPlans()
await mountPage(() => <Pricing />)
