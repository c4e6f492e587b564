import { Type } from 'typebox'
import { Problem } from '../../base/problem.ts'
import { timestampFields } from '../../base/time.ts'
import { siteUrl } from '../../http/server/client-address.ts'
import type { HttpRequest } from '../../http/server/request.ts'
import { success } from '../../http/server/response.ts'
import { type HeaderField, route } from '../../http/server/route.ts'
import {
  countField,
  expiryFields,
  named,
  namedSuccess,
  nullable,
  nullableTimeFields,
  successSchema,
  timeFields,
} from '../../http/server/schemas.ts'
import { priceText, termText } from '../../shared/plan.ts'
import { checkout } from '../checkout.ts'
import type { ShopRouteDeps } from '../deps.ts'
import {
  claimKey,
  findOrder,
  isOrderId,
  type OrderView,
  unknownOrder,
  viewOrder,
} from '../order.ts'
import type { Order } from '../rules.ts'
import { handleWebhook } from '../settle-order.ts'

export const orderIdField = Type.String({ description: 'The order id from checkout.' })

const planFields = {
  order_id: Type.String({ examples: ['ord_5vQ0fJmD3Y1kq8TzWb2uXa'] }),
  plan: Type.String({ examples: ['business'] }),
  plan_name: Type.String({ examples: ['Business'] }),
  price: named('OrderPrice', {
    cents: Type.Integer({ examples: [4_500] }),
    currency: Type.String({ examples: ['usd'] }),
    text: Type.String({ examples: ['45 USD'] }),
    term: Type.String({ examples: ['a year'] }),
  }),
}

function planJson({ id, plan }: Order) {
  return {
    order_id: id,
    plan: plan.id,
    plan_name: plan.name,
    price: {
      cents: plan.priceCents,
      currency: plan.currency,
      text: priceText(plan),
      term: termText(plan),
    },
  }
}

function orderJson({ order, payUrl, claimable, next }: OrderView) {
  return {
    ...planJson(order),
    state: order.state,
    url: payUrl ?? null,
    ...timestampFields('created_at', order.createdAt),
    ...timestampFields('paid_until', order.paidUntil),
    claimable,
    ...timestampFields('claimed_at', order.claimedAt),
    key_prefix: order.payments > 0 ? order.keyPrefix : null,
    next,
  }
}

const CLAIM_SECRET_HEADER: HeaderField = {
  name: 'Claim-Secret',
  required: true,
  description: 'The claim secret from checkout, or the part after # of the link in the receipt.',
}

/** A malformed id is treated as unknown, before the secret is checked. */
function claimSecretOf(orderId: string, { headers }: HttpRequest): string {
  if (!isOrderId(orderId)) throw unknownOrder()
  const secret = headers['claim-secret']
  if (typeof secret === 'string' && secret !== '') return secret
  throw new Problem('missing_parameter', 'Claim-Secret: header is missing.')
}

export const checkoutRoute = route({
  method: 'POST',
  path: '/api/checkout',
  name: 'create-order',
  title: 'Buy a plan',
  description:
    'Creates an order and returns its payment URL. Store the claim secret: it is returned only here, and is needed to claim the key once the order is paid. With an Idempotency-Key, a repeated request returns the same response.',
  input: Type.Object({
    plan: Type.String({ description: 'A plan id from /api/plans.' }),
    email: Type.Optional(
      Type.String({
        description: 'Where to send a receipt, if the site sends mail. The key is never sent.',
      }),
    ),
  }),
  output: namedSuccess('Checkout', {
    ...planFields,
    url: Type.String({ examples: ['https://checkout.example/pay/1'] }),
    claim_secret: Type.String({ examples: ['43 characters, to be kept secret'] }),
  }),
  requestHeaders: [
    {
      name: 'Idempotency-Key',
      required: false,
      description:
        '16 to 255 visible ASCII characters without a comma, preferably random: anyone at your address who knows it can obtain the claim secret.',
    },
  ],
  problems: ['invalid_parameter', 'not_found', 'idempotency_conflict', 'payment_unavailable'],
  rate: 'checkout',
  async handle({ plan, email }, deps: ShopRouteDeps, request) {
    const { order, url, claimSecret } = await checkout(deps, {
      plan,
      email,
      idempotency: idempotencyOf(request),
      baseUrl: siteUrl(deps.baseUrl, request),
    })
    return success({ ...planJson(order), url, claim_secret: claimSecret })
  },
})

// No comma: Node joins repeated headers with one.
const IDEMPOTENCY_KEY = /^[!-+\x2d-~]{16,255}$/

function idempotencyOf({ headers, sourceAddress }: HttpRequest) {
  const key = headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key === 'string' && IDEMPOTENCY_KEY.test(key)) return { key, client: sourceAddress() }
  throw new Problem(
    'invalid_parameter',
    'Idempotency-Key: must be 16 to 255 visible ASCII characters without a comma.',
  )
}

export const orderRoute = route({
  method: 'GET',
  path: '/api/orders/{id}',
  name: 'get-order',
  title: 'Order status',
  description:
    'Returns whether the order is paid and whether its key can be claimed. The claim secret is sent in the Claim-Secret header.',
  input: Type.Object({ id: orderIdField }),
  output: namedSuccess('Order', {
    ...planFields,
    state: Type.String({
      description: 'open, pending, paid, failed, expired, refunded or disputed.',
      examples: ['paid'],
    }),
    url: Type.Union([Type.String(), Type.Null()], {
      description: 'The payment URL, while the order can be paid.',
      examples: [null],
    }),
    ...timeFields('created_at'),
    ...nullableTimeFields('paid_until'),
    claimable: Type.Boolean({ examples: [true] }),
    ...nullableTimeFields('claimed_at'),
    key_prefix: Type.Union([Type.String({ examples: ['mf_live_a1B2'] }), Type.Null()]),
    next: Type.String({
      examples: ['Claim the key. It is shown only once: store it in a safe place.'],
    }),
  }),
  requestHeaders: [CLAIM_SECRET_HEADER],
  problems: ['missing_parameter', 'not_found'],
  async handle({ id }, deps: ShopRouteDeps, request) {
    const order = await findOrder(deps, id, claimSecretOf(id, request))
    return success(orderJson(await viewOrder(deps, order)))
  },
})

export const claimRoute = route({
  method: 'POST',
  path: '/api/orders/{id}/claim',
  name: 'claim-order',
  title: 'Claim the key',
  description:
    'Creates the key for a paid order and returns it. Only its hash is stored: a repeated call within 24 hours of the first returns a new key and immediately revokes the previous one. The claim secret is sent in the Claim-Secret header.',
  input: Type.Object({ id: orderIdField }),
  output: namedSuccess('ClaimedKey', {
    ...planFields,
    key: Type.String({ examples: ['45 characters, to be kept secret'] }),
    key_id: Type.String({ examples: ['key_1uQmB0cZ7yR5tVd9KfXw3e'] }),
    prefix: Type.String({ examples: ['mf_live_a1B2'] }),
    requests: countField(100_000),
    per_day: nullable(countField(1_000), 'Null: no daily limit.'),
    ...expiryFields,
  }),
  requestHeaders: [CLAIM_SECRET_HEADER],
  problems: ['missing_parameter', 'not_found', 'order_unpaid', 'order_stopped', 'already_claimed'],
  async handle({ id }, deps: ShopRouteDeps, request) {
    const { order, key, secret } = await claimKey(deps, id, claimSecretOf(id, request))
    return success({
      ...planJson(order),
      key: secret,
      key_id: key.id,
      prefix: key.prefix,
      requests: key.maxRequests,
      per_day: key.maxPerDay ?? null,
      ...timestampFields('expires_at', key.expiresAt),
    })
  },
})

export const stripeWebhookRoute = route({
  method: 'POST',
  path: '/api/stripe/webhook',
  name: 'receive-stripe-event',
  title: 'Stripe webhooks',
  description:
    'Receives events from Stripe, signed with the webhook secret. 200 means that the change is stored; on anything else, Stripe redelivers the event.',
  output: successSchema({}),
  requestHeaders: [
    {
      name: 'Stripe-Signature',
      required: true,
      description: 'Covers the bytes of the body; not older than 300 seconds.',
    },
  ],
  problems: ['invalid_parameter', 'not_found', 'payment_unavailable'],
  rawBody: true,
  // Events contain whole objects of Stripe.
  maxBodyBytes: 256 * 1024,
  async handle(_input, deps: ShopRouteDeps, { headers, body }) {
    const signature = headers['stripe-signature']
    await handleWebhook(deps, body, typeof signature === 'string' ? signature : undefined)
    return success({})
  },
})
