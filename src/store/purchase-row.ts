import type { Plan } from '../core/plan.ts'
import { CLAIM_MS, type OrderState, type Purchase } from '../core/purchase.ts'
import type { ClaimOutcome, KeyClaim } from './shop-store.ts'

/** An order as each engine keeps it. */
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

/** JSON leaves out what is undefined; the fields must be there all the same. */
function planOf(text: string): Plan {
  const plan = JSON.parse(text) as Plan
  return { ...plan, perDay: plan.perDay, months: plan.months }
}

/** Whether this is the hash of the claim secret or of the link that was mailed. */
export function opens(row: PurchaseRow, claimHash: string): boolean {
  return row.claim_hash === claimHash || row.link_hash === claimHash
}

/** What becomes of a claim, where the key's state is known too. */
export function claimOutcome(
  row: PurchaseRow | undefined,
  isLive: boolean | undefined,
  { claimHash, now }: KeyClaim,
): ClaimOutcome {
  if (!row || !opens(row, claimHash)) return 'unknown'
  if (row.payments === 0) return 'unpaid'
  if (row.state !== 'paid' || !isLive) return 'stopped'
  if (row.claimed_at !== null && row.claimed_at + CLAIM_MS <= now.getTime()) return 'over'
  return 'claimed'
}
