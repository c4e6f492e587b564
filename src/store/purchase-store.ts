import type { Purchase, Settlement } from '../core/purchase.ts'

/** Orders, and how they came to be paid: the part of the shop that payment providers speak to. */
export interface PurchaseStore {
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
  keepCheckout(orderId: string, checkout: { ref: string; url: string }): Promise<void>
  /**
   * Makes the order, its key and its counters what the settlement says, and notes the event that told us, all in one commit. The key is made by the first
   * payment; a further one sets its used requests to 0. False, and nothing is done, when the order has changed since `revision`.
   */
  settlePurchase(change: PurchaseChange): Promise<boolean>
  /** Puts a new secret in the place of all former ones. A one-time link is used up by it. */
  claimKey(claim: KeyClaim): Promise<ClaimOutcome>
  /** True when an event of this id was settled, or noted as none of ours. */
  knowsEvent(eventId: string): Promise<boolean>
  /** For events that change no order. */
  noteEvent(event: PaymentEvent): Promise<void>
  /** Up to when the provider was asked for what we missed. */
  readReconciled(provider: string): Promise<Date | undefined>
  keepReconciled(provider: string, until: Date): Promise<void>

  /** Paid orders whose buyer gave an e-mail address and has not been sent the receipt, due between these two times. */
  listReceiptsDue(from: Date, until: Date, limit: number): Promise<Purchase[]>
  /** Puts a new one-time link in the place of a former one, before it is sent. */
  keepClaimLink(orderId: string, linkHash: string): Promise<void>
  /** `again`: when to try once more; undefined: never, it was sent or given up. */
  endReceipt(orderId: string, again: Date | undefined): Promise<void>
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
  event: PaymentEvent | undefined
  now: Date
}

/** A message of a payment provider. */
export interface PaymentEvent {
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
