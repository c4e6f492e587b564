import {
  openStripeServer,
  type StripeServer,
} from '../../../../test/kit/shop/stripe/stripe-server.ts'
import { PLANS, type Plan } from '../../../shared/plan.ts'
import type { CheckoutOrder, PaymentProvider, RemoteProvider } from '../provider.ts'
import { openStripe, type StripeOptions } from '../stripe.ts'

export const BASE_URL = 'https://mail.example'

/** The Stripe provider connected to a double of Stripe, with a manual clock. */
export interface StripeFixture {
  clock: { now: Date }
  server: StripeServer
  pay: PaymentProvider
  remote: RemoteProvider
  options: StripeOptions
  /** Creates an order and its checkout. */
  createOrder(plan: string | Plan): Promise<Ordered>
}

export interface Ordered {
  id: string
  plan: Plan
  checkoutRef: string
  subscriptionRef: undefined
}

export async function openStripeFixture({
  live = false,
  ...given
}: Partial<StripeOptions> & { live?: boolean } = {}): Promise<StripeFixture> {
  const clock = { now: new Date('2027-03-05T10:00:00Z') }
  const now = () => clock.now
  const server = await openStripeServer({ now, live })
  const options = {
    secretKey: server.secretKey,
    webhookSecrets: [server.webhookSecret],
    apiUrl: server.url,
    prices: {},
    now,
    ...given,
  }
  const pay = openStripe(options)
  if (!pay.remote) throw new Error('the Stripe provider has no remote API')
  let orders = 0
  return {
    clock,
    server,
    pay,
    remote: pay.remote,
    options,
    async createOrder(named) {
      const plan = typeof named === 'string' ? planById(named) : named
      const order = { ...checkoutOrder(plan), id: `ord_${++orders}` }
      const { ref } = await pay.createCheckout(order)
      return { id: order.id, plan, checkoutRef: ref, subscriptionRef: undefined }
    },
  }
}

export function planById(id: string): Plan {
  const plan = PLANS.find((known) => known.id === id)
  if (!plan) throw new Error(`no plan ${id}`)
  return plan
}

export function checkoutOrder(plan: string | Plan = 'starter'): CheckoutOrder {
  return {
    id: 'ord_1',
    plan: typeof plan === 'string' ? planById(plan) : plan,
    email: undefined,
    baseUrl: BASE_URL,
  }
}
