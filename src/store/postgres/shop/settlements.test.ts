import assert from 'node:assert/strict'
import { afterAll, afterEach, beforeAll, beforeEach, describe, test } from 'vitest'
import { openPostgres, type Postgres } from '../../../../test/support/postgres.ts'
import { openPostgresTestShop } from '../../../../test/support/postgres-stores.ts'
import { settle } from '../../../core/purchase.ts'
import { business, DAY, later, NOON, ORDER } from '../../contract/shop-fixture.ts'
import type { PurchaseChange, ShopStore } from '../../shop-store.ts'

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

/** In turns at both nodes, all at once. */
const atOnce = <T>(times: number, operation: (node: ShopStore, at: number) => Promise<T>) =>
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
const endless = async () => {
  const rows = await postgres.run(
    'select hash from shop.key_secret where until is null',
    opened.database,
  )
  return rows.length
}

describe('two nodes', () => {
  test('that are told of one payment many times make one key of it', async () => {
    await store.addPurchase(YEARLY)
    const settled = await atOnce(50, (node) => node.settlePurchase(paid('o1', 1)))
    assert.equal(settled.filter(Boolean).length, 1)
    assert.equal((await other.listKeys(NOON)).length, 1)
    const order = await other.readPurchase('o1')
    assert.deepEqual([order?.payments, order?.revision], [1, 1])
  })

  test('that hear of a renewal start the count anew once, however many requests are spent meanwhile', async () => {
    await store.addPurchase(YEARLY)
    await store.settlePurchase(paid('o1', 1))
    await atOnce(500, (node) => node.spendRequest('k1', NOON))
    const [renewed, spent] = await Promise.all([
      atOnce(20, (node) => node.settlePurchase(paid('o1', 2, 1))),
      atOnce(300, (node) => node.spendRequest('k1', NOON)),
    ])
    assert.equal(renewed.filter(Boolean).length, 1)
    const after = spent.filter((key) => (key?.used ?? 0) <= 500).length
    assert.equal((await store.readKey('k1', NOON))?.used, after)
  })

  test('that are asked for the same order keep it once', async () => {
    const orders = await atOnce(50, (node, at) =>
      node.addPurchase({ ...YEARLY, id: `o${at}`, keyId: `k${at}`, idempotencyHash: 'same' }),
    )
    assert.equal(new Set(orders.map(({ id }) => id)).size, 1)
    assert.equal((await store.listPurchases(100)).length, 1)
  })

  test('where a key is claimed and rolled leave it one secret without an end', async () => {
    await store.addPurchase(YEARLY)
    await store.settlePurchase(paid('o1', 1))
    const oldUntil = later(DAY)
    // Again and again: whoever comes last sweeps up what an unlucky race before left.
    for (let round = 0; round < 20; round += 1) {
      await atOnce(4, async (node, at) => {
        const secretHash = `${round} ${at}`
        if (at < 2) await node.rollKey({ keyId: 'k1', secretHash, oldUntil })
        else await claim(node, secretHash)
      })
      assert.equal(await endless(), 1)
    }
  })

  test('let a link that was mailed pass once', async () => {
    await store.addPurchase(YEARLY)
    await store.settlePurchase(paid('o1', 1))
    await store.saveClaimLink('o1', 'link')
    const outcomes = await atOnce(20, (node, at) =>
      node.claimKey({ orderId: 'o1', claimHash: 'link', secretHash: `s${at}`, now: NOON }),
    )
    assert.equal(outcomes.filter((outcome) => outcome === 'claimed').length, 1)
    assert.equal(await endless(), 1)
  })

  test('have one secret of the installation, the first that was given', async () => {
    const heard = await atOnce(50, (node, at) =>
      node.installationSecret(new Uint8Array(32).fill(at)),
    )
    assert.equal(new Set(heard.map(String)).size, 1)
    assert.equal(String(await other.installationSecret(new Uint8Array(32))), String(heard[0]))
  })

  test('that sweep while payments come in take no order that is paid', async () => {
    const [AT, ORDERS] = [later(91 * DAY), 60]
    await atOnce(ORDERS, (node, at) =>
      node.addPurchase({ ...YEARLY, id: `o${at}`, keyId: `k${at}` }),
    )
    const [settled] = await Promise.all([
      atOnce(ORDERS, (node, at) => node.settlePurchase(paid(`o${at}`, 1))),
      atOnce(4, (node) => node.sweepShop(AT)),
    ])
    await store.sweepShop(AT)
    const kept = (await store.listPurchases(100)).map(({ id }) => id)
    const expected = settled.flatMap((was, at) => (was ? [`o${at}`] : []))
    assert.deepEqual(kept.sort(), expected.sort())
    assert.equal((await store.listKeys(NOON)).length, kept.length)
  })

  test('never wait for each other in a circle', async () => {
    await store.addPurchase(YEARLY)
    await store.settlePurchase(paid('o1', 1))
    await atOnce(200, async (node, at) => {
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

test('a server that dies while orders are settled leaves no order half paid', async () => {
  const ORDERS = 100
  await atOnce(ORDERS, (node, at) => node.addPurchase({ ...YEARLY, id: `o${at}`, keyId: `k${at}` }))
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
