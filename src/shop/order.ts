import { maskAddress, parseAddress } from '../base/address.ts'
import { secretHash } from '../base/id.ts'
import { Problem } from '../base/problem.ts'
import { timestampFields } from '../base/time.ts'
import { type ApiKey, KEY_RANDOM_BYTES, makeKeySecret } from '../keys/rules.ts'
import type { ShopDeps } from './deps.ts'
import { type ClaimOutcome, claimOutcome, type Order } from './rules.ts'

const ORDER = /^ord_[A-Za-z0-9]{22}$/
const SECRET = /^[A-Za-z0-9_-]{43}$/

export function isOrderId(text: string): boolean {
  return ORDER.test(text)
}

/** The order with this claim secret or mailed link. The error does not disclose which ids exist. */
export async function findOrder(
  { shop }: Pick<ShopDeps, 'shop'>,
  orderId: string,
  claimSecret: string,
): Promise<Order> {
  const known = isOrderId(orderId) && SECRET.test(claimSecret)
  const order = known ? await shop.findOrderByClaim(orderId, secretHash(claimSecret)) : undefined
  if (!order) throw unknownOrder()
  return order
}

export function unknownOrder(): Problem {
  return new Problem('not_found', 'Unknown order or wrong claim secret.')
}

export interface OrderView {
  order: Order
  /** Where to pay, if it can still be paid. */
  payUrl: string | undefined
  /** Whether its key can be claimed now. */
  claimable: boolean
  next: string
}

/** Reads the key as well, because the operator may have revoked it. */
export async function viewOrder(
  deps: Pick<ShopDeps, 'shop' | 'pay' | 'now'>,
  order: Order,
): Promise<OrderView> {
  const now = deps.now()
  const key = await deps.shop.readKey(order.keyId, now)
  const context = { order, key, pay: deps.pay, now }
  const stopped = stopMessage(context)
  const outcome = claimOutcome(order, key?.state === 'active', now)
  return {
    order,
    payUrl: isPayable(context) ? order.checkoutUrl : undefined,
    claimable: !stopped && outcome === 'claimed',
    next: stopped ?? nextStep(context, outcome === 'over'),
  }
}

interface OrderContext {
  order: Order
  key: ApiKey | undefined
  pay: ShopDeps['pay']
}

/** Payments to another provider or mode would not be noticed. Pending test payments are completed on the payment page, too. */
function isPayable({ order: { state, provider, mode }, pay }: OrderContext): boolean {
  if (provider !== pay.provider || mode !== pay.mode) return false
  return state === 'open' || (state === 'pending' && provider === 'fake')
}

/** Why the key of this order is not available, now or later. */
function stopMessage({ order, key, pay }: OrderContext): string | undefined {
  if (order.mode !== pay.mode) return OTHER_MODE_MESSAGES[order.mode]
  if (order.state !== 'paid' || key?.state === 'active') return undefined
  return key?.state === 'revoked'
    ? 'The key for this order was revoked.'
    : 'The key for this order was suspended.'
}

const OTHER_MODE_MESSAGES = {
  test: 'This was a test order: no money was charged, and its key is no longer available.',
  live: 'This site is in test mode. Keys for real orders will be available again afterwards.',
}

function nextStep({ order, pay }: OrderContext, isOver: boolean): string {
  const { state, provider, claimedAt } = order
  if (state === 'open' && provider !== pay.provider)
    return 'This order can no longer be paid. Order again.'
  if (state !== 'paid') return NEXT_STEPS[state]
  if (!claimedAt) return 'Claim the key. It is shown only once: store it in a safe place.'
  if (isOver) return 'The key was claimed and cannot be shown again.'
  return 'The key was claimed. Claiming it again issues a new key and revokes the old one immediately.'
}

const NEXT_STEPS = {
  open: 'Complete the payment on the checkout page.',
  pending: 'The payment is pending. The key can be claimed once it has cleared.',
  failed: 'The payment failed, and nothing was charged. Order again.',
  expired: 'The checkout expired before it was paid. Order again.',
  refunded: 'The payment was refunded, and the key is suspended.',
  disputed: 'The payment is disputed, and the key is suspended until the dispute is resolved.',
} as const satisfies Record<Exclude<Order['state'], 'paid'>, string>

/** Issues the key of a paid order; it is not stored. For a day, claiming again replaces it with a new one. */
export async function claimKey(
  deps: Pick<ShopDeps, 'shop' | 'pay' | 'now' | 'randomBytes'>,
  orderId: string,
  claimSecret: string,
): Promise<{ order: Order; key: ApiKey; secret: string }> {
  const { shop, pay } = deps
  const order = await findOrder(deps, orderId, claimSecret)
  const secret = makeKeySecret(order.keyPrefix, deps.randomBytes(KEY_RANDOM_BYTES))
  const now = deps.now()
  const hashes = { claimHash: secretHash(claimSecret), secretHash: secretHash(secret) }
  // A test order must not yield a key in live mode.
  const outcome =
    order.mode === pay.mode ? await shop.claimKey({ orderId, ...hashes, now }) : 'stopped'
  const key = outcome === 'claimed' ? await shop.readKey(order.keyId, now) : undefined
  if (key) return { order, key, secret }
  const { next } = await viewOrder(deps, await findOrder(deps, orderId, claimSecret))
  throw claimProblem(outcome, next)
}

function claimProblem(outcome: ClaimOutcome | 'unknown', next: string): Problem {
  if (outcome === 'unknown') return unknownOrder()
  if (outcome === 'unpaid') return new Problem('order_unpaid', next)
  if (outcome === 'over') {
    return new Problem(
      'already_claimed',
      'The key for this order was claimed more than a day ago and cannot be shown again.',
    )
  }
  return new Problem('order_stopped', next)
}

export function orderJson(order: Order) {
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
    partly_returned: order.partlyRefunded,
    key_id: paid ? order.keyId : null,
    key_prefix: paid ? order.keyPrefix : null,
    checkout: order.checkoutRef ?? null,
    subscription: order.subscriptionRef ?? null,
    ...timestampFields('created_at', order.createdAt),
    ...timestampFields('paid_until', order.paidUntil),
    ...timestampFields('claimed_at', order.claimedAt),
  }
}

/** Enough to recognize a buyer, too little for somebody who looks over a shoulder. */
export function maskedEmail({ email }: Order): string | undefined {
  if (email === undefined) return undefined
  const address = parseAddress(email)
  return address ? maskAddress(address) : '…'
}
