import assert from 'node:assert/strict'
import { beforeEach, test } from 'vitest'
import type { ShopStore } from '../store.ts'
import { DAY, later, NOON, type OpenShopStore } from './shop-fixture.ts'
import { webhookFixture } from './webhook-fixture.ts'

/** What becomes of a pending message and its charge when its webhook is disabled, replayed or deleted. */
export function webhookChargesContract(open: () => Promise<OpenShopStore>): void {
  const fixture = webhookFixture(open)
  const { addHook, read, used, take, record, fail, disable } = fixture
  let store: ShopStore
  beforeEach(() => {
    store = fixture.store()
  })

  for (const reason of ['gone', 'failing'] as const) {
    test(`disabled (${reason}) and enabled, a webhook delivers its message for the same request`, async () => {
      await addHook()
      await take(101)
      await disable(reason)
      const disabled = await read()
      assert.deepEqual([disabled.disabled, disabled.lastId], [reason, 100])
      assert.deepEqual(disabled.pending, { id: 101, replay: 0, charged: true })
      assert.equal(await take(101), 'changed')
      await store.enableWebhook('wh_1')
      assert.equal(await record({ attempt: 2 }), true)
      assert.equal((await read()).lastId, 101)
      assert.equal(await used(), 1)
    })
  }

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
      await record({ messageId: 105, attempt: 2 })
      const { lastId, pending } = await read()
      assert.deepEqual([lastId, pending], [50, undefined])
    })
  }

  test('a replay begins a new series of failures', async () => {
    await addHook()
    await take(101)
    await fail()
    await store.replayWebhook('wh_1', 50)
    const { failures, lastError, failingSince, nextAttemptAt } = await read()
    assert.deepEqual([failures, lastError, failingSince, nextAttemptAt], [0, ...Array(3)])
  })

  for (const [name, change] of [
    ['enabled', () => store.enableWebhook('wh_1')],
    ['replayed', () => store.replayWebhook('wh_1', 50)],
  ] as const) {
    for (const [result, finish] of [
      ['fails', fail],
      ['disables it', (more: object) => disable('failing', more)],
    ] as const) {
      test(`${name} during an attempt that ${result}, a webhook makes the next one at once`, async () => {
        await addHook()
        await take(101)
        await fail()
        const { nextAttemptAt: dueAt } = await read()
        await change()
        assert.equal(await finish({ attempt: 2, dueAt }), true)
        const { failures, failingSince, nextAttemptAt, disabled, attempts, pending } = await read()
        assert.deepEqual([failures, failingSince, nextAttemptAt, disabled], [0, ...Array(3)])
        assert.deepEqual([attempts, pending?.charged, await used()], [2, true, 1])
        assert.equal((await store.listDeliveries('wh_1')).length, 2)
      })
    }
  }

  for (const [result, finish] of [
    ['delivers', record],
    ['fails to deliver', fail],
  ] as const) {
    test(`paused because its key was stopped, a webhook later ${result} its message for the same request`, async () => {
      await addHook()
      await take(101)
      await fail()
      const next = { webhook: await read(), messageId: 101, now: later(DAY) }
      await store.pauseWebhook(next, 'plan_expired')
      const { paused, pending } = await read()
      assert.deepEqual(
        [paused, pending, await used()],
        ['plan_expired', { id: 101, replay: 0, charged: true }, 1],
      )
      assert.equal(await take(101), 'changed')
      assert.equal(await finish({ attempt: 2 }), true)
      // What was read before is not the state any more.
      await store.pauseWebhook({ ...next, messageId: 102 }, 'plan_expired')
      assert.deepEqual([(await read()).paused, await used()], [undefined, 1])
    })
  }

  test('paused before a replay is begun, a webhook keeps what is charged, then begins', async () => {
    await addHook()
    await take(105)
    await store.replayWebhook('wh_1', 50)
    await store.pauseWebhook({ webhook: await read(), messageId: 105, now: NOON }, 'plan_expired')
    assert.deepEqual((await read()).pending, { id: 105, replay: 0, charged: true })
    await record({ messageId: 105 })
    const { lastId, pending } = await read()
    assert.deepEqual([lastId, pending, await used()], [50, undefined, 1])
  })

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
  for (const [name, outcomes] of [
    ['before its first attempt ended', []],
    ['after attempts without a connection', [UNSENT, UNSENT]],
    ['after a response', [{ status: 500 }]],
  ] as const) {
    test(`deleted ${name}, a webhook keeps its request charged`, async () => {
      await addHook({}, { subject: undefined })
      await take(101)
      for (const [at, outcome] of outcomes.entries()) await fail({ attempt: at + 1, ...outcome })
      assert.equal(await store.deleteWebhook('wh_1'), true)
      assert.equal(await used(), 1)
      assert.deepEqual(await store.listDeliveries('wh_1'), [])
      assert.equal(await store.readWebhook('wh_1'), undefined)
      assert.equal(await store.deleteWebhook('wh_1'), false)
    })
  }
}
