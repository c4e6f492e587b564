import type { ApiKey } from '../keys/rules.ts'
import type { Purchase, Settlement } from '../shop/rules.ts'
import type { CreatedPage, WebhookStore } from '../webhooks/store.ts'

/** Keys, orders, usage, webhooks, and sign-ins to the admin page. */
export interface ShopStore extends WebhookStore {
  addKey(key: NewKey): Promise<void>
  /** By the hash of a valid secret. */
  findKey(secretHash: string, now: Date): Promise<ApiKey | undefined>
  readKey(keyId: string, now: Date): Promise<ApiKey | undefined>
  /** Newest first. */
  listKeys(query: KeyQuery): Promise<ApiKey[]>
  /** Adds a secret; the old one is valid until `oldUntil`, any before that is deleted. Refused if the key does not exist or is revoked. */
  rollKey(roll: KeyRoll): Promise<KeyRollResult>
  /** No request that starts afterwards is accepted. False if there is no such key. */
  revokeKey(keyId: string): Promise<boolean>
  labelKey(keyId: string, label: string): Promise<boolean>
  /** Charges one request in a single statement; undefined if none is left. */
  spendRequest(keyId: string, now: Date): Promise<Spent | undefined>
  /** Refunds one request, after an error of ours, to the day and period it was charged to. */
  returnRequest(keyId: string, from: SpentFrom): Promise<void>
  /** Requests by UTC day, oldest first, from that day on; days without any are left out. */
  readUsage(keyId: string, fromDay: number): Promise<UsageDay[]>

  /** Stores the order. If one with the same idempotency hash exists, that one is returned and nothing is stored. */
  addPurchase(purchase: NewPurchase): Promise<Purchase>
  readPurchase(orderId: string): Promise<Purchase | undefined>
  /** For the buyer: only with the hash of the claim secret or of the one-time link. */
  findOrder(orderId: string, claimHash: string): Promise<Purchase | undefined>
  /** By the provider's id of the checkout or the subscription. */
  findPurchaseByRef(ref: string): Promise<Purchase | undefined>
  /** Newest first. */
  listPurchases(page: CreatedPage): Promise<Purchase[]>
  /** Orders with a checkout that are not paid yet, created between the two times, oldest first. */
  listUnsettled(wanted: UnsettledOrders, limit: number): Promise<Purchase[]>
  saveCheckout(orderId: string, checkout: { ref: string; url: string }): Promise<void>
  /**
   * Applies a settlement to the order, its key and its counters, and records the event that caused it, in one commit. The first
   * payment creates the key; later ones reset its used requests. False, and nothing is changed, if the order has changed since `revision`.
   */
  settlePurchase(change: PurchaseChange): Promise<boolean>
  /** Replaces all secrets of the key. A one-time link is used up by it. */
  claimKey(claim: KeyClaim): Promise<ClaimOutcome>
  /** True if the event has been settled, or recorded as irrelevant. */
  hasEvent(eventId: string): Promise<boolean>
  /** For events that do not change an order. */
  recordEvent(event: RecordedEvent): Promise<void>
  /** Up to when missed events have been fetched from the provider. */
  readReconciled(provider: string): Promise<Date | undefined>
  saveReconciled(provider: string, until: Date): Promise<void>

  /** Paid orders with an email address whose receipt is due between the two times and not sent yet. */
  listReceiptsDue(from: Date, until: Date, limit: number): Promise<Purchase[]>
  /** Replaces the one-time link, before it is sent. */
  saveClaimLink(orderId: string, linkHash: string): Promise<void>
  /** `retryAt` is undefined once the receipt was sent or given up. */
  rescheduleReceipt(orderId: string, retryAt: Date | undefined): Promise<void>

  /** Deletes old unpaid orders, payment events and usage, in one small step. True if there may be more. */
  sweepShop(now: Date): Promise<boolean>

  addAdminSession(session: AdminSession): Promise<void>
  /** Whether it exists and has not expired. */
  hasAdminSession(hash: string, now: Date): Promise<boolean>
  deleteAdminSession(hash: string): Promise<void>

  /** Random bytes of this installation: the first that were ever passed. */
  installationSecret(fresh: Uint8Array): Promise<Uint8Array>
  /** Whether a service has used this shop: it has a secret, or requests were counted. */
  hasServed(): Promise<boolean>
  /** When a key or order was created or, to the day, used last. */
  newestTime(): Promise<Date | undefined>
  close(): Promise<void>
}

export interface KeyQuery extends CreatedPage {
  now: Date
  /** Only keys with this prefix, or with this text in their label, ignoring case: on SQLite, of ASCII letters only. */
  text?: string | undefined
}

/** A sign-in to the admin page. */
export interface AdminSession {
  /** Of its cookie. */
  hash: string
  expiresAt: Date
}

export interface NewKey {
  /** Random, never reused. */
  id: string
  prefix: string
  secretHash: string
  plan: string
  label: string
  maxRequests: number
  maxPerDay: number | undefined
  createdAt: Date
  expiresAt: Date | undefined
}

/** What a request was counted against. */
export interface SpentFrom {
  /** May be later than the clock's, if that has stepped back. */
  day: number
  /** Incremented by each renewal, which resets the total. */
  period: number
}

/** A key after a request was charged to it. */
export interface Spent extends ApiKey, SpentFrom {}

export interface KeyRoll {
  keyId: string
  secretHash: string
  oldUntil: Date
  /** The holder's secret: must be the current one, and no old one may be valid at `now`. Undefined: rolled by the operator. */
  presented?: { hash: string; now: Date }
}

export interface KeyRollResult {
  rolled: boolean
  /** Until then the old secret is valid, and a holder cannot roll the key again. */
  oldSecretUntil?: Date
}

export interface UsageDay {
  /** In days since 1970, as keys/rules.ts counts them. */
  day: number
  count: number
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
