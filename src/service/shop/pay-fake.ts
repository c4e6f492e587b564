import { Problem } from '../../core/problem.ts'
import { type PaymentFacts, type Purchase, settle } from '../../core/purchase.ts'
import type { PaymentProvider } from '../../pay/provider.ts'
import type { ShopStore } from '../../store/shop-store.ts'

export interface PayFakeDeps {
  shop: Pick<ShopStore, 'readPurchase' | 'settlePurchase'>
  pay: Pick<PaymentProvider, 'provider'>
  now(): Date
}

/** What a buyer of the test shop can make happen. later: the money is promised, and must still succeed or fail. */
export const OUTCOMES = ['pay', 'later', 'decline'] as const
export type Outcome = (typeof OUTCOMES)[number]

const STATES = { pay: 'paid', later: 'pending', decline: 'failed' } as const satisfies Record<
  Outcome,
  PaymentFacts['state']
>

/** An order of the test shop. Its id is all that is needed to pay it: nothing is at stake. */
export async function fakeOrder({ shop, pay }: PayFakeDeps, orderId: string): Promise<Purchase> {
  const order = pay.provider === 'fake' ? await shop.readPurchase(orderId) : undefined
  if (order?.provider !== 'fake') throw new Problem('not_found', 'There is no such test order.')
  return order
}

/** Pays an order of the test shop, or fails to. One that is paid, or failed, stays so. */
export async function payFake(deps: PayFakeDeps, orderId: string, outcome: Outcome): Promise<void> {
  const order = await fakeOrder(deps, orderId)
  if (order.state !== 'open' && order.state !== 'pending') return
  await deps.shop.settlePurchase({
    orderId,
    revision: order.revision,
    settlement: settle(order.plan, paymentFacts(order, outcome, deps.now())),
    event: undefined,
    now: deps.now(),
  })
}

function paymentFacts({ id }: Purchase, outcome: Outcome, paidAt: Date): PaymentFacts {
  return {
    state: STATES[outcome],
    payments:
      outcome === 'pay' ? [{ ref: `fake_${id}`, paidAt, returned: 'no', disputed: 'no' }] : [],
    renewal: 'none',
    subscriptionRef: undefined,
  }
}
// Limits: the test shop renews nothing and gives nothing back.
