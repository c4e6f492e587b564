import assert from 'node:assert/strict'
import { beforeEach, test } from 'vitest'
import { idAt } from '../../base/id.ts'
import { KEPT_DELIVERIES } from '../../webhooks/rules.ts'
import type { ShopStore } from '../store.ts'
import { DAY, KEY, later, NOON, type OpenShopStore, pagesOf } from './shop-fixture.ts'
import { HOOK, webhookFixture } from './webhook-fixture.ts'

/** Webhooks: their cursor, what they charge, and their deliveries. */
export function webhooksContract(open: () => Promise<OpenShopStore>): void {
  const fixture = webhookFixture(open)
  const { addHook, read, used, usedByDay, take, record, fail, disable } = fixture
  let store: ShopStore
  beforeEach(() => {
    store = fixture.store()
  })

  test('a new webhook is active and has delivered nothing', async () => {
    await addHook()
    assert.deepEqual(await read(), {
      id: 'wh_1',
      keyId: 'k1',
      url: 'https://receiver.example/',
      to: 'ann@mayfly.example',
      from: undefined,
      subject: 'code',
      createdAt: NOON,
      generation: 1,
      oldSecretUntil: undefined,
      disabled: undefined,
      paused: undefined,
      lastId: 100,
      replays: 0,
      pending: undefined,
      attempts: 0,
      failures: 0,
      lastError: undefined,
      nextAttemptAt: undefined,
      failingSince: undefined,
      gapSince: undefined,
      checkedId: idAt(NOON),
      lastDelivery: undefined,
    })
  })

  test('a key has at most so many webhooks, also if they are added at once', async () => {
    await store.addKey(KEY)
    await store.addKey({ ...KEY, id: 'k2', secretHash: 'other' })
    const ids = Array.from({ length: 8 }, (_, at) => `wh_${at}`)
    const added = await Promise.all(ids.map((id) => store.addWebhook({ ...HOOK, id }, 3)))
    assert.equal(added.filter(Boolean).length, 3)
    assert.equal(await store.addWebhook({ ...HOOK, id: 'wh_k2', keyId: 'k2' }, 3), true)
    assert.equal((await store.listWebhooks('k1')).length, 3)
  })

  test('those of all keys are listed newest first, in pages', async () => {
    await store.addKey(KEY)
    await store.addKey({ ...KEY, id: 'k2', secretHash: 'other' })
    for (const [at, keyId] of ['k1', 'k2', 'k1'].entries()) {
      const createdAt = later(Math.min(at, 1))
      await store.addWebhook({ ...HOOK, id: `wh_${at}`, keyId, createdAt }, 3)
    }
    const pages = await pagesOf((page) => store.listAllWebhooks(page))
    assert.deepEqual(pages, [['wh_2', 'wh_1'], ['wh_0']])
  })

  test('those that are not active are counted as failing', async () => {
    assert.deepEqual(await store.countWebhooks(), { all: 0, failing: 0 })
    await addHook()
    await store.addWebhook({ ...HOOK, id: 'wh_2' }, 3)
    assert.deepEqual(await store.countWebhooks(), { all: 2, failing: 0 })
    await take(101)
    await fail()
    assert.deepEqual(await store.countWebhooks(), { all: 2, failing: 1 })
    await disable('gone')
    assert.deepEqual(await store.countWebhooks(), { all: 2, failing: 1 })
    await store.enableWebhook('wh_1')
    await store.pauseWebhook({ webhook: await read(), messageId: 101, now: NOON }, 'daily_limit')
    assert.deepEqual(await store.countWebhooks(), { all: 2, failing: 1 })
  })

  test('disabled webhooks and those of revoked keys are not delivered', async () => {
    await addHook()
    assert.deepEqual(await store.listDeliverable(), [
      { id: 'wh_1', keyId: 'k1', to: 'ann@mayfly.example', keyPrefix: 'mf_live_abcd' },
    ])
    await take(101)
    await disable('gone')
    assert.deepEqual(await store.listDeliverable(), [])
    await store.enableWebhook('wh_1')
    assert.equal((await store.listDeliverable()).length, 1)
    await store.revokeKey('k1')
    assert.deepEqual(await store.listDeliverable(), [])
  })

  test('a message taken by many at once is charged once', async () => {
    await addHook()
    const webhook = await read()
    const next = { webhook, messageId: 101, now: NOON }
    const results = await Promise.all(Array.from({ length: 10 }, () => store.takeMessage(next)))
    assert.deepEqual(results.sort(), [...Array(9).fill('changed'), 'taken'])
    assert.equal(await used(), 1)
    assert.deepEqual(await usedByDay(), [1])
    assert.deepEqual((await read()).pending, { id: 101, replay: 0, charged: true })
  })

  test('webhooks and requests together never get more than the plan has', async () => {
    await store.addKey({ ...KEY, maxRequests: 5 })
    const hooks = Array.from({ length: 6 }, (_, at) => ({ ...HOOK, id: `wh_${at}` }))
    for (const hook of hooks) await store.addWebhook(hook, 10)
    const webhooks = await store.listWebhooks('k1')
    const takes = webhooks.map((webhook) =>
      store.takeMessage({ webhook, messageId: 101, now: NOON }).then((found) => found === 'taken'),
    )
    const spends = Array.from({ length: 6 }, () =>
      store.spendRequest('k1', NOON).then((spent) => spent !== undefined),
    )
    const passed = await Promise.all([...takes, ...spends])
    assert.equal(passed.filter(Boolean).length, 5)
    assert.equal(await used(), 5)
  })

  test('a delivered message moves the cursor, and its request stays charged', async () => {
    await addHook()
    await take(101)
    assert.equal(await record(), true)
    const { lastId, pending, lastDelivery } = await read()
    assert.deepEqual([lastId, pending], [101, undefined])
    assert.deepEqual(lastDelivery, { messageId: 101, at: NOON })
    assert.equal(await used(), 1)
  })

  test('the result of an attempt counts once, and only for the pending message', async () => {
    await addHook()
    assert.equal(await record(), false)
    await take(101)
    assert.equal(await record({ messageId: 102 }), false)
    assert.equal(await record({ replay: 1 }), false)
    assert.equal(await record(), true)
    assert.equal(await record(), false)
    assert.equal((await store.listDeliveries('wh_1')).length, 1)
  })

  test('a failed attempt is not charged again, and its message stays the next one', async () => {
    await addHook()
    await take(101)
    await fail()
    assert.equal(await take(101, later(6_000)), 'changed')
    await fail({ attempt: 2, at: later(6_000), error: 'timeout', status: undefined })
    const failing = await read()
    assert.deepEqual(
      [failing.lastId, failing.attempts, failing.failures, failing.lastError, failing.failingSince],
      [100, 2, 2, 'timeout', NOON],
    )
    await record({ attempt: 3, at: later(9_000) })
    const { failures, failingSince, nextAttemptAt, lastError } = await read()
    assert.deepEqual([failures, failingSince, nextAttemptAt, lastError], [0, ...Array(3)])
    assert.equal(await used(), 1)
    assert.deepEqual(
      (await store.listDeliveries('wh_1')).map(({ attempt, status, error }) => [
        attempt,
        status,
        error,
      ]),
      [
        [3, 200, undefined],
        [2, undefined, 'timeout'],
        [1, 503, undefined],
      ],
    )
  })

  test('a message that expires undelivered stays charged, and leaves a gap', async () => {
    await addHook({ maxRequests: 100, maxPerDay: 5 })
    await take(101)
    await fail()
    assert.equal(await store.skipMessage('wh_1', 102, later(DAY)), false)
    assert.equal(await store.skipMessage('wh_1', 101, later(DAY)), true)
    const { lastId, gapSince, pending, failures, nextAttemptAt } = await read()
    assert.deepEqual([lastId, gapSince, pending], [101, NOON, undefined])
    assert.deepEqual([failures, nextAttemptAt], [1, later(5_000)])
    assert.equal(await used(), 1)
    assert.deepEqual(await usedByDay(), [1])
    assert.equal(await take(102, later(DAY)), 'taken')
  })

  test('mail that expired unseen leaves a gap since then, or since the webhook fails', async () => {
    await addHook()
    const first = idAt(later(1_000))
    await store.checkWebhook('wh_1', first)
    assert.deepEqual([(await read()).checkedId, (await read()).gapSince], [first, undefined])
    await store.checkWebhook('wh_1', first + 1, later(1_000))
    assert.deepEqual([(await read()).checkedId, (await read()).gapSince], [first + 1, later(1_000)])
    // Known already.
    await store.replayWebhook('wh_1', 100)
    await store.checkWebhook('wh_1', first, later(500))
    assert.deepEqual([(await read()).checkedId, (await read()).gapSince], [first + 1, undefined])
    await take(101)
    await fail()
    await store.checkWebhook('wh_1', first + 2, later(1_000))
    assert.deepEqual((await read()).gapSince, NOON)
  })

  test('a gap begins with the earliest mail that may be missed', async () => {
    await addHook()
    await take(101)
    await fail({ result: { failures: 1, failingSince: later(2_000), retryAt: later(9_000) } })
    const gap = async () => (await read()).gapSince
    await store.checkWebhook('wh_1', idAt(later(5_000)), later(1_000))
    assert.deepEqual(await gap(), later(1_000))
    await store.skipMessage('wh_1', 101, later(500))
    assert.deepEqual(await gap(), later(500))
    await store.checkWebhook('wh_1', idAt(later(6_000)), later(3_000))
    assert.deepEqual(await gap(), later(500))
  })

  test('what was delivered before a replay is not missed if it has expired since', async () => {
    const lastId = idAt(later(DAY))
    await addHook({}, { lastId })
    await store.replayWebhook('wh_1', 100)
    assert.equal((await read()).checkedId, lastId)
  })

  test('a message without quota waits, and is charged once there is some', async () => {
    await addHook({ maxRequests: 100, maxPerDay: 1 })
    await take(101)
    await record()
    assert.equal(await take(102), 'refused')
    await store.pauseWebhook({ webhook: await read(), messageId: 102, now: NOON }, 'daily_limit')
    const paused = await read()
    assert.deepEqual([paused.paused, paused.pending?.charged], ['daily_limit', false])
    assert.equal(await take(102, later(DAY)), 'taken')
    assert.deepEqual([(await read()).paused, await used(later(DAY))], [undefined, 2])
  })

  test('messages that are not selected move the cursor free of charge', async () => {
    await addHook()
    await store.passMessages({ webhook: await read(), messageId: 500 })
    assert.equal((await read()).lastId, 500)
    const before = await read()
    await take(501)
    await store.passMessages({ webhook: before, messageId: 600 })
    assert.equal((await read()).lastId, 500)
    assert.equal(await used(), 1)
  })

  test('a secret cannot be rolled while the old one is valid', async () => {
    await addHook()
    const roll = (now: Date) => store.rollWebhook('wh_1', now, new Date(now.getTime() + DAY))
    const both = await Promise.all([roll(NOON), roll(NOON)])
    assert.deepEqual(
      both.sort((one) => ('until' in (one ?? {}) ? 1 : -1)),
      [{ generation: 2 }, { until: later(DAY) }],
    )
    assert.deepEqual(await roll(later(DAY)), { generation: 3 })
    assert.equal(await store.rollWebhook('wh_2', NOON, later(DAY)), undefined)
  })

  test('only the last deliveries are kept', async () => {
    await addHook()
    await take(101)
    for (let attempt = 1; attempt <= KEPT_DELIVERIES + 3; attempt += 1) await fail({ attempt })
    const kept = await store.listDeliveries('wh_1')
    assert.deepEqual([kept.length, kept[0]?.attempt, kept.at(-1)?.attempt], [100, 103, 4])
  })
}
