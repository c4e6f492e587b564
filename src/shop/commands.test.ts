import { expect, test } from 'vitest'
import { NOON, shopFixture } from '../../test/kit/shop/commands.ts'
import { CommandError } from '../cli/output.ts'
import { PLANS, type Plan } from '../shared/plan.ts'
import { printOrder, printOrders } from './commands.ts'
import { type Payment, settle } from './rules.ts'

const [starter, business] = PLANS as [Plan, Plan]
const fixture = shopFixture()
const { deps, print, printed } = fixture

async function addOrder(id: string, plan: Plan, email?: string): Promise<void> {
  await fixture.store.addOrder({
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
  await fixture.store.saveCheckout(id, { ref: `cs_${id}`, url: 'https://pay.example/secret-path' })
}

async function settlePaid(id: string, plan: Plan, more: Partial<Payment> = {}): Promise<void> {
  const payments: Payment[] = [{ ref: 'pi', paidAt: NOON, refunded: 'no', disputed: 'no', ...more }]
  const subscriptionRef = plan.renews ? `sub_${id}` : undefined
  const settlement = settle(plan, { state: 'paid', payments, renewal: 'none', subscriptionRef })
  const change = { orderId: id, revision: 0, event: undefined, now: NOON }
  expect(await fixture.store.applySettlement({ ...change, settlement })).toBe(true)
}

test('list shows state, plan and notes, and masks the buyer', async () => {
  await addOrder('ord_open', starter, 'ann.smith@box.example')
  await addOrder('ord_paid', business, 'Not An Address')
  await settlePaid('ord_paid', business)
  await addOrder('ord_back', starter)
  await settlePaid('ord_back', starter, { refunded: 'fully' })
  await addOrder('ord_part', starter)
  await settlePaid('ord_part', starter, { refunded: 'partly' })
  await fixture.store.claimKey({
    orderId: 'ord_part',
    claimHash: 'claim of ord_part',
    secretHash: 'h',
    now: NOON,
  })
  await addOrder('ord_dispute', starter)
  await settlePaid('ord_dispute', starter, { disputed: 'open' })

  const text = await printed(printOrders(deps(), {}, print))
  const line = (id: string) => text.split('\n').find((line) => line.startsWith(`${id} `)) ?? ''
  expect(line('ord_open')).toMatch(/ 2026-03-01 12:00 +starter +open +a…@box\.example$/)
  expect(line('ord_paid')).toMatch(/ business +paid +… +key not claimed yet$/)
  expect(line('ord_back')).toMatch(/ refunded .*refunded: the key is suspended$/)
  expect(line('ord_part')).toMatch(/ paid +- +partially refunded$/)
  expect(line('ord_dispute')).toMatch(/ disputed .*disputed: the key is suspended$/)
  expect(text).not.toMatch(/smith|secret-path|claim of/)
})

test('list fits 100 columns, whatever the id, the plan and the address', async () => {
  const long = { ...business, id: 'a-rather-long-name-of-a-plan' }
  const id = `ord_${'x'.repeat(22)}`
  await addOrder(id, long, `ann@${'a'.repeat(60)}.example`)
  await settlePaid(id, long, { refunded: 'fully' })
  const lines = (await printed(printOrders(deps(), {}, print))).split('\n')
  expect(lines.filter((line) => line.length > 100)).toEqual([])
  expect(lines[1]).toMatch(new RegExp(`^${id} .* refunded +a…@a+… `))
})

test('show includes price, key and the ids of the provider', async () => {
  await addOrder('ord_1', business, 'ann.smith@box.example')
  await settlePaid('ord_1', business)
  const text = await printed(printOrder(deps(), 'ord_1', {}, print))
  for (const part of [
    /^Plan +Business, 45 USD a year$/m,
    /^State +paid$/m,
    /^Paid until +2027-03-01 12:00:00 UTC$/m,
    /^Key +mf_live_abcd \(key_of_ord_1\)$/m,
    /^Claimed +not yet$/m,
    /^Email +ann\.smith@box\.example$/m,
    /^Checkout +cs_ord_1$/m,
    /^Subscription +sub_ord_1$/m,
  ]) {
    expect(text).toMatch(part)
  }
})

test('--json has the same fields, with times as in the API', async () => {
  await addOrder('ord_1', business, 'ann.smith@box.example')
  await settlePaid('ord_1', business)
  const shown = JSON.parse(await printed(printOrder(deps(), 'ord_1', { json: true }, print)))
  expect(shown).toMatchObject({
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
  const listed = JSON.parse(await printed(printOrders(deps(), { json: true }, print)))
  expect(listed).toEqual([{ ...shown, email: 'a…@box.example' }])
})

test('an unknown order is refused, and an empty list prints a message', async () => {
  expect(await printed(printOrders(deps(), {}, print))).toBe('No orders yet.')
  await expect(printOrder(deps(), 'ord_x', {}, print)).rejects.toThrow(
    new CommandError('No order "ord_x". See: mayfly order list'),
  )
})
