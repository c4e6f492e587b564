import type { AdminSession } from '../admin/session-store.ts'
import type { CreatedPage } from '../base/operation.ts'
import type { ApiKey } from '../keys/rules.ts'
import type {
  KeyQuery,
  KeyRoll,
  KeyRollResult,
  NewKey,
  Spent,
  SpentFrom,
  UsageDay,
} from '../keys/store.ts'
import type {
  ClaimOutcome,
  KeyClaim,
  NewPurchase,
  PurchaseChange,
  RecordedEvent,
  UnsettledOrders,
} from '../shop/purchase-store.ts'
import type { Purchase } from '../shop/rules.ts'
import type { WebhookStore } from '../webhooks/store.ts'

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
