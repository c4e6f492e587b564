import type { Stripe } from 'stripe'
import type { Plan } from '../core/plan.ts'
import type { Payment } from '../core/purchase.ts'

/** Money that was asked for, and what became of it. */
export interface Taking {
  ref: string
  status: Stripe.PaymentIntent.Status
  received: number
  currency: string
  charge: Pick<Stripe.Charge, 'amount_refunded' | 'created' | 'disputed' | 'refunded'> | undefined
  disputes: readonly Stripe.Dispute.Status[]
}

export type Invoice = Pick<
  Stripe.Invoice,
  'id' | 'amount_paid' | 'billing_reason' | 'created' | 'currency' | 'status' | 'status_transitions'
> & { id: string }

/** An invoice of the purchase or of a renewal. Others are the operator's own, or settle a change of plan. */
export function isBill({ billing_reason }: Pick<Invoice, 'billing_reason'>): boolean {
  return billing_reason === 'subscription_create' || billing_reason === 'subscription_cycle'
}

/** A bill that was paid in full. */
export function isSale(plan: Plan, invoice: Invoice): boolean {
  return (
    isBill(invoice) &&
    invoice.status === 'paid' &&
    isEnough(plan, invoice.amount_paid, invoice.currency)
  )
}

/** Whether this is the plan's price; more may be, such as with a tax on top. */
export function isEnough(plan: Plan, amount: number | null, currency: string | null): boolean {
  return amount !== null && amount >= plan.priceCents && currency === plan.currency
}

export function returnedOf(takings: readonly Taking[]): Payment['returned'] {
  const charges = takings.flatMap(({ charge }) => charge ?? [])
  if (charges.length > 0 && charges.every(({ refunded }) => refunded)) return 'fully'
  return charges.some(({ amount_refunded }) => amount_refunded > 0) ? 'partly' : 'no'
}

/** A question of the bank (`warning_…`) has moved no money; neither has one that was won or prevented, in the end. */
const HARMLESS = /^(?:warning_.*|won|prevented)$/

export function disputedOf(takings: readonly Taking[]): Payment['disputed'] {
  const disputes = takings.flatMap((taking) => taking.disputes)
  if (disputes.includes('lost')) return 'lost'
  return disputes.every((status) => HARMLESS.test(status)) ? 'no' : 'open'
}
