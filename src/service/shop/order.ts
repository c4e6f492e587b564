import { secretHash } from '../../core/id.ts'
import { type ApiKey, KEY_RANDOM_BYTES, makeKeySecret } from '../../core/key.ts'
import { Problem } from '../../core/problem.ts'
import { CLAIM_MS, type Purchase } from '../../core/purchase.ts'
import type { PaymentProvider } from '../../pay/provider.ts'
import type { ClaimOutcome, ShopStore } from '../../store/shop-store.ts'

export interface ViewDeps {
  shop: Pick<ShopStore, 'readKey'>
  pay: Pick<PaymentProvider, 'provider' | 'mode'>
  now(): Date
}

export interface OrderDeps {
  shop: Pick<ShopStore, 'findOrder'>
}

const ORDER = /^ord_[A-Za-z0-9]{22}$/
const SECRET = /^[A-Za-z0-9_-]{43}$/

export function isOrderId(text: string): boolean {
  return ORDER.test(text)
}

/** The order that this claim secret, or the link that was mailed, belongs to. A stranger does not learn which ids exist. */
export async function findOrder(
  { shop }: OrderDeps,
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

/** An order as its buyer sees it. */
export interface OrderView {
  order: Purchase
  /** Where it can still be paid. */
  payUrl: string | undefined
  /** Whether its key can be had now. */
  claimable: boolean
  /** What the buyer can do next, in words. */
  next: string
}

/** The key is read too: the operator may have revoked it, of which the order knows nothing. */
export async function viewOrder(deps: ViewDeps, order: Purchase): Promise<OrderView> {
  const now = deps.now()
  const key = await deps.shop.readKey(order.keyId, now)
  const seen = { order, key, pay: deps.pay, now }
  const until = order.claimedAt && order.claimedAt.getTime() + CLAIM_MS
  const isOver = until !== undefined && until <= now.getTime()
  return {
    order,
    payUrl: isPayable(seen) ? order.checkoutUrl : undefined,
    claimable: order.state === 'paid' && !stopMessage(seen) && !isOver,
    next: stopMessage(seen) ?? nextStep(seen, isOver),
  }
}

interface OrderContext {
  order: Purchase
  key: ApiKey | undefined
  pay: ViewDeps['pay']
}

/** Nobody would hear of the money elsewhere. What is under way in the test shop is decided on its pay page too. */
function isPayable({ order: { state, provider, mode }, pay }: OrderContext): boolean {
  if (provider !== pay.provider || mode !== pay.mode) return false
  return state === 'open' || (state === 'pending' && provider === 'fake')
}

/** Why no key is given for the order, and none will be by itself. */
function stopMessage({ order, key, pay }: OrderContext): string | undefined {
  if (order.mode !== pay.mode) return OTHER_MODE_MESSAGES[order.mode]
  if (order.state !== 'paid' || key?.state === 'active') return undefined
  return key?.state === 'revoked'
    ? 'The key of this order was revoked.'
    : 'The key of this order has stopped.'
}

const OTHER_MODE_MESSAGES = {
  test: 'This was a test: no money has moved, and no key is given for it any more.',
  live: 'This site is in test mode now. The key of a real order waits until that is over.',
}

function nextStep({ order, pay }: OrderContext, isOver: boolean): string {
  const { state, provider, claimedAt } = order
  if (state === 'open' && provider !== pay.provider) return 'It can no longer be paid. Order again.'
  if (state !== 'paid') return NEXT_STEPS[state]
  if (!claimedAt) return 'Claim the key: it is shown once, so keep it.'
  if (isOver) return 'The key was claimed. It is not shown again.'
  return 'The key was claimed. Claiming again makes a new one and ends the former at once.'
}

const NEXT_STEPS = {
  open: 'Pay at the address that the checkout gave you.',
  pending: 'Wait: the key can be claimed as soon as the money has arrived.',
  failed: 'The payment failed, and nothing was charged. Order again.',
  expired: 'The checkout ran out before it was paid. Order again.',
  refunded: 'The payment was given back, and the key has stopped.',
  disputed: 'The payment is disputed, and the key has stopped until that is settled.',
} as const satisfies Record<Exclude<Purchase['state'], 'paid'>, string>

export interface ClaimDeps extends OrderDeps, ViewDeps {
  shop: OrderDeps['shop'] & ViewDeps['shop'] & Pick<ShopStore, 'claimKey'>
  randomBytes(count: number): Uint8Array
}

/** Mints the key of a paid order. It is kept nowhere; asked again for a while, it mints a new one in its place. */
export async function claimKey(
  deps: ClaimDeps,
  orderId: string,
  claimSecret: string,
): Promise<{ order: Purchase; key: ApiKey; secret: string }> {
  const { shop, pay } = deps
  const order = await findOrder(deps, orderId, claimSecret)
  const secret = makeKeySecret(order.keyPrefix, deps.randomBytes(KEY_RANDOM_BYTES))
  const now = deps.now()
  const hashes = { claimHash: secretHash(claimSecret), secretHash: secretHash(secret) }
  // A test that opened something once money moves would be a gift.
  const outcome =
    order.mode === pay.mode ? await shop.claimKey({ orderId, ...hashes, now }) : 'stopped'
  const key = outcome === 'claimed' ? await shop.readKey(order.keyId, now) : undefined
  if (key) return { order, key, secret }
  const { next } = await viewOrder(deps, await findOrder(deps, orderId, claimSecret))
  throw claimProblem(outcome, next)
}

function claimProblem(outcome: ClaimOutcome, next: string): Problem {
  if (outcome === 'unknown') return unknownOrder()
  if (outcome === 'unpaid') return new Problem('order_unpaid', next)
  if (outcome === 'over') {
    return new Problem(
      'already_claimed',
      'The key of this order was shown more than a day ago. It is not shown again.',
    )
  }
  return new Problem('order_stopped', next)
}
