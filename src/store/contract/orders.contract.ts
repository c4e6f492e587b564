import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'vitest'
import type { NewPurchase } from '../../shop/purchase-store.ts'
import { CLAIM_MS, type PaymentFacts, settle } from '../../shop/rules.ts'
import type { ShopStore } from '../store.ts'
import { business, DAY, later, NOON, type OpenShopStore, ORDER, starter } from './shop-fixture.ts'

const payment = (ref: string, paidAt = NOON) => ({
  ref,
  paidAt,
  returned: 'no' as const,
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
export function purchasesContract(open: () => Promise<OpenShopStore>): void {
  let opened: OpenShopStore
  let store: ShopStore

  beforeEach(async () => {
    opened = await open()
    store = opened.store
  })
  afterEach(() => opened.close())

  const order = (more: Partial<NewPurchase> = {}) => store.addPurchase({ ...ORDER, ...more })
  /** Like the service: with the revision that was read before. */
  const settleWith = async (facts: PaymentFacts, { now = NOON, eventId = '' } = {}) => {
    const { revision, plan } = (await store.readPurchase('o1')) ?? {}
    assert.ok(plan && revision !== undefined)
    const event = eventId === '' ? undefined : { id: eventId, type: 'paid', receivedAt: now }
    const settlement = settle(plan, facts)
    return await store.settlePurchase({ orderId: 'o1', revision, settlement, event, now })
  }
  const claim = (secretHash: string, { claimHash = 'claim', now = NOON } = {}) =>
    store.claimKey({ orderId: 'o1', claimHash, secretHash, now })
  const isValid = async (secretHash: string, now = NOON) =>
    (await store.findKey(secretHash, now)) !== undefined

  describe('an order', () => {
    test('is stored unchanged', async () => {
      const created = await order({ email: 'ann@sender.test' })
      const { claimHash: _, idempotencyHash: __, ...expected } = ORDER
      assert.deepEqual(created, {
        ...expected,
        email: 'ann@sender.test',
        revision: 0,
        state: 'open',
        checkoutRef: undefined,
        checkoutUrl: undefined,
        subscriptionRef: undefined,
        payments: 0,
        paidUntil: undefined,
        partlyReturned: false,
        claimedAt: undefined,
      })
      assert.deepEqual(await store.readPurchase('o1'), created)
      assert.deepEqual(await store.listPurchases({ limit: 10 }), [created])
    })

    test('with a known idempotency key is the same order, even concurrently', async () => {
      const orders = await Promise.all(
        Array.from({ length: 50 }, (_, at) =>
          order({ id: `o${at}`, keyId: `k${at}`, idempotencyHash: 'same' }),
        ),
      )
      assert.equal(new Set(orders.map(({ id }) => id)).size, 1)
      assert.equal((await store.listPurchases({ limit: 100 })).length, 1)
    })

    test('is found only with its claim secret', async () => {
      await order()
      assert.equal((await store.findOrder('o1', 'claim'))?.id, 'o1')
      assert.equal(await store.findOrder('o1', 'another'), undefined)
      assert.equal(await store.findOrder('o2', 'claim'), undefined)
      // What an unauthorized client may put into a path.
      for (const id of ['o1\0', '\0', '\ud800', '']) {
        assert.equal(await store.findOrder(id, 'claim'), undefined)
      }
    })

    test('is found by the ids of the provider', async () => {
      await order()
      await store.saveCheckout('o1', { ref: 'cs_1', url: 'https://pay.test/1' })
      await settleWith({ ...PAID, subscriptionRef: 'sub_1' })
      for (const ref of ['cs_1', 'sub_1']) {
        assert.equal((await store.findPurchaseByRef(ref))?.id, 'o1')
      }
      assert.equal(await store.findPurchaseByRef('cs_2'), undefined)
      assert.equal((await store.readPurchase('o1'))?.checkoutUrl, 'https://pay.test/1')
    })
  })

  describe('a payment', () => {
    test('creates the key, without a secret', async () => {
      await order()
      assert.equal(await store.readKey('k1', NOON), undefined)
      assert.equal(await settleWith(PAID), true)
      const key = await store.readKey('k1', NOON)
      assert.equal(key?.state, 'active')
      assert.equal(key?.maxRequests, 1_000)
      assert.equal(key?.prefix, 'mf_test_abcd')
      assert.equal((await store.readPurchase('o1'))?.state, 'paid')
    })

    test('reported many times concurrently creates one key', async () => {
      await order()
      await Promise.all(Array.from({ length: 50 }, () => settleWith(PAID)))
      assert.equal((await store.listKeys({ now: NOON, limit: 100 })).length, 1)
      assert.equal((await store.readPurchase('o1'))?.payments, 1)
    })

    test('is not applied to an order that changed since it was read', async () => {
      await order()
      const settlement = settle(starter, OPEN)
      await settleWith(PAID)
      const stale = { orderId: 'o1', revision: 0, settlement, event: undefined, now: NOON }
      assert.equal(await store.settlePurchase(stale), false)
      assert.equal((await store.readPurchase('o1'))?.state, 'paid')
    })

    test('that changes nothing keeps the revision; one that changes only the key does not', async () => {
      const revision = async () => (await store.readPurchase('o1'))?.revision
      await order({ plan: business })
      await settleWith(PAID)
      const before = await revision()
      await settleWith(PAID)
      assert.equal(await revision(), before)
      await settleWith({ ...PAID, renewal: 'late' })
      assert.notEqual(await revision(), before)
    })

    test('and its event are stored in one commit', async () => {
      await order()
      assert.equal(await store.hasEvent('evt_1'), false)
      await settleWith(PAID, { eventId: 'evt_1' })
      assert.equal(await store.hasEvent('evt_1'), true)
      const change = { orderId: 'o1', revision: 99, settlement: settle(starter, PAID), now: NOON }
      const event = { id: 'evt_2', type: 'paid', receivedAt: NOON }
      assert.equal(await store.settlePurchase({ ...change, event }), false)
      assert.equal(await store.hasEvent('evt_2'), false)
      await store.recordEvent(event)
      await store.recordEvent(event)
      assert.equal(await store.hasEvent('evt_2'), true)
    })

    test('that renews resets the usage once', async () => {
      await order({ plan: business })
      await settleWith(PAID)
      for (let times = 0; times < 3; times += 1) await store.spendRequest('k1', NOON)
      const renewed = { ...PAID, payments: [payment('p1'), payment('p2', later(365 * DAY))] }
      await settleWith(renewed)
      const key = await store.readKey('k1', NOON)
      assert.equal(key?.used, 0)
      assert.deepEqual(key?.expiresAt, new Date('2028-03-01T12:00:00Z'))
      await store.spendRequest('k1', NOON)
      await settleWith(renewed)
      assert.equal((await store.readKey('k1', NOON))?.used, 1)
    })

    test('that renews is not credited with refunds of the previous period', async () => {
      await order({ plan: business })
      await settleWith(PAID)
      const spent = await store.spendRequest('k1', NOON)
      await settleWith({ ...PAID, payments: [payment('p1'), payment('p2', later(365 * DAY))] })
      await store.spendRequest('k1', NOON)
      assert.ok(spent)
      await store.returnRequest('k1', spent)
      const key = await store.readKey('k1', NOON)
      // The day is not over, so the request is refunded to its limit.
      assert.deepEqual([key?.used, key?.usedToday], [1, 1])
      assert.deepEqual(await store.readUsage('k1', 0), [{ day: spent.day, count: 1 }])
    })

    test('that is refunded suspends the key, and one that is won back reactivates it', async () => {
      await order()
      await settleWith(PAID)
      await claim('s1')
      await settleWith({ ...PAID, payments: [{ ...payment('p1'), disputed: 'open' }] })
      assert.equal((await store.findKey('s1', NOON))?.state, 'stopped')
      assert.equal(await store.spendRequest('k1', NOON), undefined)
      await settleWith(PAID)
      assert.equal((await store.findKey('s1', NOON))?.state, 'active')
      assert.ok(await store.spendRequest('k1', NOON))
    })

    test('does not reactivate a revoked key', async () => {
      await order()
      await settleWith(PAID)
      await store.revokeKey('k1')
      await settleWith({ ...PAID, payments: [{ ...payment('p1'), disputed: 'open' }] })
      await settleWith(PAID)
      assert.equal((await store.readKey('k1', NOON))?.state, 'revoked')
    })
  })

  describe('a claim', () => {
    test('sets the secret of a paid key, and not before', async () => {
      await order()
      assert.equal(await claim('s1'), 'unpaid')
      await settleWith(PAID)
      assert.equal(await claim('s1'), 'claimed')
      assert.equal(await isValid('s1'), true)
      assert.deepEqual((await store.readPurchase('o1'))?.claimedAt, NOON)
    })

    test('repeated within a day replaces the secret', async () => {
      await order()
      await settleWith(PAID)
      await claim('s1')
      assert.equal(await claim('s2', { now: later(CLAIM_MS - 1) }), 'claimed')
      assert.deepEqual([await isValid('s1'), await isValid('s2')], [false, true])
      assert.equal(await claim('s3', { now: later(CLAIM_MS) }), 'over')
      assert.deepEqual([await isValid('s2'), await isValid('s3')], [true, false])
    })

    test('raced leaves one valid secret', async () => {
      await order()
      await settleWith(PAID)
      const secrets = Array.from({ length: 50 }, (_, at) => `s${at}`)
      await Promise.all(secrets.map((secret) => claim(secret)))
      const valid = await Promise.all(secrets.map((secret) => isValid(secret)))
      assert.equal(valid.filter(Boolean).length, 1)
    })

    test('needs the claim secret of this order', async () => {
      await order()
      await order({ id: 'o2', keyId: 'k2', claimHash: 'claim-2' })
      await settleWith(PAID)
      assert.equal(await claim('s1', { claimHash: 'claim-2' }), 'unknown')
      assert.equal(await isValid('s1'), false)
    })

    test('of a suspended or revoked key fails', async () => {
      await order()
      for (const reversal of [{ returned: 'fully' }, { disputed: 'open' }] as const) {
        await settleWith({ ...PAID, payments: [{ ...payment('p1'), ...reversal }] })
        assert.equal(await claim('s1'), 'stopped')
      }
      await settleWith(PAID)
      await claim('s1')
      await store.revokeKey('k1')
      assert.equal(await claim('s2'), 'stopped')
      assert.equal(await claim('s2', { now: later(CLAIM_MS) }), 'stopped')
      assert.equal(await isValid('s2'), false)
    })

    test('by a mailed link succeeds once, and only with the last link', async () => {
      await order()
      await settleWith(PAID)
      await store.saveClaimLink('o1', 'link-1')
      await store.saveClaimLink('o1', 'link-2')
      assert.equal(await claim('s1', { claimHash: 'link-1' }), 'unknown')
      assert.equal((await store.findOrder('o1', 'link-2'))?.id, 'o1')
      assert.equal(await claim('s1', { claimHash: 'link-2' }), 'claimed')
      assert.equal(await claim('s2', { claimHash: 'link-2' }), 'unknown')
      assert.equal(await claim('s3'), 'claimed')
    })
  })

  describe('a receipt', () => {
    const due = async (now = NOON, from = NOON) =>
      (await store.listReceiptsDue(from, now, 10)).map(({ id }) => id)

    test('is due once an order with an email address is paid, and not again after a renewal', async () => {
      await order({ email: 'ann@sender.test', plan: business })
      await order({ id: 'o2', keyId: 'k2' })
      assert.deepEqual(await due(), [])
      await settleWith(PAID)
      assert.deepEqual(await due(), ['o1'])
      await store.rescheduleReceipt('o1', later(DAY))
      assert.deepEqual(await due(), [])
      assert.deepEqual(await due(later(DAY)), ['o1'])
      assert.deepEqual(await due(later(9 * DAY), later(DAY)), ['o1'])
      assert.deepEqual(await due(later(9 * DAY), later(DAY + 1)), [])
      await store.rescheduleReceipt('o1', undefined)
      await settleWith({ ...PAID, payments: [payment('p1'), payment('p2', later(365 * DAY))] })
      assert.deepEqual(await due(later(1_000 * DAY)), [])
    })
  })

  test('the time up to which a provider was reconciled is stored', async () => {
    assert.equal(await store.readReconciled('stripe'), undefined)
    await store.saveReconciled('stripe', NOON)
    await store.saveReconciled('stripe', later(1))
    assert.deepEqual(await store.readReconciled('stripe'), later(1))
  })
}
