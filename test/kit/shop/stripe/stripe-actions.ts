import {
  charge,
  dispute,
  intent,
  invoice,
  invoicePayment,
  type NewCheckout,
  type Outcome,
  type Price,
  period,
  refund,
  type StripeKind,
  type StripeObjects,
  type StripeState,
  session,
  subscription,
} from './stripe-state.ts'

// Everything that can happen at Stripe. Each action emits the events Stripe sends for it.

export function openCheckout(state: StripeState, checkout: NewCheckout) {
  const made = state.add(state.live ? 'cs_live' : 'cs_test', session(checkout))
  made.url = `https://checkout.stripe.test/c/pay/${made.id}`
  state.checkouts.set(made.id, checkout)
  return made
}

export function checkoutActions(state: StripeState) {
  /** The buyer completes the checkout: the payment succeeds at once or is processing. */
  function complete(id: string, outcome: 'succeeded' | 'processing'): void {
    const checkout = state.checkouts.get(id)
    const paid = state.get('checkout.session', id)
    if (!checkout || paid.status !== 'open') throw new Error(`${id} cannot be paid: ${paid.status}`)
    const { price, childMetadata } = checkout
    if (paid.mode === 'subscription') {
      paid.subscription = subscribe(state, price, childMetadata).id
      collect(state, paid.subscription, outcome)
    } else {
      const made = state.add('pi', intent(price.unitAmount, price.currency, childMetadata))
      paid.payment_intent = made.id
      attempt(state, made.id, outcome)
    }
    paid.status = 'complete'
    paid.url = null
    paid.payment_status = outcome === 'succeeded' ? 'paid' : 'unpaid'
    state.emit('checkout.session.completed', paid)
  }

  function settle(id: string, outcome: 'succeeded' | 'failed'): void {
    const found = state.get('checkout.session', id)
    if (found.subscription) collect(state, found.subscription, outcome)
    else attempt(state, found.payment_intent, outcome)
    if (outcome === 'succeeded') found.payment_status = 'paid'
    state.emit(`checkout.session.async_payment_${outcome}`, found)
  }

  return {
    addPrice: (price: Price) => void state.prices.set(price.id, price),
    pay: (id: string) => complete(id, 'succeeded'),
    /** Pays by a method that takes days; then `succeed` or `fail`. */
    payLater: (id: string) => complete(id, 'processing'),
    succeed: (id: string) => settle(id, 'succeeded'),
    fail: (id: string) => settle(id, 'failed'),
    expire(id: string): void {
      const expired = state.get('checkout.session', id)
      Object.assign(expired, { status: 'expired', url: null })
      state.emit('checkout.session.expired', expired)
    },
    /** The checkouts of an order, oldest first. */
    sessionsOf: (orderId: string): string[] =>
      state
        .list('checkout.session')
        .filter(({ client_reference_id }) => client_reference_id === orderId)
        .map(({ id }) => id)
        .reverse(),
    read: <Kind extends StripeKind>(kind: Kind, id: string) => state.get(kind, id),
    /** Changes what Stripe stores without an event. */
    overwrite: <Kind extends StripeKind>(
      kind: Kind,
      id: string,
      change: Partial<StripeObjects[Kind]>,
    ) => void Object.assign(state.get(kind, id), change),
  }
}

/** Attempts the payment. An attempt that is processing continues with its charge. */
function attempt(state: StripeState, intentId: string | null, outcome: Outcome): void {
  const paying = state.get('payment_intent', intentId)
  const made =
    paying.status === 'processing' && paying.latest_charge
      ? state.get('charge', paying.latest_charge)
      : state.add('ch', charge(paying))
  const succeeded = outcome === 'succeeded'
  made.paid = succeeded
  made.amount_captured = succeeded ? made.amount : 0
  made.status = outcome === 'processing' ? 'pending' : outcome
  paying.latest_charge = made.id
  paying.amount_received = succeeded ? paying.amount : 0
  paying.status = outcome === 'failed' ? 'requires_payment_method' : outcome
  // A type that we do not subscribe to: it must change nothing.
  state.emit(`charge.${made.status}`, made)
}

export function paymentActions(state: StripeState) {
  /** `won`, `lost` and `warning_closed` close a dispute. */
  function moveDispute(id: string, status: string): void {
    const moved = state.get('dispute', id)
    Object.assign(moved, { status })
    const closed = ['won', 'lost', 'warning_closed'].includes(status)
    state.emit(closed ? 'charge.dispute.closed' : 'charge.dispute.updated', moved)
    if (status === 'won') state.emit('charge.dispute.funds_reinstated', moved)
  }

  return {
    /** Refunds what is left unless an amount is given; returns the id of the refund. */
    refund(chargeId: string, amount?: number): string {
      const paid = state.get('charge', chargeId)
      const made = state.add('re', refund(amount ?? paid.amount - paid.amount_refunded, paid))
      paid.amount_refunded += made.amount
      paid.refunded = paid.amount_refunded >= paid.amount
      state.emit('refund.created', made)
      state.emit('charge.refunded', paid)
      return made.id
    },
    failRefund(id: string): void {
      const failed = state.get('refund', id)
      const paid = state.get('charge', failed.charge)
      failed.status = 'failed'
      paid.amount_refunded -= failed.amount
      paid.refunded = false
      state.emit('refund.updated', failed)
      state.emit('refund.failed', failed)
    },
    /** Returns the id of the dispute. `warning_needs_response` is an inquiry: no money moves. */
    dispute(chargeId: string, status = 'needs_response'): string {
      const disputed = state.get('charge', chargeId)
      disputed.disputed = true
      const made = state.add('du', dispute(status, disputed))
      state.emit('charge.dispute.created', made)
      if (status === 'needs_response') state.emit('charge.dispute.funds_withdrawn', made)
      return made.id
    },
    moveDispute,
    win: (id: string) => moveDispute(id, 'won'),
    lose: (id: string) => moveDispute(id, 'lost'),
    /** The charges of a checkout and of its renewals, oldest first. */
    chargesOf(sessionId: string): string[] {
      const { payment_intent, subscription } = state.get('checkout.session', sessionId)
      const intents = state
        .list('invoice_payment')
        .filter(({ status }) => status !== 'canceled')
        .filter(({ invoice: id }) => subscriptionOf(state.get('invoice', id)) === subscription)
        .map(({ payment }) => payment.payment_intent)
        .reverse()
      return (subscription ? intents : [payment_intent]).flatMap(
        (id) => state.get('payment_intent', id).latest_charge ?? [],
      )
    },
  }
}

const subscriptionOf = ({ parent }: StripeObjects['invoice']) =>
  parent.subscription_details.subscription

function subscribe(state: StripeState, price: Price, metadata: Record<string, string>) {
  const made = state.add('sub', subscription(state.seconds(), price, metadata))
  state.prices.set(made.id, price)
  addInvoice(state, made, 'subscription_create')
  return made
}

function priceOf(state: StripeState, subscriptionId: string): Price {
  const price = state.prices.get(subscriptionId)
  if (!price) throw new Error(`the Stripe double has no price of ${subscriptionId}`)
  return price
}

function addInvoice(
  state: StripeState,
  subscribed: StripeObjects['subscription'],
  reason: 'subscription_create' | 'subscription_cycle',
): void {
  const made = state.add('in', invoice(subscribed, priceOf(state, subscribed.id), reason))
  // A test may renew before it moves the clock; Stripe never bills a period that has not started.
  const starts = subscribed.items.data.map(({ current_period_start }) => current_period_start)
  made.created = Math.max(made.created, ...starts)
  subscribed.latest_invoice = made.id
}

/** Starts the next period; its invoice stays a draft for about an hour. */
function startPeriod(state: StripeState, id: string): void {
  const renewed = state.get('subscription', id)
  renewed.items.data = renewed.items.data.map(({ current_period_end }) =>
    period(current_period_end, priceOf(state, id)),
  )
  addInvoice(state, renewed, 'subscription_cycle')
  state.emit('customer.subscription.updated', renewed)
}

function openPayment(state: StripeState, { id: invoiceId, currency }: StripeObjects['invoice']) {
  const known = state
    .list('invoice_payment')
    .find(({ invoice: id, status }) => id === invoiceId && status !== 'canceled')
  if (known) return known
  const { unitAmount } = priceOf(state, subscriptionOf(state.get('invoice', invoiceId)))
  const paying = state.add('pi', intent(unitAmount, currency, {}))
  return state.add('inpay', invoicePayment(invoiceId, paying.id))
}

/** Attempts the payment of the latest invoice. */
function collect(state: StripeState, id: string, outcome: Outcome): void {
  const subscribed = state.get('subscription', id)
  const due = state.get('invoice', subscribed.latest_invoice)
  const payment = openPayment(state, due)
  due.status = outcome === 'succeeded' ? 'paid' : 'open'
  attempt(state, payment.payment.payment_intent, outcome)
  if (outcome === 'succeeded') {
    due.amount_paid = priceOf(state, id).unitAmount
    due.status_transitions.paid_at = state.seconds()
    payment.status = 'paid'
    state.emit('invoice.paid', due)
  }
  if (outcome === 'failed') state.emit('invoice.payment_failed', due)
  subscribed.status = outcome === 'failed' ? 'past_due' : 'active'
  state.emit('customer.subscription.updated', subscribed)
}

export function subscriptionActions(state: StripeState) {
  const startIfPaid = (id: string) => {
    const { latest_invoice } = state.get('subscription', id)
    if (state.get('invoice', latest_invoice).status === 'paid') startPeriod(state, id)
  }
  const change = (id: string, fields: Partial<StripeObjects['subscription']>, type: string) => {
    const changed = Object.assign(state.get('subscription', id), fields)
    state.emit(`customer.subscription.${type}`, changed)
  }

  return {
    subscriptionOf: (sessionId: string): string =>
      state.get('subscription', state.get('checkout.session', sessionId).subscription).id,
    startPeriod: (id: string) => startPeriod(state, id),
    /** Pays the open invoice, or starts the next period and pays it. */
    renew(id: string): void {
      startIfPaid(id)
      collect(state, id, 'succeeded')
    },
    failRenewal(id: string): void {
      startIfPaid(id)
      collect(state, id, 'failed')
    },
    /** Cancels the payment of a failed renewal: `renew` then pays by another one. */
    dropPayment(id: string): void {
      const { latest_invoice } = state.get('subscription', id)
      const dropped = openPayment(state, state.get('invoice', latest_invoice))
      dropped.status = 'canceled'
      state.get('payment_intent', dropped.payment.payment_intent).status = 'canceled'
    },
    cancel: (id: string) => change(id, { status: 'canceled' }, 'deleted'),
    cancelAtPeriodEnd: (id: string) => change(id, { cancel_at_period_end: true }, 'updated'),
    /** Stripe stops retrying, and the subscription stays unpaid. */
    stopRetrying: (id: string) => change(id, { status: 'unpaid' }, 'updated'),
  }
}
