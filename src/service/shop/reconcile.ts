import type { Log } from '../../core/log.ts'
import type { MissedEvent, RemoteProvider } from '../../pay/provider.ts'
import type { ShopStore } from '../../store/shop-store.ts'
import { logFault } from '../background/outage.ts'
import { repeatUntilAborted } from '../background/repeat.ts'
import { type PaymentNoticeDeps, processNotice, settleOrder } from './settle-order.ts'

interface ReconcileDeps extends PaymentNoticeDeps {
  shop: PaymentNoticeDeps['shop'] &
    Pick<ShopStore, 'listUnsettled' | 'readReconciled' | 'saveReconciled'>
  log: Pick<Log, 'error'>
}

const MINUTE_MS = 60_000
const FIRST_LOOKBACK_MS = 24 * 60 * MINUTE_MS
// Clocks differ, and a provider may list an event a little after it happened.
const OVERLAP_MS = 10 * MINUTE_MS
const INTERVAL_MS = 5 * MINUTE_MS
const MAX_INTERVAL_MS = 60 * MINUTE_MS

// Messages tell of almost all orders. These are for those that nobody tells of any more.
const MIN_AGE_MS = 60 * MINUTE_MS
// Later nobody pays any more, and a provider may have forgotten the checkout.
const MAX_AGE_MS = 35 * 24 * 60 * MINUTE_MS
const MAX_ORDERS = 100

/** Asks the provider for what we missed, until it is told to end. */
export async function runReconcile(deps: ReconcileDeps, ended: AbortSignal): Promise<void> {
  await repeatUntilAborted(ended, {
    operation: () => reconcileOnce(deps, ended),
    failed: 'the payment provider could not be asked; tried again',
    intervalMs: INTERVAL_MS,
    maxIntervalMs: MAX_INTERVAL_MS,
    log: deps.log,
  })
}

/** One look at what the provider had to tell. False when part of it failed and must be asked for again. */
export async function reconcileOnce(
  deps: ReconcileDeps,
  ended: AbortSignal = NEVER,
): Promise<boolean> {
  const { shop, pay, now } = deps
  if (!pay.book) return true
  const look = { book: pay.book, now: now(), ended }
  let whole = false
  try {
    whole = await processMissed(deps, look)
    if (whole) await shop.saveReconciled(pay.provider, look.now)
  } finally {
    // Also when the provider cannot list what it had to tell: of each order it may still know.
    whole = (await settleOpenOrders(deps, look)) && whole
  }
  return whole
}

const NEVER = new AbortController().signal

interface ReconcileRun {
  book: RemoteProvider
  now: Date
  ended: AbortSignal
}

/** One that fails keeps no other from being heard; all are asked for again then, and those we know cost little. */
async function processMissed(deps: ReconcileDeps, look: ReconcileRun): Promise<boolean> {
  const last = await deps.shop.readReconciled(deps.pay.provider)
  const since = last
    ? new Date(last.getTime() - OVERLAP_MS)
    : new Date(look.now.getTime() - FIRST_LOOKBACK_MS)
  let whole = true
  for await (const missed of look.book.missedEvents(since)) {
    if (look.ended.aborted) return false
    const about = { eventId: missed.id, type: missed.type }
    whole = (await succeeded(deps, about, () => processMissedNotice(deps, missed))) && whole
  }
  return whole
}

async function processMissedNotice(
  deps: ReconcileDeps,
  { id, resolve }: MissedEvent,
): Promise<void> {
  if (await deps.shop.hasEvent(id)) return
  await processNotice(deps, await resolve())
}

async function settleOpenOrders(
  deps: ReconcileDeps,
  { now, ended }: ReconcileRun,
): Promise<boolean> {
  const { provider, mode } = deps.pay
  if (provider === 'manual') return true
  const after = new Date(now.getTime() - MAX_AGE_MS)
  const before = new Date(now.getTime() - MIN_AGE_MS)
  const wanted = { provider, mode, after, before }
  const waiting = await deps.shop.listUnsettled(wanted, MAX_ORDERS)
  let whole = true
  for (const { id } of waiting) {
    if (ended.aborted) return false
    whole = (await succeeded(deps, { orderId: id }, () => settleOrder(deps, id))) && whole
  }
  return whole
}

async function succeeded(
  { log }: ReconcileDeps,
  about: Record<string, string>,
  operation: () => Promise<void>,
): Promise<boolean> {
  try {
    await operation()
    return true
  } catch (error) {
    logFault(log, error, 'a payment could not be settled; tried again', about)
    return false
  }
}
