import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  DAY,
  later,
  NOON,
  type OpenShopStore,
  ORDER,
  pagesOf,
  starter,
} from '../../../test/kit/store/shop-fixture.ts'
import { utcDay } from '../../keys/rules.ts'
import { type PaymentFacts, settle } from '../../shop/rules.ts'
import type { NewOrder } from '../../shop/store.ts'
import type { ShopStore } from '../store.ts'

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
  async function order(id: string, more: Partial<NewOrder> = {}): Promise<void> {
    await store.addOrder({ ...LIVE, id, keyId: `key of ${id}`, ...more })
    await store.saveCheckout(id, { ref: `cs of ${id}`, url: 'https://pay.test' })
  }

  async function settleAs(id: string, state: PaymentFacts['state']): Promise<void> {
    const { revision = 0 } = (await store.readOrder(id)) ?? {}
    const payment = { ref: 'p', paidAt: NOON, refunded: 'no', disputed: 'no' } as const
    const payments = state === 'paid' ? [payment] : []
    const facts: PaymentFacts = { state, payments, renewal: 'none', subscriptionRef: undefined }
    const settlement = settle(starter, facts)
    await store.applySettlement({ orderId: id, revision, settlement, event: undefined, now: NOON })
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
      expect(await list()).toStrictEqual(['early', 'pending', 'late'])
      expect(await list({}, 2)).toStrictEqual(['early', 'pending'])
      expect(await list({ after: later(1), before: later(3) })).toStrictEqual(['pending'])
    })

    test('exclude settled orders, other providers and modes, and orders without a checkout', async () => {
      for (const state of ['paid', 'failed', 'expired'] as const) {
        await order(state, { createdAt: later(1) })
        await settleAs(state, state)
      }
      await order('fake', { createdAt: later(1), provider: 'fake' })
      await order('test', { createdAt: later(1), mode: 'test' })
      await store.addOrder({ ...LIVE, id: 'unopened', createdAt: later(1) })
      expect(await list()).toStrictEqual([])
    })
  })

  test('all orders are listed newest first, in pages', async () => {
    for (const [at, ms] of [0, 1, 1, 2].entries()) await order(`o${at}`, { createdAt: later(ms) })
    const pages = await pagesOf((page) => store.listOrders(page), 3)
    expect(pages).toStrictEqual([['o3', 'o2', 'o1'], ['o0']])
  })

  describe('the sweep', () => {
    const ids = async () => (await store.listOrders({ limit: 1_000 })).map(({ id }) => id).sort()
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
      expect((await ids()).length).toBe(5)
      await sweepAll(later(90 * DAY + 1))
      expect(await ids()).toStrictEqual(['young'])
    })

    test('never deletes a paid order or a key', async () => {
      await order('paid')
      await settleAs('paid', 'paid')
      // Whatever the provider reports later: a key was issued for it.
      await order('undone')
      await settleAs('undone', 'paid')
      await settleAs('undone', 'expired')
      await sweepAll(later(10_000 * DAY))
      expect(await ids()).toStrictEqual(['paid', 'undone'])
      expect((await store.listKeys({ now: NOON, limit: 100 })).length).toBe(2)
    })

    test('deletes payment events after 90 days', async () => {
      await store.recordEvent({ id: 'old', type: 'paid', receivedAt: NOON })
      await store.recordEvent({ id: 'young', type: 'paid', receivedAt: later(1) })
      await sweepAll(later(90 * DAY + 1))
      expect([await store.hasEvent('old'), await store.hasEvent('young')]).toStrictEqual([
        false,
        true,
      ])
    })

    test('deletes usage after 800 days', async () => {
      await order('paid')
      await settleAs('paid', 'paid')
      const keyId = 'key of paid'
      await store.chargeRequest(keyId, NOON)
      await store.chargeRequest(keyId, later(DAY))
      await sweepAll(later(800 * DAY))
      expect((await store.readUsage(keyId, 0)).length).toBe(2)
      await sweepAll(later(801 * DAY))
      expect((await store.readUsage(keyId, 0)).map(({ day }) => day)).toStrictEqual([
        utcDay(later(DAY)),
      ])
      expect((await store.readKey(keyId, NOON))?.used).toBe(2)
    })

    test('runs in small steps', async () => {
      await Promise.all(Array.from({ length: 500 }, (_, at) => order(`o${at}`)))
      expect(await store.sweepShop(later(91 * DAY))).toBe(true)
      const { length } = await ids()
      expect(length > 0 && length < 500, `${length} are left`).toBeTruthy()
      await sweepAll(later(91 * DAY))
      expect(await ids()).toStrictEqual([])
    })
  })

  describe('a sign-in to the admin page', () => {
    test('ends when it expires or is deleted, and the sweep deletes it', async () => {
      for (const hash of ['one', 'two']) {
        await store.addAdminSession({ hash, expiresAt: later(10) })
      }
      const known = async (now: Date) =>
        await Promise.all(['one', 'two', 'three'].map((hash) => store.hasAdminSession(hash, now)))
      expect(await known(later(9))).toStrictEqual([true, true, false])
      expect(await known(later(10))).toStrictEqual([false, false, false])
      await store.deleteAdminSession('one')
      expect(await known(NOON)).toStrictEqual([false, true, false])
      await store.sweepShop(later(9))
      expect(await known(NOON)).toStrictEqual([false, true, false])
      await store.sweepShop(later(10))
      expect(await known(NOON)).toStrictEqual([false, false, false])
    })
  })

  test('the newest time is that of a key, an order, or the last day of use', async () => {
    expect(await store.newestTime()).toBeUndefined()
    await order('late', { createdAt: later(2) })
    await order('early', { createdAt: later(1), idempotencyHash: 'early' })
    expect(await store.newestTime()).toStrictEqual(later(2))
    await settleAs('early', 'paid')
    await store.chargeRequest('key of early', later(3 * DAY))
    expect(await store.newestTime()).toStrictEqual(new Date(utcDay(later(3 * DAY)) * DAY))
  })

  describe('the installation secret', () => {
    const secretOf = (byte: number) => new Uint8Array(32).fill(byte)
    const installationSecret = async (byte: number) => [
      ...(await store.installationSecret(secretOf(byte))),
    ]

    test('is the first one passed, forever', async () => {
      expect(await installationSecret(7)).toStrictEqual([...secretOf(7)])
      expect(await installationSecret(8)).toStrictEqual([...secretOf(7)])
    })

    test('is the same for concurrent callers', async () => {
      const secrets = await Promise.all(
        Array.from({ length: 50 }, (_, at) => installationSecret(at)),
      )
      expect(new Set(secrets.map(String)).size).toBe(1)
      expect(secrets[0]?.length).toBe(32)
    })
  })
}

const LIVE: NewOrder = { ...ORDER, provider: 'stripe', mode: 'live', keyPrefix: 'mf_live_abcd' }
