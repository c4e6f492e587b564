import type { ApiKey } from '../core/key.ts'
import type { Purchase, Settlement } from '../core/purchase.ts'

/** Keys, what was bought and what was used. */
export interface ShopStore extends PurchaseStore {
  addKey(key: NewKey): Promise<void>
  /** By the hash of a secret that has not ended. */
  findKey(secretHash: string, now: Date): Promise<ApiKey | undefined>
  readKey(keyId: string, now: Date): Promise<ApiKey | undefined>
  /** The newest first. */
  listKeys(now: Date): Promise<ApiKey[]>
  /** Adds a secret; the former one lives until `oldUntil`, any before that ends. Refused if there is no such key or it is revoked. */
  rollKey(roll: KeyRoll): Promise<KeyRollResult>
  /** At once: no request that starts afterwards passes. False when there is no such key. */
  revokeKey(keyId: string): Promise<boolean>
  labelKey(keyId: string, label: string): Promise<boolean>
  /** Takes one request in a single statement; undefined when none is left. */
  spendRequest(keyId: string, now: Date): Promise<Spent | undefined>
  /** Gives back one request, after a fault of ours, to the day and the period that it was taken from. */
  returnRequest(keyId: string, from: SpentFrom): Promise<void>
  /** Requests by UTC day, oldest first, from that day on; days without any are left out. */
  readUsage(keyId: string, fromDay: number): Promise<UsageDay[]>

  /** Clears away, in one small step, what nobody needs any more: orders that were never paid, messages, days of use, all long ago. True when there may be more. */
  sweepShop(now: Date): Promise<boolean>
  /** Random bytes that stay with this shop: the first that were ever given. */
  installationSecret(fresh: Uint8Array): Promise<Uint8Array>
  close(): Promise<void>
}

export interface NewKey {
  /** Random, never used again. */
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
  /** Not the clock's, where that has stepped back. */
  day: number
  /** Rises with each renewal, which starts the count in all anew. */
  period: number
}

/** A key of which a request was taken. */
export interface Spent extends ApiKey, SpentFrom {}

export interface KeyRoll {
  keyId: string
  secretHash: string
  oldUntil: Date
  /** The holder's secret: must be the current one, and no former one may still be alive at `now`. Undefined: the operator's roll. */
  presented?: { hash: string; now: Date }
}

export interface KeyRollResult {
  rolled: boolean
  /** Until then the former secret works, and a holder cannot roll the key again. */
  oldSecretUntil?: Date
}

export interface UsageDay {
  /** In days since 1970, as core/key.ts counts them. */
  day: number
  count: number
}

/** Orders, and how they came to be paid: the part of the shop that payment providers speak to. */
interface PurchaseStore {
  /** Keeps the order. One of the same idempotency hash is there already: that one is the answer, and nothing is kept. */
  addPurchase(purchase: NewPurchase): Promise<Purchase>
  readPurchase(orderId: string): Promise<Purchase | undefined>
  /** As the buyer asks: only with the hash of the claim secret, or of the one-time link. */
  findOrder(orderId: string, claimHash: string): Promise<Purchase | undefined>
  /** By the provider's name for its checkout or its subscription. */
  findPurchaseByRef(ref: string): Promise<Purchase | undefined>
  /** The newest first. */
  listPurchases(limit: number): Promise<Purchase[]>
  /** Orders with a checkout that wait for their money, made between the two times, the oldest first. */
  listUnsettled(wanted: UnsettledOrders, limit: number): Promise<Purchase[]>
  saveCheckout(orderId: string, checkout: { ref: string; url: string }): Promise<void>
  /**
   * Makes the order, its key and its counters what the settlement says, and notes the event that told us, all in one commit. The key is made by the first
   * payment; a further one sets its used requests to 0. False, and nothing is done, when the order has changed since `revision`.
   */
  settlePurchase(change: PurchaseChange): Promise<boolean>
  /** Puts a new secret in the place of all former ones. A one-time link is used up by it. */
  claimKey(claim: KeyClaim): Promise<ClaimOutcome>
  /** True when an event of this id was settled, or noted as none of ours. */
  hasEvent(eventId: string): Promise<boolean>
  /** For events that change no order. */
  recordEvent(event: RecordedEvent): Promise<void>
  /** Up to when the provider was asked for what we missed. */
  readReconciled(provider: string): Promise<Date | undefined>
  saveReconciled(provider: string, until: Date): Promise<void>

  /** Paid orders whose buyer gave an e-mail address and has not been sent the receipt, due between these two times. */
  listReceiptsDue(from: Date, until: Date, limit: number): Promise<Purchase[]>
  /** Puts a new one-time link in the place of a former one, before it is sent. */
  saveClaimLink(orderId: string, linkHash: string): Promise<void>
  /** `again`: when to try once more; undefined: never, it was sent or given up. */
  rescheduleReceipt(orderId: string, again: Date | undefined): Promise<void>
}

export interface NewPurchase
  extends Pick<
    Purchase,
    'id' | 'provider' | 'mode' | 'plan' | 'email' | 'createdAt' | 'keyId' | 'keyPrefix'
  > {
  claimHash: string
  /** Of the Idempotency-Key and whoever sent it; undefined when none was sent. */
  idempotencyHash: string | undefined
}

export type UnsettledOrders = Pick<Purchase, 'provider' | 'mode'> & { after: Date; before: Date }

export interface PurchaseChange {
  orderId: string
  /** The one that was read before the provider was asked. */
  revision: number
  settlement: Settlement
  event: RecordedEvent | undefined
  now: Date
}

/** A message of a payment provider. */
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

/** stopped: the money was returned or is disputed, or the key was revoked. over: the key was first shown too long ago to mint it anew. */
export type ClaimOutcome = 'claimed' | 'unknown' | 'unpaid' | 'stopped' | 'over'
