import { secretHash } from '../../core/id.ts'
import { type ApiKey, makeSecret, RANDOM_BYTES } from '../../core/key.ts'
import { Problem } from '../../core/problem.ts'
import type { Purchase } from '../../core/purchase.ts'
import type { ClaimOutcome, ShopStore } from '../../store/shop-store.ts'
import { type OrderDeps, orderOf, unknownOrder, type ViewDeps, viewOrder } from './order.ts'

export interface ClaimDeps extends OrderDeps, ViewDeps {
  shop: OrderDeps['shop'] & ViewDeps['shop'] & Pick<ShopStore, 'claimKey'>
  randomBytes(count: number): Uint8Array
}

/** Mints the key of a paid order. It is kept nowhere; asked again for a while, it mints a new one in its place. */
export async function claim(
  deps: ClaimDeps,
  orderId: string,
  claimSecret: string,
): Promise<{ order: Purchase; key: ApiKey; secret: string }> {
  const { shop, pay } = deps
  const order = await orderOf(deps, orderId, claimSecret)
  const secret = makeSecret(order.keyPrefix, deps.randomBytes(RANDOM_BYTES))
  const now = deps.now()
  const hashes = { claimHash: secretHash(claimSecret), secretHash: secretHash(secret) }
  // A test that opened something once money moves would be a gift.
  const outcome =
    order.mode === pay.mode ? await shop.claimKey({ orderId, ...hashes, now }) : 'stopped'
  const key = outcome === 'claimed' ? await shop.readKey(order.keyId, now) : undefined
  if (key) return { order, key, secret }
  const { next } = await viewOrder(deps, await orderOf(deps, orderId, claimSecret))
  throw refusalOf(outcome, next)
}

function refusalOf(outcome: ClaimOutcome, next: string): Problem {
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
