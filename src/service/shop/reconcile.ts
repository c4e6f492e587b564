import type { Log } from '../../core/log.ts'
import type { Missed, PaymentBook } from '../../pay/pay.ts'
import type { ShopStore } from '../../store/shop-store.ts'
import { logFault } from '../background/outage.ts'
import { repeatUntilAborted } from '../background/timing.ts'
import { type PaymentNoticeDeps, takeNotice } from './payment-notice.ts'
import { settleOrder } from './settle-order.ts'

interface ReconcileDeps extends PaymentNoticeDeps {
  shop: PaymentNoticeDeps['shop'] &
    Pick<ShopStore, 'listUnsettled' | 'readReconciled' | 'keepReconciled'>
  log: Pick<Log, 'error'>
}

const MINUTE_MS = 60_000
const FIRST_LOOK_MS = 24 * 60 * MINUTE_MS
// Clocks differ, and a provider may list an event a little after it happened.
const OVERLAP_MS = 10 * MINUTE_MS
const REST_MS = 5 * MINUTE_MS
const LONGEST_REST_MS = 60 * MINUTE_MS

// Messages tell of almost all orders. These are for those that nobody tells of any more.
const YOUNG_MS = 60 * MINUTE_MS
// Later nobody pays any more, and a provider may have forgotten the checkout.
const OLD_MS = 35 * 24 * 60 * MINUTE_MS
const ASKED_ABOUT = 100

/** Asks the provider for what we missed, until it is told to end. */
export async function reconcileForEver(deps: ReconcileDeps, ended: AbortSignal): Promise<void> {
  await repeatUntilAborted(ended, {
    operation: () => reconcileOnce(deps, ended),
    failed: 'the payment provider could not be asked; tried again',
    restMs: REST_MS,
    longestMs: LONGEST_REST_MS,
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
    whole = await hearMissed(deps, look)
    if (whole) await shop.keepReconciled(pay.provider, look.now)
  } finally {
    // Also when the provider cannot list what it had to tell: of each order it may still know.
    whole = (await askAboutOpen(deps, look)) && whole
  }
  return whole
}

const NEVER = new AbortController().signal

interface Look {
  book: PaymentBook
  now: Date
  ended: AbortSignal
}

/** One that fails keeps no other from being heard; all are asked for again then, and those we know cost little. */
async function hearMissed(deps: ReconcileDeps, look: Look): Promise<boolean> {
  const last = await deps.shop.readReconciled(deps.pay.provider)
  const since = last
    ? new Date(last.getTime() - OVERLAP_MS)
    : new Date(look.now.getTime() - FIRST_LOOK_MS)
  let whole = true
  for await (const missed of look.book.missed(since)) {
    if (look.ended.aborted) return false
    const about = { eventId: missed.id, type: missed.type }
    whole = (await survived(deps, about, () => takeMissed(deps, missed))) && whole
  }
  return whole
}

async function takeMissed(deps: ReconcileDeps, { id, notice }: Missed): Promise<void> {
  if (await deps.shop.knowsEvent(id)) return
  await takeNotice(deps, await notice())
}

async function askAboutOpen(deps: ReconcileDeps, { now, ended }: Look): Promise<boolean> {
  const { provider, mode } = deps.pay
  if (provider === 'manual') return true
  const after = new Date(now.getTime() - OLD_MS)
  const before = new Date(now.getTime() - YOUNG_MS)
  const wanted = { provider, mode, after, before }
  const waiting = await deps.shop.listUnsettled(wanted, ASKED_ABOUT)
  let whole = true
  for (const { id } of waiting) {
    if (ended.aborted) return false
    whole = (await survived(deps, { orderId: id }, () => settleOrder(deps, id))) && whole
  }
  return whole
}

async function survived(
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
