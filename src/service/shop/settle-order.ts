import { type Purchase, type Settlement, settle } from '../../core/purchase.ts'
import type { OrderHint, Pay, PaymentBook } from '../../pay/pay.ts'
import type { PaymentEvent, ShopStore } from '../../store/shop-store.ts'

export interface SettleOrderDeps {
  shop: Pick<ShopStore, 'readPurchase' | 'settlePurchase' | 'keepCheckout' | 'noteEvent'>
  pay: Pick<Pay, 'book'>
  now(): Date
}

interface Told {
  /** What is noted in the same commit. */
  event?: PaymentEvent
  /** By what the message called the order, where we do not know it yet. */
  hint?: OrderHint
}

// What is as it was leaves the revision alone, so each round means that somebody else changed the order meanwhile.
const ROUNDS = 10

/** Asks the provider what it knows of the order, and makes the order so. In whatever order it is told, the end is the same. */
export async function settleOrder(
  deps: SettleOrderDeps,
  orderId: string,
  { event, hint }: Told = {},
): Promise<void> {
  const { shop, pay, now } = deps
  for (let round = 0; round < ROUNDS; round += 1) {
    const order = await shop.readPurchase(orderId)
    if (!order || !pay.book) return
    const name = named(order, hint)
    // The provider cannot be asked about what it never heard of. What it would answer must undo nothing.
    if (!name.checkoutRef && !name.subscriptionRef) {
      if (event) await shop.noteEvent(event)
      return
    }
    const settlement = settle(order.plan, await pay.book.read(name))
    if (!event && isSame(order, settlement)) return
    await keepName(deps, order, name.checkoutRef, settlement)
    const { revision } = order
    if (await shop.settlePurchase({ orderId, revision, settlement, event, now: now() })) return
  }
  throw new Error(`the order ${orderId} changed ${ROUNDS} times while the provider was asked`)
}

/** A message may come before we know what the provider called the order. It checks that the names belong together. */
function named(order: Purchase, hint: OrderHint | undefined): Parameters<PaymentBook['read']>[0] {
  return {
    id: order.id,
    plan: order.plan,
    checkoutRef: order.checkoutRef ?? hint?.checkoutRef,
    subscriptionRef: order.subscriptionRef ?? hint?.subscriptionRef,
  }
}

/** Of a paid order we must be able to ask again, also if we died while the checkout was opened. Its page is paid: nobody needs it. */
async function keepName(
  { shop }: SettleOrderDeps,
  order: Purchase,
  ref: string | undefined,
  { payments }: Settlement,
): Promise<void> {
  if (order.checkoutRef || !ref || payments === 0) return
  await shop.keepCheckout(order.id, { ref, url: '' })
}

/** Only while nothing was paid: of a key, the order does not tell all that a settlement says. */
function isSame(order: Purchase, { key, state, subscriptionRef }: Settlement): boolean {
  return !key && order.state === state && order.subscriptionRef === subscriptionRef
}
