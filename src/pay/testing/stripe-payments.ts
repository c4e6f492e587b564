import type { Ledger } from './stripe-ledger.ts'
import type { Charge, PaymentIntent } from './stripe-shapes.ts'

/** How far an attempt to take money got. */
export type Attempt = 'succeeded' | 'processing' | 'failed'

/** A payment intent with its first charge. */
export function openIntent(
  ledger: Ledger,
  { amount, currency }: { amount: number; currency: string },
  metadata: Record<string, string>,
): PaymentIntent {
  return ledger.add<PaymentIntent>({
    id: ledger.makeId('pi'),
    object: 'payment_intent',
    amount,
    amount_received: 0,
    created: ledger.seconds(),
    currency,
    latest_charge: null,
    livemode: ledger.live,
    metadata,
    status: 'requires_payment_method',
  })
}

/** Tries to take the money; an attempt that is under way goes on with its charge. */
export function attempt(ledger: Ledger, intent: PaymentIntent, outcome: Attempt): void {
  const underWay = intent.status === 'processing' && intent.latest_charge
  const charge = underWay
    ? ledger.get('charge', intent.latest_charge)
    : ledger.add(newCharge(ledger, intent))
  intent.latest_charge = charge.id
  charge.paid = outcome === 'succeeded'
  charge.captured = outcome === 'succeeded'
  charge.amount_captured = outcome === 'succeeded' ? charge.amount : 0
  charge.status = outcome === 'processing' ? 'pending' : outcome
  intent.amount_received = outcome === 'succeeded' ? intent.amount : 0
  intent.status = outcome === 'failed' ? 'requires_payment_method' : outcome
  // Nobody here listens to these two; Stripe sends them all the same when an endpoint asks for everything.
  ledger.tell(`charge.${charge.status}`, charge)
  ledger.tell(EVENT[outcome], intent)
}

const EVENT = {
  succeeded: 'payment_intent.succeeded',
  processing: 'payment_intent.processing',
  failed: 'payment_intent.payment_failed',
} as const satisfies Record<Attempt, string>

function newCharge(ledger: Ledger, intent: PaymentIntent): Charge {
  return {
    id: ledger.makeId('ch'),
    object: 'charge',
    amount: intent.amount,
    amount_captured: 0,
    amount_refunded: 0,
    captured: false,
    created: ledger.seconds(),
    currency: intent.currency,
    disputed: false,
    livemode: ledger.live,
    // Stripe copies the intent's metadata when it charges.
    metadata: { ...intent.metadata },
    paid: false,
    payment_intent: intent.id,
    refunded: false,
    status: 'pending',
  }
}

/** Gives money back, all that is left of it unless told; returns the refund's id. */
export function refund(ledger: Ledger, chargeId: string, amount?: number): string {
  const charge = ledger.get('charge', chargeId)
  const back = amount ?? charge.amount - charge.amount_refunded
  const made = ledger.add({
    id: ledger.makeId('re'),
    object: 'refund' as const,
    amount: back,
    charge: charge.id,
    created: ledger.seconds(),
    currency: charge.currency,
    metadata: {},
    payment_intent: charge.payment_intent,
    status: 'succeeded',
  })
  charge.amount_refunded += back
  charge.refunded = charge.amount_refunded >= charge.amount
  ledger.tell('refund.created', made)
  ledger.tell('charge.refunded', charge)
  return made.id
}

/** The buyer's bank did not take the money back: it is ours again. */
export function failRefund(ledger: Ledger, refundId: string): void {
  const failed = ledger.get('refund', refundId)
  const charge = ledger.get('charge', failed.charge)
  failed.status = 'failed'
  charge.amount_refunded -= failed.amount
  charge.refunded = false
  ledger.tell('refund.updated', failed)
  ledger.tell('refund.failed', failed)
}

/** The buyer's bank asks for the money back; `warning_needs_response` is only a question. Returns the dispute's id. */
export function dispute(ledger: Ledger, chargeId: string, status = 'needs_response'): string {
  const charge = ledger.get('charge', chargeId)
  charge.disputed = true
  const made = ledger.add({
    id: ledger.makeId('du'),
    object: 'dispute' as const,
    amount: charge.amount,
    charge: charge.id,
    created: ledger.seconds(),
    currency: charge.currency,
    livemode: ledger.live,
    metadata: {},
    payment_intent: charge.payment_intent,
    reason: 'fraudulent',
    status,
  })
  ledger.tell('charge.dispute.created', made)
  if (status === 'needs_response') ledger.tell('charge.dispute.funds_withdrawn', made)
  return made.id
}

/** Moves a dispute on; `won`, `lost` and `warning_closed` end it. */
export function moveDispute(ledger: Ledger, disputeId: string, status: string): void {
  const moved = ledger.get('dispute', disputeId)
  moved.status = status
  const closed = ['won', 'lost', 'warning_closed'].includes(status)
  ledger.tell(closed ? 'charge.dispute.closed' : 'charge.dispute.updated', moved)
  if (status === 'won') ledger.tell('charge.dispute.funds_reinstated', moved)
}
