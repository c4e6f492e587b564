import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  business,
  DAY,
  later,
  NOON,
  type OpenShopStore,
  ORDER,
  starter,
} from '../../../test/kit/store/shop-fixture.ts'
import { CLAIM_MS, type PaymentFacts, settle } from '../../shop/rules.ts'
import type { NewOrder } from '../../shop/store.ts'
import type { ShopStore } from '../store.ts'

const payment = (ref: string, paidAt = NOON) => ({
  ref,
  paidAt,
  refunded: 'no' as const,
  disputed: 'no' as const,
})
const OPEN: PaymentFacts = {
  state: 'open',
  payments: [],
  renewal: 'none',
  subscriptionRef: undefined,
}
const PAID: PaymentFacts = { ...OPEN, state: 'paid', payments: [payment('p1')] }

/** Orders, payments and claims. */
export function ordersContract(open: () => Promise<OpenShopStore>): void {
  let opened: OpenShopStore
  let store: ShopStore

  beforeEach(async () => {
    opened = await open()
    store = opened.store
  })
  afterEach(() => opened.close())

  const order = (more: Partial<NewOrder> = {}) => store.addOrder({ ...ORDER, ...more })
  /** Like the service: with the revision that was read before. */
  const settleWith = async (facts: PaymentFacts, { now = NOON, eventId = '' } = {}) => {
    const { revision, plan } = (await store.readOrder('o1')) ?? {}
    expect.assert(plan && revision !== undefined)
    const event = eventId === '' ? undefined : { id: eventId, type: 'paid', receivedAt: now }
    const settlement = settle(plan, facts)
    return await store.applySettlement({ orderId: 'o1', revision, settlement, event, now })
  }
  const claim = (secretHash: string, { claimHash = 'claim', now = NOON } = {}) =>
    store.claimKey({ orderId: 'o1', claimHash, secretHash, now })
  const isValid = async (secretHash: string, now = NOON) =>
    (await store.findKey(secretHash, now)) !== undefined

  describe('an order', () => {
    test('is stored unchanged', async () => {
      const created = await order({ email: 'ann@sender.test' })
      const { claimHash: _, idempotencyHash: __, ...expected } = ORDER
      expect(created).toStrictEqual({
        ...expected,
        email: 'ann@sender.test',
        revision: 0,
        state: 'open',
        checkoutRef: undefined,
        checkoutUrl: undefined,
        subscriptionRef: undefined,
        payments: 0,
        paidUntil: undefined,
        partlyRefunded: false,
        claimedAt: undefined,
      })
      expect(await store.readOrder('o1')).toStrictEqual(created)
      expect(await store.listOrders({ limit: 10 })).toStrictEqual([created])
    })

    test('with a known idempotency key is the same order, even concurrently', async () => {
      const orders = await Promise.all(
        Array.from({ length: 50 }, (_, at) =>
          order({ id: `o${at}`, keyId: `k${at}`, idempotencyHash: 'same' }),
        ),
      )
      expect(new Set(orders.map(({ id }) => id)).size).toBe(1)
      expect((await store.listOrders({ limit: 100 })).length).toBe(1)
    })

    test('is found only with its claim secret', async () => {
      await order()
      expect((await store.findOrderByClaim('o1', 'claim'))?.id).toBe('o1')
      expect(await store.findOrderByClaim('o1', 'another')).toBeUndefined()
      expect(await store.findOrderByClaim('o2', 'claim')).toBeUndefined()
      // What an unauthorized client may put into a path.
      for (const id of ['o1\0', '\0', '\ud800', '']) {
        expect(await store.findOrderByClaim(id, 'claim')).toBeUndefined()
      }
    })

    test('is found by the ids of the provider', async () => {
      await order()
      await store.saveCheckout('o1', { ref: 'cs_1', url: 'https://pay.test/1' })
      await settleWith({ ...PAID, subscriptionRef: 'sub_1' })
      for (const ref of ['cs_1', 'sub_1']) {
        expect((await store.findOrderByRef(ref))?.id).toBe('o1')
      }
      expect(await store.findOrderByRef('cs_2')).toBeUndefined()
      expect((await store.readOrder('o1'))?.checkoutUrl).toBe('https://pay.test/1')
    })
  })

  describe('a payment', () => {
    test('creates the key, without a secret', async () => {
      await order()
      expect(await store.readKey('k1', NOON)).toBeUndefined()
      expect(await settleWith(PAID)).toBe(true)
      const key = await store.readKey('k1', NOON)
      expect(key?.state).toBe('active')
      expect(key?.maxRequests).toBe(1_000)
      expect(key?.prefix).toBe('mf_test_abcd')
      expect((await store.readOrder('o1'))?.state).toBe('paid')
    })

    test('reported many times concurrently creates one key', async () => {
      await order()
      await Promise.all(Array.from({ length: 50 }, () => settleWith(PAID)))
      expect((await store.listKeys({ now: NOON, limit: 100 })).length).toBe(1)
      expect((await store.readOrder('o1'))?.payments).toBe(1)
    })

    test('is not applied to an order that changed since it was read', async () => {
      await order()
      const settlement = settle(starter, OPEN)
      await settleWith(PAID)
      const stale = { orderId: 'o1', revision: 0, settlement, event: undefined, now: NOON }
      expect(await store.applySettlement(stale)).toBe(false)
      expect((await store.readOrder('o1'))?.state).toBe('paid')
    })

    test('that changes nothing keeps the revision; one that changes only the key does not', async () => {
      const revision = async () => (await store.readOrder('o1'))?.revision
      await order({ plan: business })
      await settleWith(PAID)
      const before = await revision()
      await settleWith(PAID)
      expect(await revision()).toBe(before)
      await settleWith({ ...PAID, renewal: 'late' })
      expect(await revision()).not.toBe(before)
    })

    test('and its event are stored in one commit', async () => {
      await order()
      expect(await store.hasEvent('evt_1')).toBe(false)
      await settleWith(PAID, { eventId: 'evt_1' })
      expect(await store.hasEvent('evt_1')).toBe(true)
      const change = { orderId: 'o1', revision: 99, settlement: settle(starter, PAID), now: NOON }
      const event = { id: 'evt_2', type: 'paid', receivedAt: NOON }
      expect(await store.applySettlement({ ...change, event })).toBe(false)
      expect(await store.hasEvent('evt_2')).toBe(false)
      await store.recordEvent(event)
      await store.recordEvent(event)
      expect(await store.hasEvent('evt_2')).toBe(true)
    })

    test('that renews resets the usage once', async () => {
      await order({ plan: business })
      await settleWith(PAID)
      for (let times = 0; times < 3; times += 1) await store.chargeRequest('k1', NOON)
      const renewed = { ...PAID, payments: [payment('p1'), payment('p2', later(365 * DAY))] }
      await settleWith(renewed)
      const key = await store.readKey('k1', NOON)
      expect(key?.used).toBe(0)
      expect(key?.expiresAt).toStrictEqual(new Date('2028-03-01T12:00:00Z'))
      await store.chargeRequest('k1', NOON)
      await settleWith(renewed)
      expect((await store.readKey('k1', NOON))?.used).toBe(1)
    })

    test('that renews is not credited with refunds of the previous period', async () => {
      await order({ plan: business })
      await settleWith(PAID)
      const charged = await store.chargeRequest('k1', NOON)
      await settleWith({ ...PAID, payments: [payment('p1'), payment('p2', later(365 * DAY))] })
      await store.chargeRequest('k1', NOON)
      expect.assert(charged)
      await store.refundRequest('k1', charged)
      const key = await store.readKey('k1', NOON)
      // The day is not over, so the request is refunded to its limit.
      expect([key?.used, key?.usedToday]).toStrictEqual([1, 1])
      expect(await store.readUsage('k1', 0)).toStrictEqual([{ day: charged.day, count: 1 }])
    })

    test('that is refunded suspends the key, and one that is won back reactivates it', async () => {
      await order()
      await settleWith(PAID)
      await claim('s1')
      await settleWith({ ...PAID, payments: [{ ...payment('p1'), disputed: 'open' }] })
      expect((await store.findKey('s1', NOON))?.state).toBe('stopped')
      expect(await store.chargeRequest('k1', NOON)).toBeUndefined()
      await settleWith(PAID)
      expect((await store.findKey('s1', NOON))?.state).toBe('active')
      expect.assert(await store.chargeRequest('k1', NOON))
    })

    test('does not reactivate a revoked key', async () => {
      await order()
      await settleWith(PAID)
      await store.revokeKey('k1')
      await settleWith({ ...PAID, payments: [{ ...payment('p1'), disputed: 'open' }] })
      await settleWith(PAID)
      expect((await store.readKey('k1', NOON))?.state).toBe('revoked')
    })
  })

  describe('a claim', () => {
    test('sets the secret of a paid key, and not before', async () => {
      await order()
      expect(await claim('s1')).toBe('unpaid')
      await settleWith(PAID)
      expect(await claim('s1')).toBe('claimed')
      expect(await isValid('s1')).toBe(true)
      expect((await store.readOrder('o1'))?.claimedAt).toStrictEqual(NOON)
    })

    test('repeated within a day replaces the secret', async () => {
      await order()
      await settleWith(PAID)
      await claim('s1')
      expect(await claim('s2', { now: later(CLAIM_MS - 1) })).toBe('claimed')
      expect([await isValid('s1'), await isValid('s2')]).toStrictEqual([false, true])
      expect(await claim('s3', { now: later(CLAIM_MS) })).toBe('over')
      expect([await isValid('s2'), await isValid('s3')]).toStrictEqual([true, false])
    })

    test('raced leaves one valid secret', async () => {
      await order()
      await settleWith(PAID)
      const secrets = Array.from({ length: 50 }, (_, at) => `s${at}`)
      await Promise.all(secrets.map((secret) => claim(secret)))
      const valid = await Promise.all(secrets.map((secret) => isValid(secret)))
      expect(valid.filter(Boolean).length).toBe(1)
    })

    test('needs the claim secret of this order', async () => {
      await order()
      await order({ id: 'o2', keyId: 'k2', claimHash: 'claim-2' })
      await settleWith(PAID)
      expect(await claim('s1', { claimHash: 'claim-2' })).toBe('unknown')
      expect(await isValid('s1')).toBe(false)
    })

    test('of a suspended or revoked key fails', async () => {
      await order()
      for (const reversal of [{ refunded: 'fully' }, { disputed: 'open' }] as const) {
        await settleWith({ ...PAID, payments: [{ ...payment('p1'), ...reversal }] })
        expect(await claim('s1')).toBe('stopped')
      }
      await settleWith(PAID)
      await claim('s1')
      await store.revokeKey('k1')
      expect(await claim('s2')).toBe('stopped')
      expect(await claim('s2', { now: later(CLAIM_MS) })).toBe('stopped')
      expect(await isValid('s2')).toBe(false)
    })

    test('by a mailed link succeeds once, and only with the last link', async () => {
      await order()
      await settleWith(PAID)
      await store.saveClaimLink('o1', 'link-1')
      await store.saveClaimLink('o1', 'link-2')
      expect(await claim('s1', { claimHash: 'link-1' })).toBe('unknown')
      expect((await store.findOrderByClaim('o1', 'link-2'))?.id).toBe('o1')
      expect(await claim('s1', { claimHash: 'link-2' })).toBe('claimed')
      expect(await claim('s2', { claimHash: 'link-2' })).toBe('unknown')
      expect(await claim('s3')).toBe('claimed')
    })
  })

  describe('a receipt', () => {
    const due = async (now = NOON, from = NOON) =>
      (await store.listReceiptsDue(from, now, 10)).map(({ id }) => id)

    test('is due once an order with an email address is paid, and not again after a renewal', async () => {
      await order({ email: 'ann@sender.test', plan: business })
      await order({ id: 'o2', keyId: 'k2' })
      expect(await due()).toStrictEqual([])
      await settleWith(PAID)
      expect(await due()).toStrictEqual(['o1'])
      await store.rescheduleReceipt('o1', later(DAY))
      expect(await due()).toStrictEqual([])
      expect(await due(later(DAY))).toStrictEqual(['o1'])
      expect(await due(later(9 * DAY), later(DAY))).toStrictEqual(['o1'])
      expect(await due(later(9 * DAY), later(DAY + 1))).toStrictEqual([])
      await store.rescheduleReceipt('o1', undefined)
      await settleWith({ ...PAID, payments: [payment('p1'), payment('p2', later(365 * DAY))] })
      expect(await due(later(1_000 * DAY))).toStrictEqual([])
    })
  })

  test('the time up to which a provider was reconciled is stored', async () => {
    expect(await store.readReconciled('stripe')).toBeUndefined()
    await store.saveReconciled('stripe', NOON)
    await store.saveReconciled('stripe', later(1))
    expect(await store.readReconciled('stripe')).toStrictEqual(later(1))
  })
}
