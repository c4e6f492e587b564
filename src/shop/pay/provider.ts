import type { KeyMode } from '../../keys/rules.ts'
import type { PaymentFacts, Purchase } from '../rules.ts'

/** Takes payments for keys. */
export interface PaymentProvider {
  provider: 'manual' | Purchase['provider']
  /** The kind of keys that its payments create. */
  mode: KeyMode
  /** Idempotent per order. Throws Problem if nothing is sold online. */
  createCheckout(order: CheckoutOrder): Promise<{ ref: string; url: string }>
  /** Undefined if the provider stores no payments of its own. */
  remote: RemoteProvider | undefined
}

export interface CheckoutOrder extends Pick<Purchase, 'id' | 'plan' | 'email'> {
  /** Our site, without a trailing slash: where the buyer returns to. */
  baseUrl: string
}

/** The API of an external provider, and the events it sends. */
export interface RemoteProvider {
  /** Verifies and reads a webhook. Throws Problem('invalid_parameter') unless the signature is valid and recent. */
  parseEvent(raw: Uint8Array, signature: string | undefined): Promise<PaymentEvent>
  /** The current state of the order at the provider. */
  fetchFacts(
    order: Pick<Purchase, 'id' | 'plan' | 'checkoutRef' | 'subscriptionRef'>,
  ): Promise<PaymentFacts>
  /** All events since then, oldest first. */
  missedEvents(since: Date): AsyncIterable<MissedEvent>
}

/** An event that may not have reached us. Finding its order may take a request: separate, so that one failure does not stop the others. */
export interface MissedEvent extends Pick<PaymentEvent, 'id' | 'type'> {
  resolve(): Promise<PaymentEvent>
}

export interface PaymentEvent {
  id: string
  type: string
  /** Identifies the order; undefined if the event changes none of ours. */
  hint: OrderHint | undefined
}

/** Tried in this order; each may be missing. They only select the order: what counts is then read from the provider. */
export interface OrderHint {
  checkoutRef: string | undefined
  subscriptionRef: string | undefined
  orderId: string | undefined
}
