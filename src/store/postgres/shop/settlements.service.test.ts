import assert from 'node:assert/strict'
import { afterAll, afterEach, beforeAll, beforeEach, describe, test } from 'vitest'
import { openPostgres, type Postgres } from '../../../../test/support/postgres.ts'
import { openPostgresTestShop } from '../../../../test/support/postgres-stores.ts'
import type { PurchaseChange } from '../../../shop/purchase-store.ts'
import { settle } from '../../../shop/rules.ts'
import { business, DAY, later, NOON, ORDER } from '../../contract/shop-fixture.ts'
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

function paid(orderId: string, payments: number, revision = 0): PurchaseChange {
  const settlement = settle(business, {
    state: 'paid',
    payments: Array.from({ length: payments }, (_, at) => ({
      ref: `p${at}`,
      paidAt: later(at * 365 * DAY),
      returned: 'no',
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
    await store.addPurchase(YEARLY)
    const settled = await concurrently(50, (node) => node.settlePurchase(paid('o1', 1)))
    assert.equal(settled.filter(Boolean).length, 1)
    assert.equal((await other.listKeys({ now: NOON, limit: 100 })).length, 1)
    const order = await other.readPurchase('o1')
    assert.deepEqual([order?.payments, order?.revision], [1, 1])
  })

  test('reset the usage once per renewal, even while requests are charged', async () => {
    await store.addPurchase(YEARLY)
    await store.settlePurchase(paid('o1', 1))
    await concurrently(500, (node) => node.spendRequest('k1', NOON))
    const [renewed, spent] = await Promise.all([
      concurrently(20, (node) => node.settlePurchase(paid('o1', 2, 1))),
      concurrently(300, (node) => node.spendRequest('k1', NOON)),
    ])
    assert.equal(renewed.filter(Boolean).length, 1)
    const after = spent.filter((key) => (key?.used ?? 0) <= 500).length
    assert.equal((await store.readKey('k1', NOON))?.used, after)
  })

  test('store one order for concurrent requests with the same idempotency key', async () => {
    const orders = await concurrently(50, (node, at) =>
      node.addPurchase({ ...YEARLY, id: `o${at}`, keyId: `k${at}`, idempotencyHash: 'same' }),
    )
    assert.equal(new Set(orders.map(({ id }) => id)).size, 1)
    assert.equal((await store.listPurchases({ limit: 100 })).length, 1)
  })

  test('leave one secret without an expiry when a key is claimed and rolled concurrently', async () => {
    await store.addPurchase(YEARLY)
    await store.settlePurchase(paid('o1', 1))
    const oldUntil = later(DAY)
    // Checked after every round, because the last writer of a later round would repair an earlier race.
    for (let round = 0; round < 20; round += 1) {
      await concurrently(4, async (node, at) => {
        const secretHash = `${round} ${at}`
        if (at < 2) await node.rollKey({ keyId: 'k1', secretHash, oldUntil })
        else await claim(node, secretHash)
      })
      assert.equal(await permanentSecrets(), 1)
    }
  })

  test('accept a mailed link once', async () => {
    await store.addPurchase(YEARLY)
    await store.settlePurchase(paid('o1', 1))
    await store.saveClaimLink('o1', 'link')
    const outcomes = await concurrently(20, (node, at) =>
      node.claimKey({ orderId: 'o1', claimHash: 'link', secretHash: `s${at}`, now: NOON }),
    )
    assert.equal(outcomes.filter((outcome) => outcome === 'claimed').length, 1)
    assert.equal(await permanentSecrets(), 1)
  })

  test('share one installation secret, the first one passed', async () => {
    const secrets = await concurrently(50, (node, at) =>
      node.installationSecret(new Uint8Array(32).fill(at)),
    )
    assert.equal(new Set(secrets.map(String)).size, 1)
    assert.equal(String(await other.installationSecret(new Uint8Array(32))), String(secrets[0]))
  })

  test('never sweep an order that is being paid', async () => {
    const [SWEEP_TIME, ORDERS] = [later(91 * DAY), 60]
    await concurrently(ORDERS, (node, at) =>
      node.addPurchase({ ...YEARLY, id: `o${at}`, keyId: `k${at}` }),
    )
    const [settled] = await Promise.all([
      concurrently(ORDERS, (node, at) => node.settlePurchase(paid(`o${at}`, 1))),
      concurrently(4, (node) => node.sweepShop(SWEEP_TIME)),
    ])
    await store.sweepShop(SWEEP_TIME)
    const remaining = (await store.listPurchases({ limit: 100 })).map(({ id }) => id)
    const expected = settled.flatMap((isSettled, at) => (isSettled ? [`o${at}`] : []))
    assert.deepEqual(remaining.sort(), expected.sort())
    assert.equal((await store.listKeys({ now: NOON, limit: 100 })).length, remaining.length)
  })

  test('never deadlock', async () => {
    await store.addPurchase(YEARLY)
    await store.settlePurchase(paid('o1', 1))
    await concurrently(200, async (node, at) => {
      const change = paid('o1', 1 + (at % 2), (await node.readPurchase('o1'))?.revision)
      const roll = { keyId: 'k1', secretHash: `r${at}`, oldUntil: later(DAY) }
      const actions = [
        () => node.settlePurchase(change),
        () => claim(node, `c${at}`),
        () => node.rollKey(roll),
        () => node.spendRequest('k1', NOON),
        () => node.returnRequest('k1', { day: 20_513, period: 0 }),
        () => node.labelKey('k1', `${at}`),
        () => node.sweepShop(later(9_000 * DAY)),
      ]
      await actions[at % actions.length]?.()
    })
    assert.equal((await store.readKey('k1', NOON))?.state, 'active')
  })
})

test('a server crash while orders are settled leaves no order partly settled', async () => {
  const ORDERS = 100
  await concurrently(ORDERS, (node, at) =>
    node.addPurchase({ ...YEARLY, id: `o${at}`, keyId: `k${at}` }),
  )
  const settling = Array.from({ length: ORDERS }, (_, at) =>
    (at % 2 ? store : other).settlePurchase(paid(`o${at}`, 1)),
  )
  const all = Promise.allSettled(settling)
  await Promise.race(settling)
  await postgres.stop('SIGQUIT')
  const outcomes = await all
  await postgres.start()
  assert.ok(outcomes.some(({ status }) => status === 'rejected'))
  for (const [at, { status }] of outcomes.entries()) {
    const isPaid = (await store.readPurchase(`o${at}`))?.payments === 1
    assert.equal((await store.readKey(`k${at}`, NOON)) !== undefined, isPaid)
    assert.equal(await store.hasEvent(`evt of o${at}`), isPaid)
    if (status === 'fulfilled') assert.ok(isPaid)
  }
})
