import type { Plan } from '../core/plan.ts'
import { priceText, termText } from '../core/price.ts'
import type { Purchase } from '../core/purchase.ts'
import type { Answer } from './answer.ts'
import { html, type Markup } from './markup.ts'
import { shopPage } from './shop-frame.ts'

interface Shop {
  plans: readonly Plan[]
  provider: 'manual' | 'stripe' | 'fake'
  /** Whether buyers get a receipt by mail. */
  receipts: boolean
  /** Where this site is reached. */
  site: string
}

export function pricingPage(shop: Shop): Answer {
  return shopPage({
    title: 'Plans',
    facts: { page: 'pricing' },
    content: html`<h1>Plans</h1>
<p class="lead">A key lets your program read mail with one request. <a href="/docs">The documents</a> say how.</p>
${shop.provider === 'fake' ? TEST_SHOP : html``}
${shop.provider === 'manual' ? html`` : buying(shop)}
<div class="plans">
${shop.plans.map((plan) => planCard(plan, shop))}
</div>
${shop.provider === 'manual' ? byHand(shop) : html``}`,
  })
}

const TEST_SHOP = html`<p class="notice">This is a test shop. No money moves, and its keys are test keys.</p>`

function planCard(plan: Plan, { provider }: Shop): Markup {
  const buy = html`<button type="button" data-plan="${plan.id}" disabled>Buy ${plan.name}</button>`
  return html`<section class="card" aria-labelledby="plan-${plan.id}">
<h2 id="plan-${plan.id}">${plan.name}</h2>
<p class="price">${priceText(plan)} <span>${termText(plan)}</span></p>
<ul>${features(plan).map((feature) => html`<li>${feature}</li>`)}</ul>
${provider === 'manual' ? html`` : buy}
</section>
`
}

function features(plan: Plan): string[] {
  const { requests, perDay, months, renews, support } = plan
  const again = renews ? ', then renewed' : ''
  return [
    `${count(requests)} requests`,
    perDay === undefined ? 'No daily limit' : `${count(perDay)} requests a day`,
    months === undefined ? 'No expiry' : `Valid ${termText({ months, renews: false })}${again}`,
    ...(support === '' ? [] : [support]),
  ]
}

function count(number: number): string {
  return number.toLocaleString('en')
}

function buying(shop: Shop): Markup {
  return html`<form id="buy" class="field">
<label for="email">${shop.receipts ? 'E-mail for the receipt, if you want one' : 'E-mail, if the operator may write to you'}</label>
<input id="email" name="email" type="email" maxlength="254" autocomplete="email">
</form>
<p id="fault" class="fault" role="alert"></p>
<noscript><p class="notice">This page sells with JavaScript only: your browser must keep the secret that shows the key. Without it, a terminal will do:</p>
<pre>curl -X POST ${shop.site}/api/checkout -d plan=${firstOf(shop)}</pre></noscript>`
}

function byHand(shop: Shop): Markup {
  return html`<p class="field">Nothing is sold on this page: ask the operator of this site for a key.</p>
<p class="soft">You are the operator? <code>mayfly key issue --plan ${firstOf(shop)}</code> makes one, and <code>MAYFLY_PAYMENTS</code> opens the shop.</p>`
}

function firstOf({ plans }: Shop): string {
  return plans[0]?.id ?? ''
}

/** The same for everybody and every id: what it shows, its script asks for with the claim secret. */
export function orderPage(orderId: string, site: string): Answer {
  return shopPage({
    title: 'Your order',
    facts: { page: 'order', order: orderId, site },
    content: html`<h1>Your order</h1>
<section class="panel">
<div aria-live="polite">
<p id="state" class="state"></p>
<p id="next" class="next"></p>
<p id="watching" class="soft" hidden>This page looks again by itself.</p>
<noscript><p>This page needs JavaScript: the claim secret of your order stays in your browser, and only a script can use it there. Without it, a terminal will do:</p>
<pre>curl -X POST -H 'Claim-Secret: SECRET' ${site}/api/orders/${orderId}/claim</pre></noscript>
</div>
<a id="pay" class="button" hidden>Go to the payment</a>
<button id="show" type="button" hidden>Show my key</button>
${unlockForm()}
${mintedKey(orderId)}
<p id="fault" class="fault" role="alert"></p>
<p id="back" class="soft" hidden>To come back later or elsewhere, keep <a id="link">this private link</a>: it opens the order for whoever has it.</p>
<dl id="facts" hidden>
<div><dt>Plan</dt><dd id="plan"></dd></div>
<div><dt>Price</dt><dd id="price"></dd></div>
<div><dt>Valid until</dt><dd id="until"></dd></div>
<div><dt>Key begins with</dt><dd><code id="prefix"></code></dd></div>
<div><dt>Order</dt><dd><code>${orderId}</code></dd></div>
</dl>
</section>`,
  })
}

function unlockForm(): Markup {
  return html`<form id="unlock" hidden>
<p>Open the link of your receipt, or give the claim secret that the checkout told you.</p>
<label for="secret">Claim secret</label>
<input id="secret" autocomplete="off" autocapitalize="off" spellcheck="false" required>
<div class="row"><button>Open the order</button></div>
</form>`
}

function mintedKey(orderId: string): Markup {
  return html`<div id="minted" tabindex="-1" hidden>
<pre><code id="key" class="key"></code></pre>
<div class="row"><button id="copy" type="button">Copy</button> <a id="save" class="button plain" download="mayfly-key-${orderId}.txt">Download</a></div>
<p>Try it:</p>
<pre><code id="line"></code></pre>
</div>`
}

/** Where orders of the test shop are paid, or not. Plain forms: they need no script. */
export function fakePayPage({ id, plan, state }: Purchase): Answer {
  return shopPage({
    title: 'Test payment',
    facts: { page: 'pay' },
    content: html`<h1>Test payment</h1>
${TEST_SHOP}
<section class="panel">
<h2>${plan.name}</h2>
<p class="price">${priceText(plan)} <span>${termText(plan)}</span></p>
<p>Order <code>${id}</code></p>
${choices(id, priceText(plan), state)}
</section>`,
  })
}

function choices(id: string, price: string, state: Purchase['state']): Markup {
  if (state === 'open') {
    return html`<p>Choose what becomes of the payment.</p>
<div class="row">${choice(id, 'pay', `Pay ${price}`)}${choice(id, 'later', 'Pay later')}${choice(id, 'decline', 'Decline')}</div>`
  }
  if (state === 'pending') {
    return html`<p>The payment is under way, as a bank transfer would be. Choose how it ends.</p>
<div class="row">${choice(id, 'pay', 'It arrives')}${choice(id, 'decline', 'It fails')}</div>`
  }
  return html`<p>This order is decided.</p>
<div class="row"><a class="button" href="/orders/${id}">Back to your order</a></div>`
}

function choice(id: string, outcome: string, words: string): Markup {
  const look = outcome === 'pay' ? '' : 'plain'
  return html`<form method="post" action="/pay/${id}"><button name="outcome" value="${outcome}" class="${look}">${words}</button></form>`
}
