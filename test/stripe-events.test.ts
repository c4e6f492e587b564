import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { EVENT_TYPES } from '../src/shop/pay/stripe-events.ts'
import { request } from './kit/http/http-client.ts'
import { claim, getOrder } from './kit/shop/shop-client.ts'
import type { StripeEvent } from './kit/shop/stripe/stripe-state.ts'
import {
  type Bought,
  openStripeOrders,
  type StoredOrder,
  type StripeOrders,
} from './kit/shop/stripe-app.ts'

const [COPIES, SOME] = process.env['MAYFLY_TEST_LONG'] ? [50, 10] : [5, 5]
const DAY_SECONDS = 86_400

let app: StripeOrders
beforeAll(async () => {
  app = await openStripeOrders()
})
afterAll(() => app.stop())
beforeEach(() => void app.stripe.take())
afterEach(() => app.assertOneKeyPerOrder())

/** Delivers COPIES of each event concurrently, in an order given by the seed. */
async function flood(events: readonly StripeEvent[], seed: number): Promise<void> {
  const copies = events.flatMap((event) => Array.from({ length: COPIES }, () => event))
  const statuses = await Promise.all(shuffled(copies, seed).map(app.deliver))
  expect([...new Set(statuses)]).toStrictEqual([200])
}

/** Another event about the order makes the service read everything from Stripe again. */
async function deliverAgain({ ...event }: StripeEvent): Promise<void> {
  event.id = `${event.id}_more`
  expect(await app.deliver(event)).toBe(200)
}

function assertStored(bought: Bought, expected: Partial<StoredOrder>): void {
  expect({ ...app.stored(bought) }).toMatchObject(expected)
}

type Operation = (bought: Bought) => void

const pay: Operation = ({ session }) => app.stripe.pay(session)
const payLater: Operation = ({ session }) => app.stripe.payLater(session)
const refund = (amount?: number) => (bought: Bought) =>
  void app.stripe.refund(app.charge(bought), amount)
const failRefund: Operation = (bought) => app.stripe.failRefund(last('refund', bought))
const dispute: Operation = (bought) => void app.stripe.dispute(app.charge(bought))
const moveDispute = (status: string) => (bought: Bought) =>
  app.stripe.moveDispute(last('dispute', bought), status)

const HISTORIES: readonly [
  name: string,
  plan: string,
  actions: readonly Operation[],
  end: Partial<StoredOrder>,
][] = [
  ['is paid', 'starter', [pay], { state: 'paid', payments: 1, key_state: 'active' }],
  [
    'is paid after several days',
    'starter',
    [payLater, ({ session }) => app.stripe.succeed(session)],
    { state: 'paid', payments: 1, key_state: 'active' },
  ],
  [
    'is pending and never paid',
    'starter',
    [payLater, ({ session }) => app.stripe.fail(session)],
    { state: 'failed', payments: 0, key_state: null },
  ],
  [
    'expires unpaid',
    'starter',
    [({ session }) => app.stripe.expire(session)],
    { state: 'expired', payments: 0, key_state: null },
  ],
  [
    'is partially refunded',
    'starter',
    [pay, refund(200)],
    { state: 'paid', partly_returned: 1, key_state: 'active' },
  ],
  [
    'is partially, then fully refunded',
    'starter',
    [pay, refund(200), refund()],
    { state: 'refunded', payments: 1, key_state: 'stopped' },
  ],
  [
    'has a refund that fails',
    'starter',
    [pay, refund(), failRefund],
    { state: 'paid', payments: 1, partly_returned: 0, key_state: 'active' },
  ],
  [
    'is disputed, reviewed and won',
    'starter',
    [pay, dispute, moveDispute('under_review'), moveDispute('won')],
    { state: 'paid', key_state: 'active' },
  ],
  [
    'is disputed and lost',
    'starter',
    [pay, dispute, moveDispute('lost')],
    { state: 'disputed', key_state: 'stopped' },
  ],
  [
    'is subscribed to, renewed, not renewed, and cancelled',
    'business',
    [
      pay,
      (bought) => app.stripe.renew(app.subscription(bought)),
      (bought) => app.stripe.failRenewal(app.subscription(bought)),
      (bought) => app.stripe.cancel(app.subscription(bought)),
    ],
    { state: 'paid', payments: 2, key_state: 'active' },
  ],
]

/** The last refund or dispute of an order. */
function last(kind: 'refund' | 'dispute', bought: Bought): string {
  const charge = app.charge(bought)
  const delivered = app.stripe.events.map(({ data }) => data.object)
  const found = delivered.findLast((one) => one.object === kind && one.charge === charge)
  expect.assert(found)
  return found.id
}

async function runHistory(plan: string, actions: readonly Operation[]) {
  const bought = await app.buy(plan)
  for (const operation of actions) operation(bought)
  return { bought, events: app.stripe.take() }
}

test('these histories contain every event type that the service subscribes to', async () => {
  const delivered = new Set<string>()
  for (const [, plan, actions] of HISTORIES) {
    for (const { type } of (await runHistory(plan, actions)).events) delivered.add(type)
  }
  expect(EVENT_TYPES.filter((type) => !delivered.has(type))).toStrictEqual([])
})

describe(`each event ${COPIES} times at once, shuffled: an order that`, () => {
  for (const [at, [name, plan, actions, end]] of HISTORIES.entries()) {
    test(name, async () => {
      const { bought, events } = await runHistory(plan, actions)
      await flood(events, at + 1)
      assertStored(bought, end)
      const after = app.stored(bought)
      for (const event of events) await deliverAgain(event)
      expect(app.stored(bought), 'nothing is left to learn').toStrictEqual(after)
    })
  }
})

describe('events delivered as they happen: an order that', () => {
  for (const [name, plan, actions, end] of HISTORIES) {
    test(name, async () => {
      const bought = await app.buy(plan)
      const delivered: Promise<number>[] = []
      for (const operation of actions) {
        operation(bought)
        for (const event of app.stripe.take()) {
          for (let copy = 0; copy < SOME; copy += 1) delivered.push(app.deliver(event))
        }
        // The next operation runs as soon as one copy has been processed, while the others are in flight.
        await Promise.any(delivered.slice(-SOME))
      }
      for (const status of await Promise.all(delivered)) expect(status).toBe(200)
      assertStored(bought, end)
    })
  }
})

const ORDERINGS: readonly [string, (events: StripeEvent[]) => StripeEvent[]][] = [
  ['in order', (events) => events],
  ['in reverse', (events) => events.toReversed()],
  ['in random order', (events) => shuffled(events, 7)],
  ['the last one only', (events) => events.slice(-1)],
]

for (const [ordering, arrange] of ORDERINGS) {
  describe(`events one by one, ${ordering}: an order that`, () => {
    for (const [name, plan, actions, end] of HISTORIES) {
      test(name, async () => {
        const { bought, events } = await runHistory(plan, actions)
        for (const event of arrange(events)) expect(await app.deliver(event)).toBe(200)
        assertStored(bought, end)
      })
    }
  })
}

test('a refund delivered before its payment leaves a key that never works', async () => {
  const { bought, events: paid } = await runHistory('starter', [pay])
  refund()(bought)
  await app.deliverEvents()
  assertStored(bought, { state: 'refunded', key_state: 'stopped' })
  for (const event of paid) await app.deliver(event)
  assertStored(bought, { state: 'refunded', key_state: 'stopped' })
  expect((await claim(app.url, bought)).body['code']).toBe('order_stopped')
})

test('a payment delivered before the checkout reference was stored is found by the order id', async () => {
  const bought = await app.buy('business')
  const forget = 'update purchase set checkout_ref = null, checkout_url = null where id = ?'
  app.db.prepare(forget).run(bought.id)
  pay(bought)
  await app.deliverEvents()
  assertStored(bought, { state: 'paid', payments: 1 })
  refund()(bought)
  await app.deliverEvents()
  assertStored(bought, { state: 'refunded' })
})

test('a key revoked by the operator stays revoked when events are delivered again', async () => {
  const { bought, events } = await runHistory('starter', [pay])
  for (const event of events) await app.deliver(event)
  const { key, key_id } = (await claim(app.url, bought)).body
  expect(await usage(key)).toBe(200)
  app.db.prepare(`update api_key set state = 'revoked' where id = ?`).run(key_id)
  for (const event of events) {
    expect(await app.deliver(event)).toBe(200)
    await deliverAgain(event)
  }
  expect(await usage(key)).toBe(401)
  expect((await claim(app.url, bought)).body['code']).toBe('order_stopped')
})

test('claims during a flood of events leave one valid key', async () => {
  const { bought, events } = await runHistory('business', [pay])
  for (const event of events) await deliverAgain(event)
  const [claims] = await Promise.all([
    Promise.all(Array.from({ length: COPIES }, () => claim(app.url, bought))),
    flood(events, 3),
  ])
  const keys = claims.flatMap(({ body }) => body['key'] ?? [])
  expect(keys.length).toBe(COPIES)
  const alive = await Promise.all(keys.map(usage))
  expect(alive.filter((status) => status === 200).length).toBe(1)
})

describe('a subscription', () => {
  test('is renewed from its old end with zero usage; its first invoice grants nothing twice', async () => {
    const bought = await app.buy('business')
    pay(bought)
    await app.deliverEvents()
    assertStored(bought, { payments: 1 })
    const first = new Date(app.stored(bought).paid_until ?? 0)
    const { key } = (await claim(app.url, bought)).body
    for (let count = 0; count < 3; count += 1) expect(await emails(key)).toBe(200)
    assertStored(bought, { used: 3 })

    app.moveClock(364 * DAY_SECONDS)
    app.stripe.renew(app.subscription(bought))
    await app.deliverEvents()
    const next = first.setUTCFullYear(first.getUTCFullYear() + 1)
    assertStored(bought, { payments: 2, used: 0, paid_until: next })
    expect(await emails(key)).toBe(200)
  })

  test('that is not renewed keeps working for a week, then stops until it is paid', async () => {
    const bought = await app.buy('business')
    pay(bought)
    await app.deliverEvents()
    const { key } = (await claim(app.url, bought)).body
    app.moveClock(365 * DAY_SECONDS + 60)
    app.stripe.failRenewal(app.subscription(bought))
    await app.deliverEvents()
    app.moveClock(6 * DAY_SECONDS)
    expect(await emails(key)).toBe(200)
    app.moveClock(2 * DAY_SECONDS)
    expect(await emails(key)).toBe(402)
    app.stripe.renew(app.subscription(bought))
    await app.deliverEvents()
    expect(await emails(key)).toBe(200)
    expect((await getOrder(app.url, bought)).body['state']).toBe('paid')
  })
})

const statusOf = (path: string) => async (key: unknown) =>
  (await request(`${app.url}${path}`, { headers: { apikey: String(key) } })).status
const usage = statusOf('/usage')
const emails = statusOf('/emails')

/** Fisher–Yates with a Park–Miller generator: the same seed gives the same order. */
function shuffled<T>(list: readonly T[], seed: number): T[] {
  const result = [...list]
  let state = seed
  for (let at = result.length - 1; at > 0; at -= 1) {
    state = (state * 48_271) % 2_147_483_647
    result.push(...result.splice(state % (at + 1), 1))
  }
  return result
}
