import { logFault } from '../base/jobs/outage.ts'
import { repeatUntilAborted } from '../base/jobs/repeat.ts'
import type { ShopDeps } from './deps.ts'
import type { RemoteProvider } from './pay/provider.ts'
import { processEvent, settleOrder } from './settle-order.ts'

type ReconcileDeps = Pick<ShopDeps, 'shop' | 'pay' | 'now' | 'log'>

const MINUTE_MS = 60_000
const FIRST_LOOKBACK_MS = 24 * 60 * MINUTE_MS
// Clocks differ, and a provider may list an event with a delay.
const OVERLAP_MS = 10 * MINUTE_MS
const INTERVAL_MS = 5 * MINUTE_MS
const MAX_INTERVAL_MS = 60 * MINUTE_MS

// Webhooks report almost all orders. These limits are for those that no webhook reported.
const MIN_AGE_MS = 60 * MINUTE_MS
// By then nobody pays any more, and a provider may have deleted the checkout.
const MAX_AGE_MS = 35 * 24 * 60 * MINUTE_MS
const MAX_ORDERS = 100

/** Processes missed events of the provider until `ended`. */
export async function runReconcile(deps: ReconcileDeps, ended: AbortSignal): Promise<void> {
  await repeatUntilAborted(ended, {
    operation: () => reconcileOnce(deps, ended),
    failed: 'reading from the payment provider failed; retrying',
    intervalMs: INTERVAL_MS,
    maxIntervalMs: MAX_INTERVAL_MS,
    log: deps.log,
  })
}

/** One run. False if part of it failed and must be repeated. */
export async function reconcileOnce(
  deps: ReconcileDeps,
  ended: AbortSignal = NEVER,
): Promise<boolean> {
  const { shop, pay, now } = deps
  if (!pay.remote) return true
  const run = { provider: pay.remote, now: now(), ended }
  let complete = false
  try {
    complete = await processMissed(deps, run)
    if (complete) await shop.saveReconciled(pay.provider, run.now)
  } finally {
    // Also if the provider cannot list its events: it may still know each order.
    complete = (await settleOpenOrders(deps, run)) && complete
  }
  return complete
}

const NEVER = new AbortController().signal

interface ReconcileRun {
  provider: RemoteProvider
  now: Date
  ended: AbortSignal
}

/** A failed event does not stop the others; all are listed again then, and known ones cost little. */
async function processMissed(deps: ReconcileDeps, run: ReconcileRun): Promise<boolean> {
  const last = await deps.shop.readReconciled(deps.pay.provider)
  const since = last
    ? new Date(last.getTime() - OVERLAP_MS)
    : new Date(run.now.getTime() - FIRST_LOOKBACK_MS)
  let complete = true
  for await (const missed of run.provider.missedEvents(since)) {
    if (run.ended.aborted) return false
    const about = { eventId: missed.id, type: missed.type }
    complete = (await succeeded(deps, about, () => processEvent(deps, missed))) && complete
  }
  return complete
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
  let complete = true
  for (const { id } of waiting) {
    if (ended.aborted) return false
    complete = (await succeeded(deps, { orderId: id }, () => settleOrder(deps, id))) && complete
  }
  return complete
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
    logFault(log, error, 'settling a payment failed; retrying', about)
    return false
  }
}
