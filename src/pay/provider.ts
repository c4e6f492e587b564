import type { KeyMode } from '../core/key.ts'
import type { PaymentFacts, Purchase } from '../core/purchase.ts'

/** How this site is paid. */
export interface PaymentProvider {
  provider: 'manual' | Purchase['provider']
  /** What kind of keys its payments give. */
  mode: KeyMode
  /** Opens the provider's checkout. Asked again for the same order it answers the same. Throws Problem when nothing is sold online. */
  open(order: CheckoutOrder): Promise<{ ref: string; url: string }>
  /** What the provider remembers of orders; undefined where it has no memory of its own. */
  book: RemoteProvider | undefined
}

export interface CheckoutOrder extends Pick<Purchase, 'id' | 'plan' | 'email'> {
  /** Of our site, without a slash at the end: where the buyer comes back to. */
  baseUrl: string
}

/** A provider that is elsewhere, sends us messages, and can be asked. */
export interface RemoteProvider {
  /** Reads a message. Throws Problem('invalid_parameter') unless it is the provider's own, as it was sent, and fresh. */
  parseEvent(raw: Uint8Array, signature: string | undefined): Promise<PaymentEvent>
  /** All that the provider knows of the order at this moment. */
  fetchFacts(
    order: Pick<Purchase, 'id' | 'plan' | 'checkoutRef' | 'subscriptionRef'>,
  ): Promise<PaymentFacts>
  /** What it had to tell since then, oldest first. */
  missedEvents(since: Date): AsyncIterable<MissedEvent>
}

/** A message that may have been missed. Whom it is about may have to be asked: apart, so that one which fails stops no other. */
export interface MissedEvent extends Pick<PaymentEvent, 'id' | 'type'> {
  resolve(): Promise<PaymentEvent>
}

export interface PaymentEvent {
  id: string
  type: string
  /** Which order it is about; undefined: none of ours, or nothing that changes one. */
  hint: OrderHint | undefined
}

/** Any of these may be missing; they are tried in this order. An order id is the buyer's side's word: the provider is asked before it counts. */
export interface OrderHint {
  checkoutRef: string | undefined
  subscriptionRef: string | undefined
  orderId: string | undefined
}
