import { Type } from 'typebox'
import type { Plan } from '../../core/plan.ts'
import { priceText, termText } from '../../core/price.ts'
import { Problem } from '../../core/problem.ts'
import type { Purchase } from '../../core/purchase.ts'
import { isOrderId, unknownOrder } from '../../service/shop/order.ts'
import { fakeOrder, OUTCOMES, payFake } from '../../service/shop/pay-fake.ts'
import { orderIdField } from '../api/order-schemas.ts'
import { empty } from '../server/response.ts'
import { type Route, route } from '../server/route.ts'
import { html, type Markup } from './html.ts'
import { type Locale, localeOf } from './locale.ts'
import { type PageFacts, page, pageFacts, siteFooter, siteHeader } from './page.ts'

interface Shop extends PageFacts {
  plans: readonly Plan[]
  provider: 'manual' | 'stripe' | 'fake'
}

/** The plans. Selling them takes a script: the browser must keep the secret that shows the key. */
export function pricingContent(shop: Shop, locale: Locale): Markup {
  const isSold = shop.provider !== 'manual'
  return html`${siteHeader(locale, 'plans')}
<main id="main" class="for-now" lang="en" dir="ltr">
<h1>Plans</h1>
<p class="lead">A key lets your program read mail with one request. <a href="/docs#emails">How to use it</a></p>
${shop.provider === 'fake' ? TEST_SHOP : html``}
${isSold ? emailField(shop) : html``}
<div class="plans">
${shop.plans.map((plan) => planCard(plan, isSold))}
</div>
${isSold ? html`` : manualPurchase(shop)}
</main>
${siteFooter(locale, shop.abuse)}`
}

const TEST_SHOP = html`<p class="notice">This is a test shop. No money is charged, and its keys are test keys.</p>`

function planCard(plan: Plan, sells: boolean): Markup {
  return html`<section class="card" aria-labelledby="plan-${plan.id}">
<h2 id="plan-${plan.id}">${plan.name}</h2>
<p class="price">${priceText(plan)} <span>${termText(plan)}</span></p>
<ul>${features(plan).map((feature) => html`<li>${feature}</li>`)}</ul>
${sells ? html`<button type="button" disabled>Buy ${plan.name}</button>` : html``}
</section>
`
}

function features(plan: Plan): string[] {
  const { requests, perDay, months, renews, support } = plan
  return [
    `${count(requests)} requests`,
    perDay === undefined ? 'No daily limit' : `${count(perDay)} requests per day`,
    months === undefined ? 'No expiry' : `Valid ${termText({ months, renews: false })}`,
    ...(renews ? ['Renews automatically'] : []),
    ...(support === '' ? [] : [support]),
  ]
}

function count(number: number): string {
  return number.toLocaleString('en')
}

function emailField({ plans, site, receipts }: Shop): Markup {
  return html`<div class="field">
<label for="email">${receipts ? 'E-mail for the receipt (optional)' : 'E-mail (optional)'}</label>
<input id="email" type="email" disabled>
</div>
<noscript><p class="notice">Buying here needs JavaScript, because your browser must store the secret that claims the key. Without it, use a terminal:</p>
<pre><code>curl -X POST ${site}/api/checkout -d plan=${plans[0]?.id ?? ''}</code></pre></noscript>`
}

function manualPurchase({ plans, operator }: Shop): Markup {
  const whom =
    operator === ''
      ? html`<p>Plans are not sold online here. Ask the operator of this site for a key.</p>`
      : html`<p>Plans are not sold online here. Tell the operator which plan you want: <a href="mailto:${operator}">${operator}</a></p>`
  return html`<section class="panel">
<h2>Request a key</h2>
${whom}
<p class="soft">Are you the operator? Create a key with this command, or set MAYFLY_PAYMENTS to sell online: <code>mayfly key issue --plan ${plans[0]?.id ?? ''}</code></p>
</section>`
}

/** The same for everybody and every id: what it shows, its script asks for with the claim secret. */
export function orderContent(orderId: string, { site, abuse }: PageFacts, locale: Locale): Markup {
  return html`${siteHeader(locale, 'plans')}
<main id="main" class="for-now" lang="en" dir="ltr">
<h1>Your order</h1>
<noscript><p class="notice">This page needs JavaScript, because the claim secret of your order never leaves your browser. Without it, use a terminal:</p>
<pre><code>curl -X POST -H 'Claim-Secret: SECRET' ${site}/api/orders/${orderId}/claim</code></pre>
<p>You can repeat this within 24 hours of the first claim. It then creates a new key and revokes the old key immediately.</p></noscript>
</main>
${siteFooter(locale, abuse)}`
}

/** Where orders of the test shop are paid, or not. Plain forms: they need no script. */
export function fakePayContent(
  { id, plan, state }: Purchase,
  { abuse }: PageFacts,
  locale: Locale,
): Markup {
  return html`${siteHeader(locale, 'plans')}
<main id="main" lang="en" dir="ltr">
<h1>Test payment</h1>
${TEST_SHOP}
<section class="panel">
<h2>${plan.name}</h2>
<p class="price">${priceText(plan)} <span>${termText(plan)}</span></p>
<p class="soft">Order <code>${id}</code></p>
${outcomes(id, priceText(plan), state)}
</section>
</main>
${siteFooter(locale, abuse)}`
}

function outcomes(id: string, price: string, state: Purchase['state']): Markup {
  if (state === 'open') {
    return html`<p>Choose an outcome.</p>
<div class="row">${outcomeButton(id, 'pay', `Pay ${price}`)}${outcomeButton(id, 'later', 'Pay later')}${outcomeButton(id, 'decline', 'Decline')}</div>`
  }
  if (state === 'pending') {
    return html`<p>The payment is pending, like a bank transfer. Choose an outcome.</p>
<div class="row">${outcomeButton(id, 'pay', 'Succeed')}${outcomeButton(id, 'decline', 'Fail')}</div>`
  }
  return html`<p>This order is already completed.</p>
<div class="row"><a class="button" href="/orders/${id}">Back to your order</a></div>`
}

function outcomeButton(id: string, outcome: string, words: string): Markup {
  const look = outcome === 'pay' ? '' : 'plain'
  return html`<form method="post" action="/pay/${id}"><button name="outcome" value="${outcome}" class="${look}">${words}</button></form>`
}

/** The pages on which people buy, and come back to. */
export const shopPageRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/pricing',
    title: 'Plans',
    about: 'What can be bought, for people.',
    input: Type.Object({}),
    output: 'text/html',
    problems: [],
    async handle(_input, deps, call) {
      const facts = await pageFacts(deps, call)
      const locale = localeOf(call.headers['accept-language'])
      const { plans, pay, builtPage } = deps
      return page(builtPage, {
        title: 'Plans',
        language: locale.language,
        entry: 'shop/pricing.tsx',
        facts,
        content: pricingContent({ ...facts, plans, provider: pay.provider }, locale),
      })
    },
  }),
  route({
    method: 'GET',
    path: '/orders/{id}',
    title: 'Your order',
    about: 'The state of an order and its key, for people.',
    input: Type.Object({ id: orderIdField }),
    output: 'text/html',
    problems: ['not_found'],
    async handle({ id }, deps, call) {
      if (!isOrderId(id)) throw unknownOrder()
      const facts = await pageFacts(deps, call)
      const locale = localeOf(call.headers['accept-language'])
      return page(deps.builtPage, {
        title: 'Your order',
        language: locale.language,
        entry: 'shop/order.tsx',
        facts,
        content: orderContent(id, facts, locale),
      })
    },
  }),
]

/** The pay page of the test shop, and what its buttons do. */
export const fakePayRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/pay/{id}',
    title: 'Test payment',
    about: 'Where an order of the test shop is paid.',
    input: Type.Object({ id: orderIdField }),
    output: 'text/html',
    problems: ['not_found'],
    async handle({ id }, deps, call) {
      const order = await fakeOrder(deps, id)
      const facts = await pageFacts(deps, call)
      const locale = localeOf(call.headers['accept-language'])
      return page(deps.builtPage, {
        title: 'Test payment',
        language: locale.language,
        entry: 'shop/pay.tsx',
        facts,
        content: fakePayContent(order, facts, locale),
      })
    },
  }),
  route({
    method: 'POST',
    path: '/pay/{id}',
    title: 'Test payment',
    about: 'Pays an order of the test shop, or fails to, and leads to the order.',
    input: Type.Object({ id: orderIdField, outcome: Type.String() }),
    output: 'text/html',
    problems: ['not_found'],
    async handle({ id, outcome: wanted }, deps) {
      const outcome = OUTCOMES.find((known) => known === wanted)
      if (!outcome) {
        throw new Problem('invalid_parameter', `outcome: give one of ${OUTCOMES.join(', ')}.`)
      }
      await payFake(deps, id, outcome)
      return empty(303, { location: `/orders/${id}` })
    },
  }),
]
