import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { utcDay } from '../../keys/rules.ts'
import type { NewPurchase } from '../../shop/purchase-store.ts'
import { type PaymentFacts, settle } from '../../shop/rules.ts'
import type { ShopStore } from '../store.ts'
import { DAY, later, NOON, type OpenShopStore, ORDER, pagesOf, starter } from './shop-fixture.ts'

/** Lists and background work of the shop. */
export function shopMaintenanceContract(open: () => Promise<OpenShopStore>): void {
  let opened: OpenShopStore
  let store: ShopStore

  beforeEach(async () => {
    opened = await open()
    store = opened.store
  })
  afterEach(() => opened.close())

  /** An order with a checkout. */
  async function order(id: string, more: Partial<NewPurchase> = {}): Promise<void> {
    await store.addPurchase({ ...LIVE, id, keyId: `key of ${id}`, ...more })
    await store.saveCheckout(id, { ref: `cs of ${id}`, url: 'https://pay.test' })
  }

  async function settleAs(id: string, state: PaymentFacts['state']): Promise<void> {
    const { revision = 0 } = (await store.readPurchase(id)) ?? {}
    const payment = { ref: 'p', paidAt: NOON, returned: 'no', disputed: 'no' } as const
    const payments = state === 'paid' ? [payment] : []
    const facts: PaymentFacts = { state, payments, renewal: 'none', subscriptionRef: undefined }
    const settlement = settle(starter, facts)
    await store.settlePurchase({ orderId: id, revision, settlement, event: undefined, now: NOON })
  }

  describe('unsettled orders', () => {
    const range = { provider: 'stripe', mode: 'live', after: NOON, before: later(DAY) } as const
    const list = async (more: object = {}, limit = 10) =>
      (await store.listUnsettled({ ...range, ...more }, limit)).map(({ id }) => id)

    test('are unpaid orders between two times, oldest first', async () => {
      await order('late', { createdAt: later(3) })
      await order('early', { createdAt: later(1) })
      await order('pending', { createdAt: later(2) })
      await settleAs('pending', 'pending')
      assert.deepEqual(await list(), ['early', 'pending', 'late'])
      assert.deepEqual(await list({}, 2), ['early', 'pending'])
      assert.deepEqual(await list({ after: later(1), before: later(3) }), ['pending'])
    })

    test('exclude settled orders, other providers and modes, and orders without a checkout', async () => {
      for (const state of ['paid', 'failed', 'expired'] as const) {
        await order(state, { createdAt: later(1) })
        await settleAs(state, state)
      }
      await order('fake', { createdAt: later(1), provider: 'fake' })
      await order('test', { createdAt: later(1), mode: 'test' })
      await store.addPurchase({ ...LIVE, id: 'unopened', createdAt: later(1) })
      assert.deepEqual(await list(), [])
    })
  })

  test('all orders are listed newest first, in pages', async () => {
    for (const [at, ms] of [0, 1, 1, 2].entries()) await order(`o${at}`, { createdAt: later(ms) })
    const pages = await pagesOf((page) => store.listPurchases(page), 3)
    assert.deepEqual(pages, [['o3', 'o2', 'o1'], ['o0']])
  })

  describe('the sweep', () => {
    const ids = async () => (await store.listPurchases({ limit: 1_000 })).map(({ id }) => id).sort()
    const sweepAll = async (now: Date) => {
      while (await store.sweepShop(now));
    }

    test('deletes unpaid orders older than 90 days', async () => {
      for (const state of ['open', 'pending', 'failed', 'expired'] as const) {
        await order(state)
        await settleAs(state, state)
      }
      await order('young', { createdAt: later(1) })
      await sweepAll(later(90 * DAY))
      assert.equal((await ids()).length, 5)
      await sweepAll(later(90 * DAY + 1))
      assert.deepEqual(await ids(), ['young'])
    })

    test('never deletes a paid order or a key', async () => {
      await order('paid')
      await settleAs('paid', 'paid')
      // Whatever the provider reports later: a key was issued for it.
      await order('undone')
      await settleAs('undone', 'paid')
      await settleAs('undone', 'expired')
      await sweepAll(later(10_000 * DAY))
      assert.deepEqual(await ids(), ['paid', 'undone'])
      assert.equal((await store.listKeys({ now: NOON, limit: 100 })).length, 2)
    })

    test('deletes payment events after 90 days', async () => {
      await store.recordEvent({ id: 'old', type: 'paid', receivedAt: NOON })
      await store.recordEvent({ id: 'young', type: 'paid', receivedAt: later(1) })
      await sweepAll(later(90 * DAY + 1))
      assert.deepEqual([await store.hasEvent('old'), await store.hasEvent('young')], [false, true])
    })

    test('deletes usage after 800 days', async () => {
      await order('paid')
      await settleAs('paid', 'paid')
      const keyId = 'key of paid'
      await store.spendRequest(keyId, NOON)
      await store.spendRequest(keyId, later(DAY))
      await sweepAll(later(800 * DAY))
      assert.equal((await store.readUsage(keyId, 0)).length, 2)
      await sweepAll(later(801 * DAY))
      assert.deepEqual(
        (await store.readUsage(keyId, 0)).map(({ day }) => day),
        [utcDay(later(DAY))],
      )
      assert.equal((await store.readKey(keyId, NOON))?.used, 2)
    })

    test('runs in small steps', async () => {
      await Promise.all(Array.from({ length: 500 }, (_, at) => order(`o${at}`)))
      assert.equal(await store.sweepShop(later(91 * DAY)), true)
      const { length } = await ids()
      assert.ok(length > 0 && length < 500, `${length} are left`)
      await sweepAll(later(91 * DAY))
      assert.deepEqual(await ids(), [])
    })
  })

  describe('a sign-in to the admin page', () => {
    test('ends when it expires or is deleted, and the sweep deletes it', async () => {
      for (const hash of ['one', 'two']) {
        await store.addAdminSession({ hash, expiresAt: later(10) })
      }
      const known = async (now: Date) =>
        await Promise.all(['one', 'two', 'three'].map((hash) => store.hasAdminSession(hash, now)))
      assert.deepEqual(await known(later(9)), [true, true, false])
      assert.deepEqual(await known(later(10)), [false, false, false])
      await store.deleteAdminSession('one')
      assert.deepEqual(await known(NOON), [false, true, false])
      await store.sweepShop(later(9))
      assert.deepEqual(await known(NOON), [false, true, false])
      await store.sweepShop(later(10))
      assert.deepEqual(await known(NOON), [false, false, false])
    })
  })

  test('the newest time is that of a key, an order, or the last day of use', async () => {
    assert.equal(await store.newestTime(), undefined)
    await order('late', { createdAt: later(2) })
    await order('early', { createdAt: later(1), idempotencyHash: 'early' })
    assert.deepEqual(await store.newestTime(), later(2))
    await settleAs('early', 'paid')
    await store.spendRequest('key of early', later(3 * DAY))
    assert.deepEqual(await store.newestTime(), new Date(utcDay(later(3 * DAY)) * DAY))
  })

  describe('the installation secret', () => {
    const secretOf = (byte: number) => new Uint8Array(32).fill(byte)
    const installationSecret = async (byte: number) => [
      ...(await store.installationSecret(secretOf(byte))),
    ]

    test('is the first one passed, forever', async () => {
      assert.deepEqual(await installationSecret(7), [...secretOf(7)])
      assert.deepEqual(await installationSecret(8), [...secretOf(7)])
    })

    test('is the same for concurrent callers', async () => {
      const secrets = await Promise.all(
        Array.from({ length: 50 }, (_, at) => installationSecret(at)),
      )
      assert.equal(new Set(secrets.map(String)).size, 1)
      assert.equal(secrets[0]?.length, 32)
    })
  })
}

const LIVE: NewPurchase = { ...ORDER, provider: 'stripe', mode: 'live', keyPrefix: 'mf_live_abcd' }
