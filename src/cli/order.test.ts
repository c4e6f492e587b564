import { expect, test } from 'vitest'
import { PLANS, type Plan } from '../core/plan.ts'
import { type Payment, settle } from '../core/purchase.ts'
import { printOrder, printOrders } from './order.ts'
import { Refused } from './output.ts'
import { NOON, shopDesk } from './testing/shop.ts'

const [starter, business] = PLANS as [Plan, Plan]
const desk = shopDesk()
const { book, print, printed } = desk

async function ordered(id: string, plan: Plan, email?: string): Promise<void> {
  await desk.store.addPurchase({
    id,
    provider: 'stripe',
    mode: 'live',
    plan,
    email,
    createdAt: NOON,
    keyId: `key_of_${id}`,
    keyPrefix: 'mf_live_abcd',
    claimHash: `claim of ${id}`,
    idempotencyHash: undefined,
  })
  await desk.store.saveCheckout(id, { ref: `cs_${id}`, url: 'https://pay.example/secret-path' })
}

async function paid(id: string, plan: Plan, more: Partial<Payment> = {}): Promise<void> {
  const payments: Payment[] = [{ ref: 'pi', paidAt: NOON, returned: 'no', disputed: 'no', ...more }]
  const subscriptionRef = plan.renews ? `sub_${id}` : undefined
  const settlement = settle(plan, { state: 'paid', payments, renewal: 'none', subscriptionRef })
  const change = { orderId: id, revision: 0, event: undefined, now: NOON }
  expect(await desk.store.settlePurchase({ ...change, settlement })).toBe(true)
}

test('the list tells state, plan, key and what is to be known, and masks who bought', async () => {
  await ordered('ord_open', starter, 'ann.smith@box.example')
  await ordered('ord_paid', business, 'Not An Address')
  await paid('ord_paid', business)
  await ordered('ord_back', starter)
  await paid('ord_back', starter, { returned: 'fully' })
  await ordered('ord_part', starter)
  await paid('ord_part', starter, { returned: 'partly' })
  await desk.store.claimKey({
    orderId: 'ord_part',
    claimHash: 'claim of ord_part',
    secretHash: 'h',
    now: NOON,
  })
  await ordered('ord_dispute', starter)
  await paid('ord_dispute', starter, { disputed: 'open' })

  const text = await printed(printOrders(book(), {}, print))
  const line = (id: string) => text.split('\n').find((line) => line.startsWith(`${id} `)) ?? ''
  expect(line('ord_open')).toMatch(/ 2026-03-01 12:00:00 +starter +open +- +a…@box\.example$/)
  expect(line('ord_paid')).toMatch(/ business +paid +mf_live_abcd +… +the key was not fetched yet$/)
  expect(line('ord_back')).toMatch(/ refunded .*the money was given back: the key is stopped$/)
  expect(line('ord_part')).toMatch(/ paid +mf_live_abcd +- +part of the money was given back$/)
  expect(line('ord_dispute')).toMatch(/ disputed .*the payment is disputed: the key is stopped$/)
  expect(text).not.toMatch(/smith|secret-path|claim of/)
})

test('an order is shown with its price, its key and what the provider calls it', async () => {
  await ordered('ord_1', business, 'ann.smith@box.example')
  await paid('ord_1', business)
  const text = await printed(printOrder(book(), 'ord_1', {}, print))
  for (const part of [
    /^Plan +Business, 45 USD a year$/m,
    /^State +paid$/m,
    /^Paid until +2027-03-01 12:00:00$/m,
    /^Key +mf_live_abcd \(key_of_ord_1\)$/m,
    /^Key shown +not yet$/m,
    /^E-mail +ann\.smith@box\.example$/m,
    /^Checkout +cs_ord_1$/m,
    /^Renewed by +sub_ord_1$/m,
  ]) {
    expect(text).toMatch(part)
  }
})

test('JSON holds the same, with times as the API writes them', async () => {
  await ordered('ord_1', business, 'ann.smith@box.example')
  await paid('ord_1', business)
  const one = JSON.parse(await printed(printOrder(book(), 'ord_1', { json: true }, print)))
  expect(one).toMatchObject({
    id: 'ord_1',
    plan: 'business',
    price_cents: 4_500,
    state: 'paid',
    email: 'ann.smith@box.example',
    key_prefix: 'mf_live_abcd',
    partly_returned: false,
    created_at: '2026-03-01 12:00:00',
    paid_until_iso: '2027-03-01T12:00:00Z',
    claimed_at: null,
  })
  const all = JSON.parse(await printed(printOrders(book(), { json: true }, print)))
  expect(all).toEqual([{ ...one, email: 'a…@box.example' }])
})

test('an order nobody made is refused, and none at all is a sentence', async () => {
  expect(await printed(printOrders(book(), {}, print))).toBe('No orders yet.')
  await expect(printOrder(book(), 'ord_x', {}, print)).rejects.toThrow(
    new Refused('No order is "ord_x". See: mayfly order list'),
  )
})
