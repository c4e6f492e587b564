import { secretHash } from '../core/id.ts'
import { type ApiKey, makeSecret, RANDOM_BYTES } from '../core/key.ts'
import { Problem } from '../core/problem.ts'
import type { Purchase } from '../core/purchase.ts'
import type { ShopStore } from '../store/store.ts'
import { nextStep, type OrderNeeds, orderOf, unknownOrder } from './order.ts'

export interface ClaimNeeds extends OrderNeeds {
  shop: OrderNeeds['shop'] & Pick<ShopStore, 'claimKey' | 'readKey'>
  now(): Date
  randomBytes(count: number): Uint8Array
}

/** Mints the key of a paid order. It is kept nowhere; asked again for a while, it mints a new one in its place. */
export async function claim(
  needs: ClaimNeeds,
  orderId: string,
  claimSecret: string,
): Promise<{ order: Purchase; key: ApiKey; secret: string }> {
  const order = await orderOf(needs, orderId, claimSecret)
  const secret = makeSecret(order.keyPrefix, needs.randomBytes(RANDOM_BYTES))
  const now = needs.now()
  const outcome = await needs.shop.claimKey({
    orderId,
    claimHash: secretHash(claimSecret),
    secretHash: secretHash(secret),
    now,
  })
  const key = outcome === 'claimed' ? await needs.shop.readKey(order.keyId, now) : undefined
  if (key) return { order, key, secret }
  if (outcome === 'unknown') throw unknownOrder()
  if (outcome === 'over') {
    throw new Problem(
      'already_claimed',
      'The key of this order was shown more than a day ago. It is not shown again.',
    )
  }
  throw new Problem('order_unpaid', unpaid(order, now))
}

/** A key of a paid order that cannot be had was revoked by the operator. */
function unpaid(order: Purchase, now: Date): string {
  return order.state === 'paid' ? 'The key of this order was revoked.' : nextStep(order, now)
}
