import { maskAddress, parseAddress } from '../core/address.ts'
import { priceText, termText } from '../core/price.ts'
import type { Purchase } from '../core/purchase.ts'
import { printable } from '../core/text.ts'
import { timestampFields, utcTimestamp } from '../core/time.ts'
import type { KeyAdminDeps } from '../service/keys/keys.ts'
import { type Print, Refused, table } from './output.ts'

// The newest ones: more than anybody reads.
const MOST = 1_000

/** `mayfly order list`: what was sold, the newest first. */
export async function printOrders(
  { store }: KeyAdminDeps,
  { json }: { json?: boolean },
  print: Print,
): Promise<void> {
  const orders = await store.listPurchases(MOST)
  if (json) {
    print(JSON.stringify(orders.map(orderJson), null, 2))
    return
  }
  if (orders.length === 0) {
    print('No orders yet.')
    return
  }
  const rows = orders.map((order) => [
    order.id,
    utcTimestamp(order.createdAt),
    order.plan.id,
    order.state,
    order.payments > 0 ? order.keyPrefix : '-',
    maskedEmail(order) ?? '-',
    notesOf(order).join('; '),
  ])
  const head = ['ORDER', 'MADE', 'PLAN', 'STATE', 'KEY', 'E-MAIL', 'NOTES']
  for (const line of table([head, ...rows])) print(line)
  if (orders.length === MOST) print(`Only the newest ${MOST} are shown.`)
}

/** `mayfly order show` */
export async function printOrder(
  { store }: KeyAdminDeps,
  id: string,
  { json }: { json?: boolean },
  print: Print,
): Promise<void> {
  const order = await store.readPurchase(id)
  if (!order) throw new Refused(`No order is ${JSON.stringify(id)}. See: mayfly order list`)
  if (json) {
    print(JSON.stringify({ ...orderJson(order), email: order.email ?? null }, null, 2))
    return
  }
  const rows = [
    ['Order', order.id],
    ['Made', utcTimestamp(order.createdAt)],
    ['Plan', `${printable(order.plan.name)}, ${priceText(order.plan)} ${termText(order.plan)}`],
    ['State', order.state],
    ['Payments', String(order.payments)],
    ['Paid until', order.paidUntil ? utcTimestamp(order.paidUntil) : '-'],
    ['Key', order.payments > 0 ? `${order.keyPrefix} (${order.keyId})` : '-'],
    ['Key shown', order.claimedAt ? utcTimestamp(order.claimedAt) : 'not yet'],
    // Whole: this is how an operator reaches a buyer.
    ['E-mail', order.email === undefined ? '-' : printable(order.email)],
    ['Provider', `${order.provider}, ${order.mode}`],
    ['Checkout', order.checkoutRef ?? '-'],
    ...(order.subscriptionRef === undefined ? [] : [['Renewed by', order.subscriptionRef]]),
    ...notesOf(order).map((note) => ['Note', note]),
  ]
  for (const line of table(rows)) print(line)
}

function orderJson(order: Purchase) {
  const paid = order.payments > 0
  return {
    id: order.id,
    provider: order.provider,
    mode: order.mode,
    plan: order.plan.id,
    price_cents: order.plan.priceCents,
    currency: order.plan.currency,
    state: order.state,
    email: maskedEmail(order) ?? null,
    payments: order.payments,
    partly_returned: order.partlyReturned,
    key_id: paid ? order.keyId : null,
    key_prefix: paid ? order.keyPrefix : null,
    checkout: order.checkoutRef ?? null,
    subscription: order.subscriptionRef ?? null,
    ...timestampFields('created_at', order.createdAt),
    ...timestampFields('paid_until', order.paidUntil),
    ...timestampFields('claimed_at', order.claimedAt),
  }
}

/** Enough to know the buyer by when they write; too little for who looks over a shoulder. */
function maskedEmail({ email }: Purchase): string | undefined {
  if (email === undefined) return undefined
  const address = parseAddress(email)
  return address ? maskAddress(address) : '…'
}

function notesOf(order: Purchase): string[] {
  return [
    ...(order.partlyReturned ? ['part of the money was given back'] : []),
    ...(order.state === 'refunded' ? ['the money was given back: the key is stopped'] : []),
    ...(order.state === 'disputed' ? ['the payment is disputed: the key is stopped'] : []),
    ...(order.state === 'paid' && !order.claimedAt ? ['the key was not fetched yet'] : []),
  ]
}
