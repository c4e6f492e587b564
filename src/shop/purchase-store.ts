import {
  type CreatedPage,
  type Operation,
  pageStart,
  query,
  type Value,
} from '../base/operation.ts'
import type { Plan } from '../shared/plan.ts'
import { CLAIM_MS, type OrderState, type Purchase, type Settlement } from './rules.ts'

export const PURCHASE_COLUMNS = `id, provider, mode, plan, email, claim_hash, link_hash, revision, state,
  created_at, checkout_ref, checkout_url, subscription_ref, key_id, key_prefix, payments, paid_until,
  partly_returned, claimed_at, receipt_at`

function select(rest: string, values: Value[]): Operation<PurchaseRow[]> {
  return query<PurchaseRow>(`select ${PURCHASE_COLUMNS} from shop.purchase ${rest}`, values)
}

function* list(rest: string, values: Value[]): Operation<Purchase[]> {
  return (yield* select(rest, values)).map(purchaseOf)
}

export const purchaseReads = {
  *readPurchase(orderId: string): Operation<Purchase | undefined> {
    return (yield* list('where id = $1', [orderId]))[0]
  },
  /** For the buyer: only with the hash of the claim secret or of the one-time link. */
  *findOrder(orderId: string, claimHash: string): Operation<Purchase | undefined> {
    const [row] = yield* select('where id = $1', [orderId])
    return row && matchesClaim(row, claimHash) ? purchaseOf(row) : undefined
  },
  /** By the provider's id of the checkout or the subscription. */
  *findPurchaseByRef(ref: string): Operation<Purchase | undefined> {
    return (yield* list('where checkout_ref = $1 or subscription_ref = $1', [ref]))[0]
  },
  /** Newest first. */
  listPurchases: ({ limit, before }: CreatedPage): Operation<Purchase[]> =>
    list('where (created_at, id) < ($1, $2) order by created_at desc, id desc limit $3', [
      ...pageStart(before),
      limit,
    ]),
  /** Orders with a checkout that are not paid yet, created between the two times, oldest first. */
  listUnsettled: (
    { provider, mode, after, before }: UnsettledOrders,
    limit: number,
  ): Operation<Purchase[]> =>
    // Written like the condition of the partial index, or neither engine would use it.
    list(
      `where state in ('open', 'pending') and checkout_ref is not null
         and provider = $1 and mode = $2 and created_at > $3 and created_at < $4
       order by created_at limit $5`,
      [provider, mode, after.getTime(), before.getTime(), limit],
    ),
  /** Paid orders with an email address whose receipt is due between the two times and not sent yet. */
  listReceiptsDue: (from: Date, until: Date, limit: number): Operation<Purchase[]> =>
    list('where receipt_at between $1 and $2 order by receipt_at limit $3', [
      from.getTime(),
      until.getTime(),
      limit,
    ]),
  /** True if the event has been settled, or recorded as irrelevant. */
  *hasEvent(eventId: string): Operation<boolean> {
    return (yield* query('select 1 from shop.payment_event where id = $1', [eventId])).length === 1
  },
  /** Up to when missed events have been fetched from the provider. */
  *readReconciled(provider: string): Operation<Date | undefined> {
    const [row] = yield* query<{ until: number }>(
      'select until from shop.reconciled where provider = $1',
      [provider],
    )
    return row && new Date(row.until)
  },
}

export const purchaseWrites = {
  /** Stores the order. If one with the same idempotency hash exists, that one is returned and nothing is stored. */
  *addPurchase(order: NewPurchase): Operation<Purchase> {
    // An existing order is written unchanged, because only then is it returned.
    const [row] = yield* query<PurchaseRow>(
      `insert into shop.purchase as known (id, provider, mode, plan, email, claim_hash,
         idempotency_hash, created_at, key_id, key_prefix)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
       on conflict (idempotency_hash) do update set revision = known.revision
       returning ${PURCHASE_COLUMNS}`,
      [
        order.id,
        order.provider,
        order.mode,
        JSON.stringify(order.plan),
        order.email,
        order.claimHash,
        order.idempotencyHash,
        order.createdAt.getTime(),
        order.keyId,
        order.keyPrefix,
      ],
    )
    if (!row) throw new Error('the order was not stored')
    return purchaseOf(row)
  },
  *saveCheckout(orderId: string, { ref, url }: { ref: string; url: string }): Operation<void> {
    yield* query('update shop.purchase set checkout_ref = $2, checkout_url = $3 where id = $1', [
      orderId,
      ref,
      url,
    ])
  },
  /** Replaces the one-time link, before it is sent. */
  *saveClaimLink(orderId: string, linkHash: string): Operation<void> {
    yield* query('update shop.purchase set link_hash = $2 where id = $1', [orderId, linkHash])
  },
  /** `retryAt` is undefined once the receipt was sent or given up. */
  *rescheduleReceipt(orderId: string, retryAt: Date | undefined): Operation<void> {
    const time = retryAt?.getTime()
    yield* query('update shop.purchase set receipt_at = $2 where id = $1', [orderId, time])
  },
  /** For events that do not change an order. */
  recordEvent: (event: RecordedEvent): Operation<void> => addEvent(event, null),
  *saveReconciled(provider: string, time: Date): Operation<void> {
    yield* query(
      `insert into shop.reconciled (provider, until) values ($1, $2)
       on conflict (provider) do update set until = excluded.until`,
      [provider, time.getTime()],
    )
  },
}

export function* addEvent(event: RecordedEvent, orderId: string | null): Operation<void> {
  yield* query(
    `insert into shop.payment_event (id, type, order_id, received_at) values ($1, $2, $3, $4)
     on conflict do nothing`,
    [event.id, event.type, orderId, event.receivedAt.getTime()],
  )
}

export interface PurchaseRow {
  id: string
  provider: Purchase['provider']
  mode: Purchase['mode']
  plan: string
  email: string | null
  claim_hash: string
  link_hash: string | null
  revision: number
  state: OrderState
  created_at: number
  checkout_ref: string | null
  checkout_url: string | null
  subscription_ref: string | null
  key_id: string
  key_prefix: string
  payments: number
  paid_until: number | null
  partly_returned: boolean | number
  claimed_at: number | null
  receipt_at: number | null
}

export function purchaseOf(row: PurchaseRow): Purchase {
  return {
    id: row.id,
    provider: row.provider,
    mode: row.mode,
    plan: planOf(row.plan),
    email: row.email ?? undefined,
    revision: row.revision,
    state: row.state,
    createdAt: new Date(row.created_at),
    checkoutRef: row.checkout_ref ?? undefined,
    checkoutUrl: row.checkout_url ?? undefined,
    subscriptionRef: row.subscription_ref ?? undefined,
    keyId: row.key_id,
    keyPrefix: row.key_prefix,
    payments: row.payments,
    paidUntil: row.paid_until === null ? undefined : new Date(row.paid_until),
    partlyReturned: Boolean(row.partly_returned),
    claimedAt: row.claimed_at === null ? undefined : new Date(row.claimed_at),
  }
}

/** Whether this is the hash of the claim secret or of the mailed link. */
export function matchesClaim(row: PurchaseRow, claimHash: string): boolean {
  return row.claim_hash === claimHash || row.link_hash === claimHash
}

export function claimOutcome(
  row: PurchaseRow | undefined,
  isLive: boolean | undefined,
  { claimHash, now }: KeyClaim,
): ClaimOutcome {
  if (!row || !matchesClaim(row, claimHash)) return 'unknown'
  if (row.payments === 0) return 'unpaid'
  if (row.state !== 'paid' || !isLive) return 'stopped'
  if (row.claimed_at !== null && row.claimed_at + CLAIM_MS <= now.getTime()) return 'over'
  return 'claimed'
}

export interface NewPurchase
  extends Pick<
    Purchase,
    'id' | 'provider' | 'mode' | 'plan' | 'email' | 'createdAt' | 'keyId' | 'keyPrefix'
  > {
  claimHash: string
  /** Of the Idempotency-Key and its sender; undefined if none was sent. */
  idempotencyHash: string | undefined
}

export type UnsettledOrders = Pick<Purchase, 'provider' | 'mode'> & { after: Date; before: Date }

export interface PurchaseChange {
  orderId: string
  /** As read before the provider was queried. */
  revision: number
  settlement: Settlement
  event: RecordedEvent | undefined
  now: Date
}

/** A webhook event of a payment provider. */
export interface RecordedEvent {
  id: string
  type: string
  receivedAt: Date
}

export interface KeyClaim {
  orderId: string
  /** Of the claim secret or the one-time link. */
  claimHash: string
  secretHash: string
  now: Date
}

/** stopped: the payment was refunded or is disputed, or the key was revoked. over: the key was first shown too long ago. */
export type ClaimOutcome = 'claimed' | 'unknown' | 'unpaid' | 'stopped' | 'over'

/** JSON omits undefined fields; restore them. */
export function planOf(text: string): Plan {
  const plan = JSON.parse(text) as Plan
  return { ...plan, perDay: plan.perDay, months: plan.months }
}
