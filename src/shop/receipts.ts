import { makeSecretToken, secretHash } from '../base/id.ts'
import { repeatUntilAborted } from '../base/jobs/repeat.ts'
import { toError } from '../base/problem.ts'
import { utcTimestamp } from '../base/time.ts'
import { priceText, termText } from '../shared/plan.ts'
import type { ShopDeps } from './deps.ts'
import { viewOrder } from './order.ts'
import type { Order } from './rules.ts'

export interface ReceiptDeps
  extends Pick<ShopDeps, 'shop' | 'pay' | 'now' | 'randomBytes' | 'log'> {
  /** Resolves when a mail server has accepted it. */
  send(mail: { to: string; subject: string; text: string }): Promise<void>
  /** Base of the link, without a trailing slash. */
  baseUrl: string
}

const INTERVAL_MS = 5_000
const BATCH_SIZE = 20
const MIN_RETRY_MS = 60_000
const MAX_RETRY_MS = 6 * 3_600_000
const GIVE_UP_MS = 3 * 86_400_000

export async function runReceipts(deps: ReceiptDeps, ended: AbortSignal): Promise<void> {
  const sendDue = receiptSender(deps)
  await repeatUntilAborted(ended, {
    operation: () => sendDue(ended),
    failed: 'reading due receipts failed; retrying',
    intervalMs: INTERVAL_MS,
    maxIntervalMs: MIN_RETRY_MS,
    log: deps.log,
  })
}

/** Returns a function that sends the receipts due now. The time between attempts for an order doubles with each failure. */
export function receiptSender(deps: ReceiptDeps): (ended?: AbortSignal) => Promise<void> {
  const failing = new Map<string, Date>()

  async function send(order: Order, to: string): Promise<void> {
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
      // Not the error itself: a reply of a mail server may contain the buyer's address.
      const facts = { orderId: order.id, fault: faultName(error) }
      log.warn(facts, again ? 'sending a receipt failed; retrying' : 'gave up sending a receipt')
      await shop.rescheduleReceipt(order.id, again)
    }
  }

  return async (ended) => {
    const now = deps.now()
    // Not receipts that are days overdue, because no mail server was configured or the service was down.
    const from = new Date(now.getTime() - GIVE_UP_MS)
    for (const order of await deps.shop.listReceiptsDue(from, now, BATCH_SIZE)) {
      if (ended?.aborted) return
      // An order refunded meanwhile gets no receipt.
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

async function sendOne(deps: ReceiptDeps, order: Order, to: string): Promise<void> {
  const { claimable, next } = await viewOrder(deps, order)
  const ending = claimable
    ? linkLines(await newLink(deps, order))
    : ['The key itself is never sent by email.', next, '']
  const text = [...receiptLines(order), ...ending].join('\n')
  await deps.send({ to, subject: `Your order: ${order.plan.name}`, text })
}

/** Stored before it is sent; the next attempt replaces a link that was not delivered. */
async function newLink(
  { shop, baseUrl, randomBytes }: ReceiptDeps,
  { id }: Order,
): Promise<string> {
  const link = makeSecretToken(randomBytes(32))
  await shop.saveClaimLink(id, secretHash(link))
  return `${baseUrl}/orders/${id}#${link}`
}

function receiptLines({ id, plan, mode, keyPrefix, paidUntil }: Order): string[] {
  return [
    'Thank you for your payment.',
    '',
    `Plan:   ${plan.name}, ${plan.requests.toLocaleString('en')} requests`,
    `Price:  ${priceText(plan)} ${termText(plan)}`,
    ...(paidUntil ? [`Until:  ${utcTimestamp(paidUntil)} UTC`] : []),
    `Order:  ${id}`,
    `Key:    starts with ${keyPrefix}`,
    '',
    ...(mode === 'test'
      ? ['This was a test order: no money was charged, and the key is a test key.', '']
      : []),
  ]
}

function linkLines(link: string): string[] {
  return [
    'The key itself is never sent by email. This link shows it once:',
    '',
    link,
    '',
    'If you already have your key, do not use the link: it would replace your key with a new',
    'one.',
    '',
  ]
}

function faultName(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : toError(error).name
}
// Known limits: a receipt may be sent twice if the process dies or loses the lease between sending and recording it; the newer
// link is the valid one. Failures are kept in memory: after a restart, the three days start again.
