import type { Log } from '../../core/log.ts'
import { Problem } from '../../core/problem.ts'
import { type Purchase, type Settlement, settle } from '../../core/purchase.ts'
import type {
  OrderHint,
  PaymentEvent,
  PaymentProvider,
  RemoteProvider,
} from '../../pay/provider.ts'
import type { RecordedEvent, ShopStore } from '../../store/shop-store.ts'
import { logFault } from '../background/outage.ts'

export interface SettleOrderDeps {
  shop: Pick<ShopStore, 'readPurchase' | 'settlePurchase' | 'saveCheckout' | 'recordEvent'>
  pay: Pick<PaymentProvider, 'book'>
  now(): Date
}

interface SettleContext {
  /** What is noted in the same commit. */
  event?: RecordedEvent
  /** By what the message called the order, where we do not know it yet. */
  hint?: OrderHint
}

// What is as it was leaves the revision alone, so each round means that somebody else changed the order meanwhile.
const MAX_ATTEMPTS = 10

/** Asks the provider what it knows of the order, and makes the order so. In whatever order it is told, the end is the same. */
export async function settleOrder(
  deps: SettleOrderDeps,
  orderId: string,
  { event, hint }: SettleContext = {},
): Promise<void> {
  const { shop, pay, now } = deps
  for (let round = 0; round < MAX_ATTEMPTS; round += 1) {
    const order = await shop.readPurchase(orderId)
    if (!order || !pay.book) return
    const name = orderReference(order, hint)
    // The provider cannot be asked about what it never heard of. What it would answer must undo nothing.
    if (!name.checkoutRef && !name.subscriptionRef) {
      if (event) await shop.recordEvent(event)
      return
    }
    const settlement = settle(order.plan, await pay.book.fetchFacts(name))
    if (!event && isSame(order, settlement)) return
    await keepName(deps, order, name.checkoutRef, settlement)
    const { revision } = order
    if (await shop.settlePurchase({ orderId, revision, settlement, event, now: now() })) return
  }
  throw new Error(`the order ${orderId} changed ${MAX_ATTEMPTS} times while the provider was asked`)
}

/** A message may come before we know what the provider called the order. It checks that the names belong together. */
function orderReference(
  order: Purchase,
  hint: OrderHint | undefined,
): Parameters<RemoteProvider['fetchFacts']>[0] {
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
  await shop.saveCheckout(order.id, { ref, url: '' })
}

/** Only while nothing was paid: of a key, the order does not tell all that a settlement says. */
function isSame(order: Purchase, { key, state, subscriptionRef }: Settlement): boolean {
  return !key && order.state === state && order.subscriptionRef === subscriptionRef
}

export interface PaymentNoticeDeps extends SettleOrderDeps {
  shop: SettleOrderDeps['shop'] & Pick<ShopStore, 'hasEvent' | 'recordEvent' | 'findPurchaseByRef'>
  pay: Pick<PaymentProvider, 'provider' | 'mode' | 'book'>
}

export interface WebhookDeps extends PaymentNoticeDeps {
  log: Pick<Log, 'error'>
}

/** A message of the provider as it came in. When this resolves, what it means is on disk. */
export async function handleWebhook(
  deps: WebhookDeps,
  raw: Uint8Array,
  signature: string | undefined,
): Promise<void> {
  const { provider, book } = deps.pay
  if (provider !== 'stripe' || !book) {
    throw new Problem('not_found', 'Nothing is sold through Stripe here.')
  }
  await callingProvider(deps.log, async () => {
    await processNotice(deps, await book.parseEvent(raw, signature))
  })
}

/** The message is only a reason to ask: what it says counts for nothing, so it may come late, twice or never. */
export async function processNotice(
  deps: PaymentNoticeDeps,
  { id, type, hint }: PaymentEvent,
): Promise<void> {
  const { shop, now } = deps
  if (await shop.hasEvent(id)) return
  const event = { id, type, receivedAt: now() }
  const order = hint && (await orderAbout(deps, hint))
  if (order) await settleOrder(deps, order.id, { event, hint: hint })
  else await shop.recordEvent(event)
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

/** Does what needs the payment provider. When that fails, the operator is told why; the caller only hears that it may work later. */
export async function callingProvider<T>(
  log: Pick<Log, 'error'>,
  operation: () => Promise<T>,
): Promise<T> {
  try {
    return await operation()
  } catch (error) {
    if (error instanceof Problem && error.cause !== undefined) {
      logFault(log, error, 'the payment provider did not do as asked')
    }
    throw error
  }
}
