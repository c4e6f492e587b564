import { logFault } from '../base/jobs/outage.ts'
import { Problem } from '../base/problem.ts'
import type { ShopDeps } from './deps.ts'
import type { OrderRefs, PaymentEvent, RemoteProvider } from './pay/provider.ts'
import { type Order, type Settlement, settle } from './rules.ts'
import type { RecordedEvent } from './store.ts'

type SettleDeps = Pick<ShopDeps, 'shop' | 'pay' | 'now'>

interface SettleContext {
  /** Recorded in the same commit. */
  event?: RecordedEvent
  /** The provider's ids in the event, if we do not know them yet. */
  refs?: OrderRefs
}

// Each retry means that the order was changed concurrently.
const MAX_ATTEMPTS = 10

/** Reads everything the provider knows about the order and applies it. The order of events does not matter. */
export async function settleOrder(
  deps: SettleDeps,
  orderId: string,
  { event, refs }: SettleContext = {},
): Promise<void> {
  const { shop, pay, now } = deps
  for (let round = 0; round < MAX_ATTEMPTS; round += 1) {
    const order = await shop.readOrder(orderId)
    if (!order || !pay.remote) return
    const reference = orderReference(order, refs)
    // Without an id, the provider cannot be asked.
    if (!reference.checkoutRef && !reference.subscriptionRef) {
      if (event) await shop.recordEvent(event)
      return
    }
    const settlement = settle(order.plan, await pay.remote.fetchFacts(reference))
    if (!event && isSame(order, settlement)) return
    await saveCheckoutRef(deps, order, reference.checkoutRef, settlement)
    const { revision } = order
    if (await shop.applySettlement({ orderId, revision, settlement, event, now: now() })) return
  }
  throw new Error(`order ${orderId} changed ${MAX_ATTEMPTS} times while reading from the provider`)
}

/** An event may arrive before we know the provider's ids. The provider checks that they belong together. */
function orderReference(
  order: Order,
  refs: OrderRefs | undefined,
): Parameters<RemoteProvider['fetchFacts']>[0] {
  return {
    id: order.id,
    plan: order.plan,
    checkoutRef: order.checkoutRef ?? refs?.checkoutRef,
    subscriptionRef: order.subscriptionRef ?? refs?.subscriptionRef,
  }
}

/**
 * Saves the checkout id of a paid order, so that it can be queried again if we crashed while the checkout was created. The
 * payment URL is no longer needed.
 */
async function saveCheckoutRef(
  { shop }: SettleDeps,
  order: Order,
  ref: string | undefined,
  { payments }: Settlement,
): Promise<void> {
  if (order.checkoutRef || !ref || payments === 0) return
  await shop.saveCheckout(order.id, { ref, url: '' })
}

/** Only while nothing was paid: the order does not record everything that a settlement says about the key. */
function isSame(order: Order, { key, state, subscriptionRef }: Settlement): boolean {
  return !key && order.state === state && order.subscriptionRef === subscriptionRef
}

/** Handles a webhook request. When this resolves, its effect is on disk. */
export async function handleWebhook(
  deps: SettleDeps & Pick<ShopDeps, 'log'>,
  raw: Uint8Array,
  signature: string | undefined,
): Promise<void> {
  const { provider, remote } = deps.pay
  if (provider !== 'stripe' || !remote) {
    throw new Problem('not_found', 'This site does not use Stripe.')
  }
  await callingProvider(deps.log, async () => {
    await processEvent(deps, await remote.parseEvent(raw, signature))
  })
}

/** An event only triggers reading from the provider: its content is not trusted, so it may arrive late, twice or never. */
export async function processEvent(
  deps: SettleDeps,
  { id, type, findRefs }: PaymentEvent,
): Promise<void> {
  const { shop, now } = deps
  if (await shop.hasEvent(id)) return
  const event = { id, type, receivedAt: now() }
  const refs = await findRefs()
  const order = refs && (await orderOf(deps, refs))
  if (order) await settleOrder(deps, order.id, { event, refs })
  else await shop.recordEvent(event)
}

/** Undefined if it was sold by another provider or in another mode: it could not be read from this one. */
async function orderOf(
  { shop, pay }: SettleDeps,
  { checkoutRef, subscriptionRef, orderId }: OrderRefs,
): Promise<Order | undefined> {
  const order =
    (checkoutRef && (await shop.findOrderByRef(checkoutRef))) ||
    (subscriptionRef && (await shop.findOrderByRef(subscriptionRef))) ||
    (orderId && (await shop.readOrder(orderId))) ||
    undefined
  return order?.provider === pay.provider && order.mode === pay.mode ? order : undefined
}

/** Logs why the payment provider failed; the client only learns that a retry may help. */
export async function callingProvider<T>(
  log: ShopDeps['log'],
  operation: () => Promise<T>,
): Promise<T> {
  try {
    return await operation()
  } catch (error) {
    if (error instanceof Problem && error.cause !== undefined) {
      logFault(log, error, 'a request to the payment provider failed')
    }
    throw error
  }
}
