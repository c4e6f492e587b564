import type { Log } from '../../core/log.ts'
import { Problem } from '../../core/problem.ts'
import type { Purchase } from '../../core/purchase.ts'
import type { Notice, OrderHint, Pay } from '../../pay/pay.ts'
import type { ShopStore } from '../../store/shop-store.ts'
import { askingProvider } from './provider-fault.ts'
import { type SettleOrderDeps, settleOrder } from './settle-order.ts'

export interface PaymentNoticeDeps extends SettleOrderDeps {
  shop: SettleOrderDeps['shop'] & Pick<ShopStore, 'knowsEvent' | 'noteEvent' | 'findPurchaseByRef'>
  pay: Pick<Pay, 'provider' | 'mode' | 'book'>
}

export interface HearPaymentDeps extends PaymentNoticeDeps {
  log: Pick<Log, 'error'>
}

/** A message of the provider as it came in. When this resolves, what it means is on disk. */
export async function hearPayment(
  deps: HearPaymentDeps,
  raw: Uint8Array,
  signature: string | undefined,
): Promise<void> {
  const { provider, book } = deps.pay
  if (provider !== 'stripe' || !book) {
    throw new Problem('not_found', 'Nothing is sold through Stripe here.')
  }
  await askingProvider(deps.log, async () => {
    await takeNotice(deps, await book.notice(raw, signature))
  })
}

/** The message is only a reason to ask: what it says counts for nothing, so it may come late, twice or never. */
export async function takeNotice(
  deps: PaymentNoticeDeps,
  { id, type, about }: Notice,
): Promise<void> {
  const { shop, now } = deps
  if (await shop.knowsEvent(id)) return
  const event = { id, type, receivedAt: now() }
  const order = about && (await orderAbout(deps, about))
  if (order) await settleOrder(deps, order.id, { event, hint: about })
  else await shop.noteEvent(event)
}

/** None when it was sold by another provider, or in another mode than today's: nobody could be asked about it. */
async function orderAbout(
  { shop, pay }: PaymentNoticeDeps,
  { checkoutRef, subscriptionRef, orderId }: OrderHint,
): Promise<Purchase | undefined> {
  const order =
    (checkoutRef && (await shop.findPurchaseByRef(checkoutRef))) ||
    (subscriptionRef && (await shop.findPurchaseByRef(subscriptionRef))) ||
    (orderId && (await shop.readPurchase(orderId))) ||
    undefined
  return order?.provider === pay.provider && order.mode === pay.mode ? order : undefined
}
