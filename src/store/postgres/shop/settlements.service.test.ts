import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openPostgres, type Postgres } from '../../../../test/kit/store/postgres.ts'
import { openPostgresTestShop } from '../../../../test/kit/store/postgres-stores.ts'
import { business, DAY, later, NOON, ORDER } from '../../../../test/kit/store/shop-fixture.ts'
import { settle } from '../../../shop/rules.ts'
import type { OrderChange } from '../../../shop/store.ts'
import type { ShopStore } from '../../store.ts'

const YEARLY = { ...ORDER, plan: business }

let postgres: Postgres
let opened: Awaited<ReturnType<typeof openPostgresTestShop>>
let store: ShopStore
let other: ShopStore

beforeAll(async () => {
  postgres = await openPostgres()
})
afterAll(() => postgres.close())
beforeEach(async () => {
  opened = await openPostgresTestShop(postgres)
  store = opened.store
  other = opened.other
})
afterEach(() => opened.close())

/** Concurrent calls, alternating between the two nodes. */
const concurrently = <T>(times: number, operation: (node: ShopStore, at: number) => Promise<T>) =>
  Promise.all(Array.from({ length: times }, (_, at) => operation(at % 2 === 0 ? store : other, at)))

function paid(orderId: string, payments: number, revision = 0): OrderChange {
  const settlement = settle(business, {
    state: 'paid',
    payments: Array.from({ length: payments }, (_, at) => ({
      ref: `p${at}`,
      paidAt: later(at * 365 * DAY),
      refunded: 'no',
      disputed: 'no',
    })),
    renewal: 'none',
    subscriptionRef: undefined,
  })
  const event = { id: `evt of ${orderId}`, type: 'paid', receivedAt: NOON }
  return { orderId, revision, settlement, event, now: NOON }
}

const claim = (node: ShopStore, secretHash: string) =>
  node.claimKey({ orderId: 'o1', claimHash: 'claim', secretHash, now: NOON })
const permanentSecrets = async () => {
  const rows = await postgres.run(
    'select hash from shop.key_secret where until is null',
    opened.database,
  )
  return rows.length
}

describe('two nodes', () => {
  test('create one key for a payment reported many times', async () => {
    await store.addOrder(YEARLY)
    const settled = await concurrently(50, (node) => node.applySettlement(paid('o1', 1)))
    expect(settled.filter(Boolean).length).toBe(1)
    expect((await other.listKeys({ now: NOON, limit: 100 })).length).toBe(1)
    const order = await other.readOrder('o1')
    expect([order?.payments, order?.revision]).toStrictEqual([1, 1])
  })

  test('reset the usage once per renewal, even while requests are charged', async () => {
    await store.addOrder(YEARLY)
    await store.applySettlement(paid('o1', 1))
    await concurrently(500, (node) => node.chargeRequest('k1', NOON))
    const [renewed, charged] = await Promise.all([
      concurrently(20, (node) => node.applySettlement(paid('o1', 2, 1))),
      concurrently(300, (node) => node.chargeRequest('k1', NOON)),
    ])
    expect(renewed.filter(Boolean).length).toBe(1)
    const after = charged.filter((key) => (key?.used ?? 0) <= 500).length
    expect((await store.readKey('k1', NOON))?.used).toBe(after)
  })

  test('store one order for concurrent requests with the same idempotency key', async () => {
    const orders = await concurrently(50, (node, at) =>
      node.addOrder({ ...YEARLY, id: `o${at}`, keyId: `k${at}`, idempotencyHash: 'same' }),
    )
    expect(new Set(orders.map(({ id }) => id)).size).toBe(1)
    expect((await store.listOrders({ limit: 100 })).length).toBe(1)
  })

  test('leave one secret without an expiry when a key is claimed and rolled concurrently', async () => {
    await store.addOrder(YEARLY)
    await store.applySettlement(paid('o1', 1))
    const oldUntil = later(DAY)
    // Checked after every round, because the last writer of a later round would repair an earlier race.
    for (let round = 0; round < 20; round += 1) {
      await concurrently(4, async (node, at) => {
        const secretHash = `${round} ${at}`
        if (at < 2) await node.rollKey({ keyId: 'k1', secretHash, oldUntil })
        else await claim(node, secretHash)
      })
      expect(await permanentSecrets()).toBe(1)
    }
  })

  test('accept a mailed link once', async () => {
    await store.addOrder(YEARLY)
    await store.applySettlement(paid('o1', 1))
    await store.saveClaimLink('o1', 'link')
    const outcomes = await concurrently(20, (node, at) =>
      node.claimKey({ orderId: 'o1', claimHash: 'link', secretHash: `s${at}`, now: NOON }),
    )
    expect(outcomes.filter((outcome) => outcome === 'claimed').length).toBe(1)
    expect(await permanentSecrets()).toBe(1)
  })

  test('share one installation secret, the first one passed', async () => {
    const secrets = await concurrently(50, (node, at) =>
      node.installationSecret(new Uint8Array(32).fill(at)),
    )
    expect(new Set(secrets.map(String)).size).toBe(1)
    expect(String(await other.installationSecret(new Uint8Array(32)))).toBe(String(secrets[0]))
  })

  test('never sweep an order that is being paid', async () => {
    const [SWEEP_TIME, ORDERS] = [later(91 * DAY), 60]
    await concurrently(ORDERS, (node, at) =>
      node.addOrder({ ...YEARLY, id: `o${at}`, keyId: `k${at}` }),
    )
    const [settled] = await Promise.all([
      concurrently(ORDERS, (node, at) => node.applySettlement(paid(`o${at}`, 1))),
      concurrently(4, (node) => node.sweepShop(SWEEP_TIME)),
    ])
    await store.sweepShop(SWEEP_TIME)
    const remaining = (await store.listOrders({ limit: 100 })).map(({ id }) => id)
    const expected = settled.flatMap((isSettled, at) => (isSettled ? [`o${at}`] : []))
    expect(remaining.sort()).toStrictEqual(expected.sort())
    expect((await store.listKeys({ now: NOON, limit: 100 })).length).toBe(remaining.length)
  })

  test('never deadlock', async () => {
    await store.addOrder(YEARLY)
    await store.applySettlement(paid('o1', 1))
    await concurrently(200, async (node, at) => {
      const change = paid('o1', 1 + (at % 2), (await node.readOrder('o1'))?.revision)
      const roll = { keyId: 'k1', secretHash: `r${at}`, oldUntil: later(DAY) }
      const actions = [
        () => node.applySettlement(change),
        () => claim(node, `c${at}`),
        () => node.rollKey(roll),
        () => node.chargeRequest('k1', NOON),
        () => node.refundRequest('k1', { day: 20_513, period: 0 }),
        () => node.labelKey('k1', `${at}`),
        () => node.sweepShop(later(9_000 * DAY)),
      ]
      await actions[at % actions.length]?.()
    })
    expect((await store.readKey('k1', NOON))?.state).toBe('active')
  })
})

test('a server crash while orders are settled leaves no order partly settled', async () => {
  const ORDERS = 100
  await concurrently(ORDERS, (node, at) =>
    node.addOrder({ ...YEARLY, id: `o${at}`, keyId: `k${at}` }),
  )
  const settling = Array.from({ length: ORDERS }, (_, at) =>
    (at % 2 ? store : other).applySettlement(paid(`o${at}`, 1)),
  )
  const all = Promise.allSettled(settling)
  await Promise.race(settling)
  await postgres.stop('SIGQUIT')
  const outcomes = await all
  await postgres.start()
  expect(outcomes.some(({ status }) => status === 'rejected')).toBeTruthy()
  for (const [at, { status }] of outcomes.entries()) {
    const isPaid = (await store.readOrder(`o${at}`))?.payments === 1
    expect((await store.readKey(`k${at}`, NOON)) !== undefined).toBe(isPaid)
    expect(await store.hasEvent(`evt of o${at}`)).toBe(isPaid)
    if (status === 'fulfilled') expect(isPaid).toBeTruthy()
  }
})
