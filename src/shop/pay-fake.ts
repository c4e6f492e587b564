import { Problem } from '../base/problem.ts'
import type { ShopDeps } from './deps.ts'
import { type Order, type PaymentFacts, settle } from './rules.ts'

type PayFakeDeps = Pick<ShopDeps, 'shop' | 'pay' | 'now'>

/** What a buyer in the test shop can choose. later: the payment is pending and must still succeed or fail. */
export const OUTCOMES = ['pay', 'later', 'decline'] as const
export type Outcome = (typeof OUTCOMES)[number]

const STATES = { pay: 'paid', later: 'pending', decline: 'failed' } as const satisfies Record<
  Outcome,
  PaymentFacts['state']
>

/** An order of the test shop. No secret is needed to pay it. */
export async function fakeOrder({ shop, pay }: PayFakeDeps, orderId: string): Promise<Order> {
  const order = pay.provider === 'fake' ? await shop.readOrder(orderId) : undefined
  if (order?.provider !== 'fake') throw new Problem('not_found', 'Unknown test order.')
  return order
}

/** Applies an outcome to an order of the test shop, unless it is already paid or failed. */
export async function payFake(deps: PayFakeDeps, orderId: string, outcome: Outcome): Promise<void> {
  const order = await fakeOrder(deps, orderId)
  if (order.state !== 'open' && order.state !== 'pending') return
  await deps.shop.applySettlement({
    orderId,
    revision: order.revision,
    settlement: settle(order.plan, paymentFacts(order, outcome, deps.now())),
    event: undefined,
    now: deps.now(),
  })
}

function paymentFacts({ id }: Order, outcome: Outcome, paidAt: Date): PaymentFacts {
  return {
    state: STATES[outcome],
    payments:
      outcome === 'pay' ? [{ ref: `fake_${id}`, paidAt, refunded: 'no', disputed: 'no' }] : [],
    renewal: 'none',
    subscriptionRef: undefined,
  }
}
// Known limit: the test shop has no renewals and no refunds.
