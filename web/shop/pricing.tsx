import { signal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import type { Answers } from '../site/api.ts'
import { ask } from '../site/ask.ts'
import { facts } from '../site/facts.ts'
import { faultWords } from '../site/fault-words.ts'
import { Frame } from '../site/frame.tsx'
import { openPage } from '../site/open-page.tsx'
import { entitle } from '../site/title.ts'
import { say } from '../site/words.ts'
import { buy, buyFault, Forgetful } from './buy.ts'
import { PlanCard } from './plan-card.tsx'
import './shop.css'

type Offer = Answers['GET /api/plans']

const offer = signal<Offer | undefined>(undefined)
const fault = signal<unknown>(undefined)

async function load(): Promise<void> {
  fault.value = undefined
  try {
    offer.value = await ask<Offer>('/api/plans')
  } catch (problem) {
    fault.value = problem
  }
}

function Pricing() {
  return (
    <Frame at="plans">
      <h1>{say('shop_plans')}</h1>
      <p class="lead">
        {say('shop_lead')} <a href="/docs#emails">{say('shop_how')}</a>
      </p>
      {offer.value ? <Offered {...offer.value} /> : <Missing />}
    </Frame>
  )
}

function Missing() {
  return (
    <div role="alert">
      {fault.value !== undefined && (
        <>
          <p class="notice bad">{faultWords(fault.value)}</p>
          <button type="button" onClick={() => void load()}>
            {say('shop_try')}
          </button>
        </>
      )}
    </div>
  )
}

function Offered({ plans, payments: { provider, buyable } }: Offer) {
  const email = useRef<HTMLInputElement>(null)
  const buyPlan = (plan: string) => {
    const field = email.current
    if (field?.reportValidity()) void buy(plan, field.value.trim())
  }
  return (
    <>
      {provider === 'fake' && <p class="notice">{say('shop_test')}</p>}
      {buyable && (
        <form class="field" onSubmit={(event) => event.preventDefault()}>
          <label for="email">{say(facts.receipts ? 'shop_email_receipt' : 'shop_email')}</label>
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
        {buyFault.value === undefined ? '' : buyWords(buyFault.value)}
      </p>
      <div class="plans">
        {plans.map((plan) => (
          <PlanCard key={plan.id} plan={plan} onBuy={buyable ? buyPlan : undefined} />
        ))}
      </div>
      {!buyable && <ByHand plan={plans[0]?.id ?? ''} />}
    </>
  )
}

function buyWords(problem: unknown): string {
  return problem instanceof Forgetful ? say('shop_forgetful') : faultWords(problem)
}

function ByHand({ plan }: { plan: string }) {
  const { operator } = facts
  return (
    <section class="panel">
      <h2>{say('shop_ask')}</h2>
      {operator ? (
        <p>
          {say('shop_by_hand')} <a href={`mailto:${operator}`}>{operator}</a>
        </p>
      ) : (
        <p>{say('shop_by_hand_unknown')}</p>
      )}
      <p class="soft">
        {say('shop_operator')} <code>mayfly key issue --plan {plan}</code>
      </p>
    </section>
  )
}

entitle('shop_plans')
// What the server wrote stands until the plans are here: nothing blinks.
await load()
await openPage(() => <Pricing />)
