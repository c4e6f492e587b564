import { Type } from 'typebox'
import { Problem } from '../base/problem.ts'
import { html, type Markup } from '../http/pages/html.ts'
import { type Locale, localeOf } from '../http/pages/locale.ts'
import { sitePage } from '../http/pages/page.ts'
import { empty } from '../http/server/response.ts'
import { route } from '../http/server/route.ts'
import type { Plan } from '../shared/plan.ts'
import { formatPrice, formatTerm, planFeatures } from '../shared/plan-text.ts'
import type { SiteConfig } from '../shared/site.ts'
import { orderIdField } from './api/orders.ts'
import type { ShopRouteDeps } from './deps.ts'
import { isOrderId, unknownOrder } from './order.ts'
import { fakeOrder, OUTCOMES, payFake } from './pay-fake.ts'
import type { Order } from './rules.ts'

/** Where plans are bought, and where buyers return to. */
export const shopPageRoutes = [
  route({
    method: 'GET',
    path: '/pricing',
    handle: (_input, deps: ShopRouteDeps, call) =>
      sitePage(deps, call, {
        title: 'site_plans',
        current: 'plans',
        publicPath: '/pricing',
        isOfShop: true,
        entry: 'shop/pricing.tsx',
        content: (config, locale) =>
          pricingContent({ ...config, plans: deps.plans, provider: deps.pay.provider }, locale),
      }),
  }),
  route({
    method: 'GET',
    path: '/orders/{id}',
    input: Type.Object({ id: orderIdField }),
    async handle({ id }, deps: ShopRouteDeps, call) {
      if (!isOrderId(id)) throw unknownOrder()
      return await sitePage(deps, call, {
        title: 'shop_order',
        current: 'plans',
        entry: 'shop/order.tsx',
        content: ({ site }, locale) => orderContent(id, site, locale),
      })
    },
  }),
]

interface Shop extends SiteConfig {
  plans: readonly Plan[]
  provider: 'manual' | 'stripe' | 'fake'
}

/** Buying takes a script: the browser must store the secret that claims the key. */
function pricingContent(shop: Shop, locale: Locale): Markup {
  const { t } = locale
  const isSold = shop.provider !== 'manual'
  return html`<main id="main">
<h1>${t('site_plans')}</h1>
<p class="lead">${t('shop_intro')} <a href="/docs#list-emails">${t('shop_docs_link')}</a></p>
${shop.provider === 'fake' ? testNotice(locale) : html``}
${isSold ? emailField(shop, locale) : html``}
<div class="plans">
${shop.plans.map((plan) => planCard(shop, plan, locale))}
</div>
${isSold ? html`` : manualPurchase(shop, locale)}
</main>`
}

function testNotice({ t }: Locale): Markup {
  return html`<p class="notice">${t('shop_test_notice')}</p>`
}

function planCard(shop: Shop, plan: Plan, locale: Locale): Markup {
  const { t } = locale
  const isSold = shop.provider !== 'manual'
  const features = { ...plan, domains: shop.ownDomains ? plan.domains : 0 }
  return html`<section class="card" aria-labelledby="plan-${plan.id}">
<h2 id="plan-${plan.id}">${plan.name}</h2>
${price(plan, locale)}
<ul>${planFeatures(features, t).map((feature) => html`<li><bdi>${feature}</bdi></li>`)}</ul>
${isSold ? html`<button type="button" disabled>${t('shop_buy', { plan: plan.name })}</button>` : html``}
</section>
`
}

function price(plan: Plan, { language, t }: Locale): Markup {
  const amount = formatPrice(plan.priceCents, plan.currency, language)
  return html`<p class="price"><bdi dir="ltr">${amount}</bdi> <span>${formatTerm(plan, t)}</span></p>`
}

function emailField({ plans, site, receipts }: Shop, { t }: Locale): Markup {
  return html`<div class="field">
<label for="email">${t(receipts ? 'shop_email_receipt' : 'shop_email')}</label>
<input id="email" type="email" disabled>
</div>
<noscript><p class="notice">${t('plain_buy_script')}</p>
<pre><code>curl -X POST ${site}/api/checkout -d plan=${plans[0]?.id ?? ''}</code></pre></noscript>`
}

function manualPurchase({ plans, operator }: Shop, { t }: Locale): Markup {
  const contact =
    operator === ''
      ? html`<p>${t('shop_manual_no_contact')}</p>`
      : html`<p>${t('shop_manual')} <a href="mailto:${operator}">${operator}</a></p>`
  return html`<section class="panel">
<h2>${t('shop_manual_title')}</h2>
${contact}
<p class="soft">${t('shop_manual_operator')} <code>mayfly key issue --plan ${plans[0]?.id ?? ''}</code></p>
</section>`
}

/** The same for every id, known or not: the script requests the order with its claim secret. */
function orderContent(orderId: string, site: string, { t }: Locale): Markup {
  return html`<main id="main">
<h1>${t('shop_order')}</h1>
<noscript><p class="notice">${t('plain_order_script')}</p>
<pre><code>curl -X POST -H 'Claim-Secret: SECRET' ${site}/api/orders/${orderId}/claim</code></pre>
<p>${t('plain_order_again')}</p></noscript>
</main>`
}

/** The payment page of the test shop. It needs no script, and is in English: only developers see it. */
export const fakePayRoutes = [
  route({
    method: 'GET',
    path: '/pay/{id}',
    input: Type.Object({ id: orderIdField }),
    async handle({ id }, deps: ShopRouteDeps, call) {
      const order = await fakeOrder(deps, id)
      return await sitePage(deps, call, {
        title: 'shop_order',
        current: 'plans',
        entry: 'shop/pay.tsx',
        content: () => html`<main id="main" lang="en" dir="ltr">
<h1>Test payment</h1>
${testNotice(localeOf('en'))}
<section class="panel">
<h2>${order.plan.name}</h2>
${price(order.plan, localeOf('en'))}
<p class="soft">Order <code>${id}</code></p>
${outcomes(order)}
</section>
</main>`,
      })
    },
  }),
  route({
    method: 'POST',
    path: '/pay/{id}',
    input: Type.Object({ id: orderIdField, outcome: Type.String() }),
    async handle({ id, outcome: wanted }, deps: ShopRouteDeps) {
      const outcome = OUTCOMES.find((known) => known === wanted)
      if (!outcome) {
        throw new Problem('invalid_parameter', `outcome: must be one of ${OUTCOMES.join(', ')}.`)
      }
      await payFake(deps, id, outcome)
      return empty(303, { location: `/orders/${id}` })
    },
  }),
]

function outcomes({ id, state, plan }: Order): Markup {
  const button = (outcome: string, label: string) =>
    html`<form method="post" action="/pay/${id}"><button name="outcome" value="${outcome}" class="${outcome === 'pay' ? '' : 'plain'}">${label}</button></form>`
  if (state === 'open') {
    const amount = formatPrice(plan.priceCents, plan.currency, 'en')
    return html`<p>Choose an outcome.</p>
<div class="row">${button('pay', `Pay ${amount}`)}${button('later', 'Pay later')}${button('decline', 'Decline')}</div>`
  }
  if (state === 'pending') {
    return html`<p>The payment is pending, like a bank transfer. Choose an outcome.</p>
<div class="row">${button('pay', 'Succeed')}${button('decline', 'Fail')}</div>`
  }
  return html`<p>This order is already completed.</p>
<div class="row"><a class="button" href="/orders/${id}">Back to your order</a></div>`
}
