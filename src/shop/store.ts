import {
  type AsyncMethods,
  type CreatedPage,
  type Operation,
  pageStart,
  query,
  type Value,
} from '../base/operation.ts'
import { addSecret, lockKey } from '../keys/store.ts'
import type { Plan } from '../shared/plan.ts'
import {
  type ClaimOutcome,
  claimOutcome,
  type Order,
  type OrderState,
  type Settlement,
} from './rules.ts'

const COLUMNS = `id, provider, mode, plan, email, claim_hash, link_hash, revision, state,
  created_at, checkout_ref, checkout_url, subscription_ref, key_id, key_prefix, payments, paid_until,
  partly_returned, claimed_at, receipt_at`

function select(rest: string, values: Value[]): Operation<OrderRow[]> {
  return query<OrderRow>(`select ${COLUMNS} from shop.purchase ${rest}`, values)
}

function* list(rest: string, values: Value[]): Operation<Order[]> {
  return (yield* select(rest, values)).map(storedOrder)
}

export const orderReads = {
  *readOrder(orderId: string): Operation<Order | undefined> {
    return (yield* list('where id = $1', [orderId]))[0]
  },
  /** For the buyer: only with the hash of the claim secret or of the one-time link. */
  *findOrderByClaim(orderId: string, claimHash: string): Operation<Order | undefined> {
    const [row] = yield* select('where id = $1', [orderId])
    return row && matchesClaim(row, claimHash) ? storedOrder(row) : undefined
  },
  /** By the provider's id of the checkout or the subscription. */
  *findOrderByRef(ref: string): Operation<Order | undefined> {
    return (yield* list('where checkout_ref = $1 or subscription_ref = $1', [ref]))[0]
  },
  /** Newest first. */
  listOrders: ({ limit, before }: CreatedPage): Operation<Order[]> =>
    list('where (created_at, id) < ($1, $2) order by created_at desc, id desc limit $3', [
      ...pageStart(before),
      limit,
    ]),
  /** Orders with a checkout that are not paid yet, created between the two times, oldest first. */
  listUnsettled: (
    {
      provider,
      mode,
      after,
      before,
    }: Pick<Order, 'provider' | 'mode'> & { after: Date; before: Date },
    limit: number,
  ): Operation<Order[]> =>
    // Written like the condition of the partial index, or neither engine would use it.
    list(
      `where state in ('open', 'pending') and checkout_ref is not null
         and provider = $1 and mode = $2 and created_at > $3 and created_at < $4
       order by created_at limit $5`,
      [provider, mode, after.getTime(), before.getTime(), limit],
    ),
  /** Paid orders with an email address whose receipt is due between the two times and not sent yet. */
  listReceiptsDue: (from: Date, until: Date, limit: number): Operation<Order[]> =>
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

export const orderWrites = {
  /** Stores the order. If one with the same idempotency hash exists, that one is returned and nothing is stored. */
  *addOrder(order: NewOrder): Operation<Order> {
    // An existing order is written unchanged, because only then is it returned.
    const [row] = yield* query<OrderRow>(
      `insert into shop.purchase as known (id, provider, mode, plan, email, claim_hash,
         idempotency_hash, created_at, key_id, key_prefix)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
       on conflict (idempotency_hash) do update set revision = known.revision
       returning ${COLUMNS}`,
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
    return storedOrder(row)
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

/** What payments change in orders and keys, by several statements. The order is locked first, then the key. */
export const orderTransactions = {
  /**
   * Applies a settlement to the order, its key and its counters, and records the event that caused it, in one commit. The first
   * payment creates the key; later ones reset its used requests. False, and nothing is changed, if the order has changed since `revision`.
   */
  *applySettlement(change: OrderChange): Operation<boolean> {
    const { orderId, revision, event } = change
    const [row] = yield* lockOrder(orderId)
    if (row?.revision !== revision) return false
    // The key first: its change depends on the number of payments that the order had before.
    const keyChanged = yield* changeKey(row, change)
    const orderChanged = yield* changeOrder(row, change)
    // Without a change the revision stays, so that a concurrent settlement need not start over.
    if (keyChanged || orderChanged) {
      yield* query('update shop.purchase set revision = revision + 1 where id = $1', [orderId])
    }
    if (event) yield* addEvent(event, orderId)
    return true
  },

  /** Replaces all secrets of the key. A one-time link is used up by it. */
  *claimKey(claim: KeyClaim): Operation<ClaimOutcome | 'unknown'> {
    const [row] = yield* lockOrder(claim.orderId)
    if (!row || !matchesClaim(row, claim.claimHash)) return 'unknown'
    const state = yield* lockKey(row.key_id)
    const outcome = claimOutcome(storedOrder(row), state === 'active', claim.now)
    if (outcome === 'claimed') yield* swapSecrets(row, claim)
    return outcome
  },
}

const lockOrder = (id: string) => select('where id = $1 for no key update', [id])

/** True if anything has changed. */
function* changeOrder(row: OrderRow, { settlement, now }: OrderChange): Operation<boolean> {
  const { state, subscriptionRef, payments, paidUntil, partlyRefunded } = settlement
  const isFirst = row.payments === 0 && payments > 0
  const receiptAt = isFirst && row.email !== null ? now.getTime() : null
  const changed = yield* query(
    `update shop.purchase set state = $2, subscription_ref = $3, payments = $4, paid_until = $5,
       partly_returned = $6, receipt_at = coalesce(receipt_at, $7)
     where id = $1 and (state, subscription_ref, payments, paid_until, partly_returned)
       is distinct from ($2, $3, $4, $5, $6)
     returning id`,
    [row.id, state, subscriptionRef, payments, paidUntil?.getTime(), partlyRefunded, receiptAt],
  )
  return changed.length === 1
}

/** True if anything has changed. */
function* changeKey(
  row: OrderRow,
  { settlement: { key, payments }, now }: OrderChange,
): Operation<boolean> {
  if (!key) return false
  const { keyId, keyPrefix, plan, payments: before } = storedOrder(row)
  yield* query(
    `insert into shop.api_key (id, prefix, plan, label, max_requests, max_per_day, max_domains, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict do nothing`,
    [
      ...[keyId, keyPrefix, plan.id, row.id, plan.requests, plan.perDay, plan.domains],
      now.getTime(),
    ],
  )
  if (payments > before && before > 0) {
    yield* query('update shop.api_key set used = 0, period = period + 1 where id = $1', [keyId])
  }
  // A key revoked by the operator stays revoked, whatever is paid or refunded.
  const changed = yield* query(
    `update shop.api_key set expires_at = $2, state = case state when 'revoked' then state else $3 end
     where id = $1 and (expires_at is distinct from $2 or state not in ('revoked', $3)) returning id`,
    [keyId, key.expiresAt?.getTime(), key.state],
  )
  return changed.length === 1
}

function* swapSecrets(row: OrderRow, { claimHash, secretHash, now }: KeyClaim): Operation<void> {
  yield* query('delete from shop.key_secret where key_id = $1', [row.key_id])
  yield* addSecret(row.key_id, secretHash)
  yield* query(
    `update shop.purchase set claimed_at = coalesce(claimed_at, $2),
       link_hash = case link_hash when $3 then null else link_hash end
     where id = $1`,
    [row.id, now.getTime(), claimHash],
  )
}

function* addEvent(event: RecordedEvent, orderId: string | null): Operation<void> {
  yield* query(
    `insert into shop.payment_event (id, type, order_id, received_at) values ($1, $2, $3, $4)
     on conflict do nothing`,
    [event.id, event.type, orderId, event.receivedAt.getTime()],
  )
}

interface OrderRow {
  id: string
  provider: Order['provider']
  mode: Order['mode']
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

function storedOrder(row: OrderRow): Order {
  return {
    id: row.id,
    provider: row.provider,
    mode: row.mode,
    // JSON omits what is undefined, and old orders have no domains.
    plan: { perDay: undefined, months: undefined, domains: 0, ...JSON.parse(row.plan) } as Plan,
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
    partlyRefunded: Boolean(row.partly_returned),
    claimedAt: row.claimed_at === null ? undefined : new Date(row.claimed_at),
  }
}

/** Whether this is the hash of the claim secret or of the mailed link. */
function matchesClaim(row: OrderRow, claimHash: string): boolean {
  return row.claim_hash === claimHash || row.link_hash === claimHash
}

type Given = 'id' | 'provider' | 'mode' | 'plan' | 'email' | 'createdAt' | 'keyId' | 'keyPrefix'

export interface NewOrder extends Pick<Order, Given> {
  claimHash: string
  /** SHA-256 of the Idempotency-Key and its sender; undefined if none was sent. */
  idempotencyHash: string | undefined
}

export interface OrderChange {
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
  /** SHA-256 of the claim secret or the one-time link. */
  claimHash: string
  secretHash: string
  now: Date
}

export interface OrderStore
  extends AsyncMethods<typeof orderReads & typeof orderWrites & typeof orderTransactions> {}
