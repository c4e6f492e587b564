import assert from 'node:assert/strict'
import { beforeEach, test } from 'vitest'
import type { ShopStore } from '../shop-store.ts'
import { later, NOON, type OpenShopStore } from './shop-fixture.ts'
import { webhookFixture } from './webhook-fixture.ts'

/** What becomes of a pending message and its charge when its webhook is disabled, replayed or deleted. */
export function webhookChargesContract(open: () => Promise<OpenShopStore>): void {
  const fixture = webhookFixture(open)
  const { addHook, read, used, take, record, fail, disable } = fixture
  let store: ShopStore
  beforeEach(() => {
    store = fixture.store()
  })

  test('disabled by 410, a webhook keeps its request charged: the receiver has the message', async () => {
    await addHook()
    await take(101)
    await disable('gone')
    assert.deepEqual((await read()).pending, { id: 101, replay: 0, charged: true })
    await store.enableWebhook('wh_1')
    assert.equal(await record({ attempt: 2 }), true)
    assert.equal((await read()).lastId, 101)
    assert.equal(await used(), 1)
  })

  test('disabled by failures, a webhook gets its request back, and charges anew once enabled', async () => {
    await addHook()
    await take(101)
    await disable('failing')
    const disabled = await read()
    assert.deepEqual([disabled.disabled, disabled.lastId], ['failing', 100])
    assert.deepEqual(disabled.pending, { id: 101, replay: 0, charged: false })
    assert.equal(await used(), 0)
    assert.equal(await take(101), 'changed')
    await store.enableWebhook('wh_1')
    assert.equal(await take(101), 'taken')
    assert.equal(await used(), 1)
  })

  test('a replay moves the cursor back; what is charged is delivered before', async () => {
    await addHook()
    await take(101)
    await record()
    await take(102)
    await store.replayWebhook('wh_1', 50)
    assert.deepEqual((await read()).pending, { id: 102, replay: 0, charged: true })
    assert.equal(await record({ messageId: 102 }), true)
    const replayed = await read()
    assert.deepEqual([replayed.lastId, replayed.replays, replayed.pending], [50, 1, undefined])
    await take(101)
    // The late result of a former attempt.
    assert.equal(await record({ messageId: 101, replay: 0 }), false)
    assert.equal(await record({ messageId: 101, replay: 1 }), true)
    assert.equal(await used(), 3)
  })

  for (const reason of ['gone', 'failing'] as const) {
    test(`a replay survives that the webhook is disabled (${reason}) and enabled`, async () => {
      await addHook()
      await take(105)
      await store.replayWebhook('wh_1', 50)
      await disable(reason, { messageId: 105 })
      await store.enableWebhook('wh_1')
      // Charged, it is delivered first; refunded, it comes again in its turn.
      if (reason === 'gone') await record({ messageId: 105, attempt: 2 })
      const { lastId, pending } = await read()
      assert.deepEqual([lastId, pending], [50, undefined])
    })
  }

  test('a replay from a later message skips nothing, and repeats nothing', async () => {
    await addHook()
    await take(101)
    await store.replayWebhook('wh_1', 1_000)
    assert.equal((await read()).lastId, 100)
    await record()
    assert.deepEqual([(await read()).lastId, await used()], [101, 1])
    assert.equal(await store.replayWebhook('wh_2', 1), false)
  })

  const UNSENT = { status: undefined, error: 'connection_failed' } as const
  for (const [name, outcomes, now, left] of [
    ['before its first attempt ended', [], NOON, 1],
    ['after attempts without a connection', [UNSENT, UNSENT], NOON, 0],
    ['after a response', [{ status: 500 }], NOON, 1],
    ['after a response and an attempt without a connection', [{ status: 500 }, UNSENT], NOON, 1],
    ['after a timeout', [{ status: undefined, error: 'timeout' }], NOON, 1],
    ['after a reset', [{ status: undefined, error: 'invalid_response' }], NOON, 1],
    ['when a retry is due', [UNSENT], later(5_000), 1],
  ] as const) {
    test(`deleted ${name}, a webhook keeps ${left} requests charged`, async () => {
      await addHook()
      await take(101)
      for (const [at, outcome] of outcomes.entries()) await fail({ attempt: at + 1, ...outcome })
      assert.equal(await store.deleteWebhook('wh_1', now), true)
      assert.equal(await used(), left)
      assert.deepEqual(await store.listDeliveries('wh_1'), [])
      assert.equal(await store.readWebhook('wh_1'), undefined)
      assert.equal(await store.deleteWebhook('wh_1', now), false)
    })
  }
}
