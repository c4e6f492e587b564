import type { KeyMode } from '../../keys/rules.ts'
import type { Order, PaymentFacts } from '../rules.ts'

/** Takes payments for keys. */
export interface PaymentProvider {
  provider: 'manual' | Order['provider']
  /** The kind of keys that its payments create. */
  mode: KeyMode
  /** Idempotent per order. Throws Problem if nothing is sold online. */
  createCheckout(order: CheckoutOrder): Promise<{ ref: string; url: string }>
  /** Undefined if the provider stores no payments of its own. */
  remote: RemoteProvider | undefined
}

export interface CheckoutOrder extends Pick<Order, 'id' | 'plan' | 'email'> {
  /** Our site, without a trailing slash: where the buyer returns to. */
  baseUrl: string
}

/** The API of an external provider, and the events it sends. */
export interface RemoteProvider {
  /** Verifies and reads a webhook. Throws Problem('invalid_parameter') unless the signature is valid and recent. */
  parseEvent(raw: Uint8Array, signature: string | undefined): Promise<PaymentEvent>
  /** The current state of the order at the provider. */
  fetchFacts(
    order: Pick<Order, 'id' | 'plan' | 'checkoutRef' | 'subscriptionRef'>,
  ): Promise<PaymentFacts>
  /** All events since then, oldest first. */
  missedEvents(since: Date): AsyncIterable<PaymentEvent>
}

/** Says that something has changed; what, is then read from the provider. */
export interface PaymentEvent {
  id: string
  type: string
  /** Undefined if the event changes no order of ours. May take a request, so it is called for new events only. */
  findRefs(): Promise<OrderRefs | undefined>
}

/** What an event names of its order; each may be missing. */
export interface OrderRefs {
  checkoutRef: string | undefined
  subscriptionRef: string | undefined
  orderId: string | undefined
}
