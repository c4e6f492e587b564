import { Type } from 'typebox'
import { priceText, termText } from '../../core/price.ts'
import { Problem } from '../../core/problem.ts'
import type { Purchase } from '../../core/purchase.ts'
import { isoTimestamp, timestampFields, utcTimestamp } from '../../core/time.ts'
import { isOrderId, type OrderView, unknownOrder } from '../../service/shop/order.ts'
import type { HeaderField, HttpRequest } from '../server/route.ts'

// Schemas of orders, shared by checkout, order and claim.

export const orderIdField = Type.String({ description: 'The id of the order from checkout.' })
const ORDER_ID = 'ord_5vQ0fJmD3Y1kq8TzWb2uXa'

export const planFields = {
  order_id: Type.String({ examples: [ORDER_ID] }),
  plan: Type.String({ examples: ['business'] }),
  plan_name: Type.String({ examples: ['Business'] }),
  price: Type.Object({
    cents: Type.Integer({ examples: [4_500] }),
    currency: Type.String({ examples: ['usd'] }),
    text: Type.String({ examples: ['45 USD'] }),
    term: Type.String({ examples: ['a year'] }),
  }),
}

export function planJson({ id, plan }: Purchase) {
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

const nullableTime = Type.Union([Type.String({ examples: ['2026-03-01 12:00:00'] }), Type.Null()])
const nullableIsoTime = Type.Union([
  Type.String({ format: 'date-time', examples: ['2026-03-01T12:00:00Z'] }),
  Type.Null(),
])

export const orderFields = {
  ...planFields,
  state: Type.String({
    description: 'open, pending, paid, failed, expired, refunded or disputed.',
    examples: ['paid'],
  }),
  url: Type.Union([Type.String(), Type.Null()], {
    description: 'The payment URL, while the order can be paid.',
    examples: [null],
  }),
  created_at: Type.String({ examples: ['2026-03-01 12:00:00'] }),
  created_at_iso: Type.String({ format: 'date-time', examples: ['2026-03-01T12:00:00Z'] }),
  paid_until: nullableTime,
  paid_until_iso: nullableIsoTime,
  claimable: Type.Boolean({ examples: [true] }),
  claimed_at: nullableTime,
  claimed_at_iso: nullableIsoTime,
  key_prefix: Type.Union([Type.String({ examples: ['mf_live_a1B2'] }), Type.Null()]),
  next: Type.String({ examples: ['Claim the key. It is shown once, so store it safely.'] }),
}

export function orderJson({ order, payUrl, claimable, next }: OrderView) {
  return {
    ...planJson(order),
    state: order.state,
    url: payUrl ?? null,
    created_at: utcTimestamp(order.createdAt),
    created_at_iso: isoTimestamp(order.createdAt),
    ...timestampFields('paid_until', order.paidUntil),
    claimable,
    ...timestampFields('claimed_at', order.claimedAt),
    key_prefix: order.payments > 0 ? order.keyPrefix : null,
    next,
  }
}

export const CLAIM_SECRET_HEADER: HeaderField = {
  name: 'Claim-Secret',
  required: true,
  description: 'The claim secret from checkout, or the part after # of the link in the receipt.',
}

/** A malformed id is treated as unknown, before the secret is checked. */
export function claimSecretOf(orderId: string, { headers }: HttpRequest): string {
  if (!isOrderId(orderId)) throw unknownOrder()
  const secret = headers['claim-secret']
  if (typeof secret === 'string' && secret !== '') return secret
  throw new Problem('missing_parameter', 'Claim-Secret: header is missing.')
}
