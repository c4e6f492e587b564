import type { Log } from '../../core/log.ts'
import type { Missed, PaymentBook } from '../../pay/pay.ts'
import type { ShopStore } from '../../store/shop-store.ts'
import { logFault } from '../background/outage.ts'
import { type PaymentNoticeNeeds, takeNotice } from './payment-notice.ts'
import { settleOrder } from './settle-order.ts'
import { untilEnded } from '../background/timing.ts'

export interface ReconcileNeeds extends PaymentNoticeNeeds {
  shop: PaymentNoticeNeeds['shop'] &
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
export async function reconcileForEver(needs: ReconcileNeeds, ended: AbortSignal): Promise<void> {
  await untilEnded(ended, {
    deed: () => reconcileOnce(needs, ended),
    failed: 'the payment provider could not be asked; tried again',
    restMs: REST_MS,
    longestMs: LONGEST_REST_MS,
    log: needs.log,
  })
}

/** One look at what the provider had to tell. False when part of it failed and must be asked for again. */
export async function reconcileOnce(
  needs: ReconcileNeeds,
  ended: AbortSignal = NEVER,
): Promise<boolean> {
  const { shop, pay, now } = needs
  if (!pay.book) return true
  const look = { book: pay.book, now: now(), ended }
  let whole = false
  try {
    whole = await hearMissed(needs, look)
    if (whole) await shop.keepReconciled(pay.provider, look.now)
  } finally {
    // Also when the provider cannot list what it had to tell: of each order it may still know.
    whole = (await askAboutOpen(needs, look)) && whole
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
async function hearMissed(needs: ReconcileNeeds, look: Look): Promise<boolean> {
  const last = await needs.shop.readReconciled(needs.pay.provider)
  const since = last
    ? new Date(last.getTime() - OVERLAP_MS)
    : new Date(look.now.getTime() - FIRST_LOOK_MS)
  let whole = true
  for await (const missed of look.book.missed(since)) {
    if (look.ended.aborted) return false
    const about = { eventId: missed.id, type: missed.type }
    whole = (await survived(needs, about, () => takeMissed(needs, missed))) && whole
  }
  return whole
}

async function takeMissed(needs: ReconcileNeeds, { id, notice }: Missed): Promise<void> {
  if (await needs.shop.knowsEvent(id)) return
  await takeNotice(needs, await notice())
}

async function askAboutOpen(needs: ReconcileNeeds, { now, ended }: Look): Promise<boolean> {
  const { provider, mode } = needs.pay
  if (provider === 'manual') return true
  const after = new Date(now.getTime() - OLD_MS)
  const before = new Date(now.getTime() - YOUNG_MS)
  const wanted = { provider, mode, after, before }
  const waiting = await needs.shop.listUnsettled(wanted, ASKED_ABOUT)
  let whole = true
  for (const { id } of waiting) {
    if (ended.aborted) return false
    whole = (await survived(needs, { orderId: id }, () => settleOrder(needs, id))) && whole
  }
  return whole
}

async function survived(
  { log }: ReconcileNeeds,
  about: Record<string, string>,
  deed: () => Promise<void>,
): Promise<boolean> {
  try {
    await deed()
    return true
  } catch (error) {
    logFault(log, error, 'a payment could not be settled; tried again', about)
    return false
  }
}
