import { makeSecretToken, secretHash } from '../../core/id.ts'
import type { Log } from '../../core/log.ts'
import { priceText, termText } from '../../core/price.ts'
import { toError } from '../../core/problem.ts'
import type { Purchase } from '../../core/purchase.ts'
import { utcTimestamp } from '../../core/time.ts'
import type { ShopStore } from '../../store/shop-store.ts'
import { repeatUntilAborted } from '../background/repeat.ts'
import { type ViewDeps, viewOrder } from './order.ts'

export interface ReceiptDeps extends ViewDeps {
  shop: ViewDeps['shop'] &
    Pick<ShopStore, 'listReceiptsDue' | 'saveClaimLink' | 'rescheduleReceipt'>
  /** Resolves when a mail server has taken it. */
  send(mail: ReceiptMail): Promise<void>
  /** Where the link leads: of our site, without a slash at the end. */
  baseUrl: string
  randomBytes(count: number): Uint8Array
  log: Pick<Log, 'error' | 'warn'>
}

interface ReceiptMail {
  to: string
  subject: string
  text: string
}

const INTERVAL_MS = 5_000
const BATCH_SIZE = 20
const MIN_RETRY_MS = 60_000
const MAX_RETRY_MS = 6 * 3_600_000
const GIVE_UP_MS = 3 * 86_400_000

/** Sends the receipts that are due, until it is told to end. */
export async function runReceipts(deps: ReceiptDeps, ended: AbortSignal): Promise<void> {
  const sendDue = receiptSender(deps)
  await repeatUntilAborted(ended, {
    operation: async () => {
      await sendDue(ended)
      return true
    },
    failed: 'receipts could not be looked up; tried again',
    intervalMs: INTERVAL_MS,
    maxIntervalMs: MIN_RETRY_MS,
    log: deps.log,
  })
}

/** The function that sends what is due now. It remembers whom it failed with: each failure doubles the time to the next. */
export function receiptSender(deps: ReceiptDeps): (ended?: AbortSignal) => Promise<void> {
  const failing = new Map<string, Date>()

  async function send(order: Purchase, to: string): Promise<void> {
    const { shop, now, log } = deps
    try {
      await sendOne(deps, order, to)
      failing.delete(order.id)
      await shop.rescheduleReceipt(order.id, undefined)
    } catch (error) {
      const first = failing.get(order.id) ?? now()
      failing.set(order.id, first)
      const again = nextAttempt(first, now())
      if (!again) failing.delete(order.id)
      // Not the error itself: a mail server's words may hold the buyer's address.
      const facts = { orderId: order.id, fault: faultName(error) }
      log.warn(facts, again ? 'a receipt was not taken; tried again' : 'a receipt was given up')
      await shop.rescheduleReceipt(order.id, again)
    }
  }

  return async (ended) => {
    const now = deps.now()
    // What was due for days nobody waits for: no mail server was set then, or we were not running.
    const from = new Date(now.getTime() - GIVE_UP_MS)
    for (const order of await deps.shop.listReceiptsDue(from, now, BATCH_SIZE)) {
      if (ended?.aborted) return
      // Money that was given back meanwhile needs no receipt, and its key cannot be claimed.
      if (order.state === 'paid' && order.email) await send(order, order.email)
      else await deps.shop.rescheduleReceipt(order.id, undefined)
    }
  }
}

function nextAttempt(first: Date, now: Date): Date | undefined {
  const passed = now.getTime() - first.getTime()
  if (passed >= GIVE_UP_MS) return undefined
  return new Date(now.getTime() + Math.min(Math.max(passed, MIN_RETRY_MS), MAX_RETRY_MS))
}

async function sendOne(deps: ReceiptDeps, order: Purchase, to: string): Promise<void> {
  const { claimable, next } = await viewOrder(deps, order)
  const ending = claimable
    ? linkLines(await newLink(deps, order))
    : ['The key itself is never mailed.', next, '']
  const text = [...receiptLines(order), ...ending].join('\n')
  await deps.send({ to, subject: `Your order of ${order.plan.name}`, text })
}

/** The link is kept before it is sent: one that nobody gets opens nothing for long, the next try replaces it. */
async function newLink(
  { shop, baseUrl, randomBytes }: ReceiptDeps,
  { id }: Purchase,
): Promise<string> {
  const link = makeSecretToken(randomBytes(32))
  await shop.saveClaimLink(id, secretHash(link))
  return `${baseUrl}/orders/${id}#${link}`
}

function receiptLines({ id, plan, mode, keyPrefix, paidUntil }: Purchase): string[] {
  return [
    'Thank you. Your payment has arrived.',
    '',
    `Plan:   ${plan.name}, ${plan.requests.toLocaleString('en')} requests`,
    `Price:  ${priceText(plan)} ${termText(plan)}`,
    ...(paidUntil ? [`Until:  ${utcTimestamp(paidUntil)} UTC`] : []),
    `Order:  ${id}`,
    `Key:    begins with ${keyPrefix}`,
    '',
    ...(mode === 'test' ? ['This was a test: no money has moved, and it is a test key.', ''] : []),
  ]
}

function linkLines(link: string): string[] {
  return [
    'The key itself is never mailed. This link shows it, one time:',
    '',
    link,
    '',
    'Have you seen your key already? Then leave the link alone: it would put a new key in the',
    'place of the one you have.',
    '',
  ]
}

function faultName(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : toError(error).name
}
// Limits: a receipt may come twice when we die, or lose the lease, between sending and noting it; the newer link is the good
// one. Failures are remembered by this process: after a restart the three days begin again.
