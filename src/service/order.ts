import { secretHash } from '../core/id.ts'
import { Problem } from '../core/problem.ts'
import { CLAIM_MS, type Purchase } from '../core/purchase.ts'
import type { ShopStore } from '../store/store.ts'

export interface OrderNeeds {
  shop: Pick<ShopStore, 'findOrder'>
}

const ORDER = /^ord_[A-Za-z0-9]{22}$/
const SECRET = /^[A-Za-z0-9_-]{43}$/

export function isOrderId(text: string): boolean {
  return ORDER.test(text)
}

/** The order that this claim secret, or the link that was mailed, belongs to. A stranger does not learn which ids exist. */
export async function orderOf(
  { shop }: OrderNeeds,
  orderId: string,
  claimSecret: string,
): Promise<Purchase> {
  const known = isOrderId(orderId) && SECRET.test(claimSecret)
  const order = known ? await shop.findOrder(orderId, secretHash(claimSecret)) : undefined
  if (!order) throw unknownOrder()
  return order
}

export function unknownOrder(): Problem {
  return new Problem('not_found', 'There is no such order, or the claim secret is not its own.')
}

/** Until when the key can be shown; undefined while it was never shown, which has no end. */
export function claimableUntil({ claimedAt }: Purchase): Date | undefined {
  return claimedAt && new Date(claimedAt.getTime() + CLAIM_MS)
}

export function isClaimable(order: Purchase, now: Date): boolean {
  const until = claimableUntil(order)
  return order.state === 'paid' && (until === undefined || now < until)
}

/** What the buyer can do next, in words. */
export function nextStep(order: Purchase, now: Date): string {
  if (order.state !== 'paid') return STEPS[order.state]
  if (!order.claimedAt) return 'Claim the key: it is shown once, so keep it.'
  if (!isClaimable(order, now)) return 'The key was claimed. It is not shown again.'
  return 'The key was claimed. Claiming again makes a new one and ends the former at once.'
}

const STEPS = {
  open: 'Pay at the address that the checkout gave you.',
  pending: 'Wait: the key can be claimed as soon as the money has arrived.',
  failed: 'The payment failed, and nothing was charged. Order again.',
  expired: 'The checkout ran out before it was paid. Order again.',
  refunded: 'The payment was given back, and the key has stopped.',
  disputed: 'The payment is disputed, and the key has stopped until that is settled.',
} as const satisfies Record<Exclude<Purchase['state'], 'paid'>, string>
