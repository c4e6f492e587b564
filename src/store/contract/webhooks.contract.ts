import { beforeEach, expect, test } from 'vitest'
import {
  DAY,
  KEY,
  later,
  NOON,
  type OpenShopStore,
  pagesOf,
} from '../../../test/kit/store/shop-fixture.ts'
import { idAt } from '../../base/id.ts'
import { KEPT_DELIVERIES } from '../../webhooks/rules.ts'
import type { ShopStore } from '../store.ts'
import { HOOK, webhookFixture } from './webhook-fixture.ts'

/** Webhooks: their cursor, what they charge, and their deliveries. */
export function webhooksContract(open: () => Promise<OpenShopStore>): void {
  const fixture = webhookFixture(open)
  const { addHook, read, used, usedByDay, charge, record, fail, disable } = fixture
  let store: ShopStore
  beforeEach(() => {
    store = fixture.store()
  })

  test('a new webhook is active and has delivered nothing', async () => {
    await addHook()
    expect(await read()).toStrictEqual({
      id: 'wh_1',
      keyId: 'k1',
      key: await store.readKey('k1', NOON),
      url: 'https://receiver.example/',
      to: 'ann@mayfly.example',
      from: undefined,
      subject: 'code',
      createdAt: NOON,
      generation: 1,
      oldSecretUntil: undefined,
      disabled: undefined,
      paused: false,
      lastId: 100,
      replays: 0,
      changes: 0,
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

  test('a webhook is not found for another key', async () => {
    await addHook()
    const found = ['k1', 'k2'].map((keyId) => store.readWebhook('wh_1', NOON, keyId))
    expect((await Promise.all(found)).map((webhook) => webhook?.id)).toStrictEqual([
      'wh_1',
      undefined,
    ])
  })

  test('a key has at most ten webhooks, also if they are added at once', async () => {
    await store.addKey(KEY)
    await store.addKey({ ...KEY, id: 'k2', secretHash: 'other' })
    const ids = Array.from({ length: 13 }, (_, at) => `wh_${at}`)
    const added = await Promise.all(ids.map((id) => store.addWebhook({ ...HOOK, id })))
    expect(added.filter(Boolean).length).toBe(10)
    expect(await store.addWebhook({ ...HOOK, id: 'wh_k2', keyId: 'k2' })).toBe(true)
    expect((await store.listWebhooks('k1', NOON)).length).toBe(10)
  })

  test('those of all keys are listed newest first, in pages', async () => {
    await store.addKey(KEY)
    await store.addKey({ ...KEY, id: 'k2', secretHash: 'other' })
    for (const [at, keyId] of ['k1', 'k2', 'k1'].entries()) {
      const createdAt = later(Math.min(at, 1))
      await store.addWebhook({ ...HOOK, id: `wh_${at}`, keyId, createdAt })
    }
    const pages = await pagesOf((page) => store.listAllWebhooks({ ...page, now: NOON }))
    expect(pages).toStrictEqual([['wh_2', 'wh_1'], ['wh_0']])
  })

  test('those that fail or are disabled are counted as failing', async () => {
    expect(await store.countWebhooks()).toStrictEqual({ all: 0, failing: 0 })
    await addHook()
    await store.addWebhook({ ...HOOK, id: 'wh_2' })
    expect(await store.countWebhooks()).toStrictEqual({ all: 2, failing: 0 })
    await charge(101)
    await fail()
    expect(await store.countWebhooks()).toStrictEqual({ all: 2, failing: 1 })
    await disable('gone')
    expect(await store.countWebhooks()).toStrictEqual({ all: 2, failing: 1 })
    await store.enableWebhook('wh_1')
    expect(await store.countWebhooks()).toStrictEqual({ all: 2, failing: 0 })
    await fail()
    expect(await store.countWebhooks()).toStrictEqual({ all: 2, failing: 1 })
    await store.skipMessage('wh_1', 101, NOON)
    expect(await store.countWebhooks(), 'its message has expired').toStrictEqual({
      all: 2,
      failing: 0,
    })
  })

  test('disabled webhooks and those of revoked keys are not delivered', async () => {
    await addHook()
    expect(await store.listDeliverable()).toStrictEqual([
      {
        id: 'wh_1',
        keyId: 'k1',
        to: 'ann@mayfly.example',
        from: null,
        subject: 'code',
        keyPrefix: 'mf_live_abcd',
      },
    ])
    await charge(101)
    await disable('gone')
    expect(await store.listDeliverable()).toStrictEqual([])
    await store.enableWebhook('wh_1')
    expect((await store.listDeliverable()).length).toBe(1)
    await store.revokeKey('k1')
    expect(await store.listDeliverable()).toStrictEqual([])
  })

  test('a message charged by many at once is charged once', async () => {
    await addHook()
    const webhook = await read()
    const many = Array.from({ length: 10 }, () => store.chargeMessage(webhook, 101, NOON))
    const results = await Promise.all(many)
    expect(results.sort()).toStrictEqual([...Array(9).fill('changed'), 'charged'])
    expect(await used()).toBe(1)
    expect(await usedByDay()).toStrictEqual([1])
    expect((await read()).pending).toStrictEqual({ id: 101, replay: 0 })
  })

  test('webhooks and requests together never get more than the plan has', async () => {
    await store.addKey({ ...KEY, maxRequests: 5 })
    const hooks = Array.from({ length: 6 }, (_, at) => ({ ...HOOK, id: `wh_${at}` }))
    for (const hook of hooks) await store.addWebhook(hook)
    const webhooks = await store.listWebhooks('k1', NOON)
    const messages = webhooks.map((webhook) =>
      store.chargeMessage(webhook, 101, NOON).then((result) => result === 'charged'),
    )
    const requests = Array.from({ length: 6 }, () =>
      store.chargeRequest('k1', NOON).then((charged) => charged !== undefined),
    )
    const passed = await Promise.all([...messages, ...requests])
    expect(passed.filter(Boolean).length).toBe(5)
    expect(await used()).toBe(5)
  })

  test('a delivered message moves the cursor, and its request stays charged', async () => {
    await addHook()
    await charge(101)
    expect(await record()).toBe(true)
    const { lastId, pending, lastDelivery } = await read()
    expect([lastId, pending]).toStrictEqual([101, undefined])
    expect(lastDelivery).toStrictEqual({ messageId: 101, at: NOON })
    expect(await used()).toBe(1)
  })

  test('the result of an attempt counts once, and only for the pending message', async () => {
    await addHook()
    expect(await record()).toBe(false)
    await charge(101)
    expect(await record({ messageId: 102 })).toBe(false)
    expect(await record({ replay: 1 })).toBe(false)
    expect(await record()).toBe(true)
    expect(await record()).toBe(false)
    expect((await store.listDeliveries('wh_1')).length).toBe(1)
  })

  test('a failed attempt is not charged again, and its message stays the next one', async () => {
    await addHook()
    await charge(101)
    await fail()
    expect(await charge(101, later(6_000))).toBe('changed')
    await fail({ attempt: 2, at: later(6_000), error: 'timeout', status: null })
    const failing = await read()
    expect([
      failing.lastId,
      failing.attempts,
      failing.failures,
      failing.lastError,
      failing.failingSince,
    ]).toStrictEqual([100, 2, 2, 'timeout', NOON])
    await record({ attempt: 3, at: later(9_000) })
    const { failures, failingSince, nextAttemptAt, lastError } = await read()
    expect([failures, failingSince, nextAttemptAt, lastError]).toStrictEqual([0, ...Array(3)])
    expect(await used()).toBe(1)
    expect(
      (await store.listDeliveries('wh_1')).map(({ attempt, status, error }) => [
        attempt,
        status,
        error,
      ]),
    ).toStrictEqual([
      [3, 200, null],
      [2, null, 'timeout'],
      [1, 503, null],
    ])
  })

  test('a message that expires undelivered stays charged, and leaves a gap', async () => {
    await addHook({ maxRequests: 100, maxPerDay: 5 })
    await charge(101)
    await fail()
    await store.skipMessage('wh_1', 102, NOON)
    expect((await read()).pending).toStrictEqual({ id: 101, replay: 0 })
    await store.skipMessage('wh_1', 101, NOON)
    const { lastId, gapSince, pending, failures, nextAttemptAt } = await read()
    expect([lastId, gapSince, pending]).toStrictEqual([101, NOON, undefined])
    expect([failures, nextAttemptAt]).toStrictEqual([1, later(5_000)])
    expect(await used()).toBe(1)
    expect(await usedByDay()).toStrictEqual([1])
    expect(await charge(102, later(DAY))).toBe('charged')
  })

  test('mail that expired unseen leaves a gap since then', async () => {
    await addHook()
    const first = idAt(later(1_000))
    const position = { replays: 0, changes: 0, sinceId: 0, lastId: 0, seenId: first }
    await store.moveCursor('wh_1', position)
    expect([(await read()).checkedId, (await read()).gapSince]).toStrictEqual([first, undefined])
    await store.recordGap('wh_1', first + 1, later(1_000))
    expect([(await read()).checkedId, (await read()).gapSince]).toStrictEqual([
      first + 1,
      later(1_000),
    ])
    // Known already.
    await store.replayWebhook('wh_1', 100)
    await store.moveCursor('wh_1', position)
    await store.recordGap('wh_1', first, later(500))
    expect([(await read()).checkedId, (await read()).gapSince]).toStrictEqual([
      first + 1,
      undefined,
    ])
  })

  test('a gap begins with the earliest mail that may be missed', async () => {
    await addHook()
    await charge(101)
    await fail()
    const gap = async () => (await read()).gapSince
    await store.recordGap('wh_1', idAt(later(5_000)), later(1_000))
    expect(await gap()).toStrictEqual(later(1_000))
    await store.skipMessage('wh_1', 101, later(500))
    expect(await gap()).toStrictEqual(later(500))
    await store.recordGap('wh_1', idAt(later(6_000)), later(3_000))
    expect(await gap()).toStrictEqual(later(500))
  })

  test('what was delivered before a replay is not missed if it has expired since', async () => {
    const lastId = idAt(later(DAY))
    await addHook({}, { lastId })
    await store.replayWebhook('wh_1', 100)
    expect((await read()).checkedId).toBe(lastId)
  })

  test('a message without quota is not pending, and is charged once there is some', async () => {
    await addHook({ maxRequests: 100, maxPerDay: 1 })
    await charge(101)
    await record()
    expect(await charge(102)).toBe('refused')
    expect((await read()).pending).toBeUndefined()
    expect(await charge(102, later(DAY))).toBe('charged')
    expect(await used(later(DAY))).toBe(2)
  })

  test('messages that are not selected move the cursor free of charge', async () => {
    await addHook()
    const move = (lastId: number, replays = 0) =>
      store.moveCursor('wh_1', { replays, changes: 0, sinceId: 0, lastId, seenId: 0 })
    await move(500)
    expect((await read()).lastId).toBe(500)
    await move(400)
    await move(600, 1)
    expect((await read()).lastId).toBe(500)
    await charge(501)
    await move(600)
    expect((await read()).lastId).toBe(500)
    expect(await used()).toBe(1)
  })

  test('a secret cannot be rolled while the old one is valid', async () => {
    await addHook()
    const roll = (now: Date) => store.rollWebhook('wh_1', now, new Date(now.getTime() + DAY))
    const both = await Promise.all([roll(NOON), roll(NOON)])
    expect(both.toSorted()).toStrictEqual([2, undefined])
    expect((await read()).oldSecretUntil).toStrictEqual(later(DAY))
    expect(await roll(later(DAY))).toBe(3)
    expect(await store.rollWebhook('wh_2', NOON, later(DAY))).toBeUndefined()
  })

  test('only the last deliveries are kept', async () => {
    await addHook()
    await charge(101)
    for (let attempt = 1; attempt <= KEPT_DELIVERIES + 3; attempt += 1) await fail({ attempt })
    const kept = await store.listDeliveries('wh_1')
    expect([kept.length, kept[0]?.attempt, kept.at(-1)?.attempt]).toStrictEqual([100, 103, 4])
  })
}
