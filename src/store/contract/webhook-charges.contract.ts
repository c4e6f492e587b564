import { beforeEach, expect, test } from 'vitest'
import { NOON, type OpenShopStore } from '../../../test/kit/store/shop-fixture.ts'
import type { Address } from '../../base/address.ts'
import type { ShopStore } from '../store.ts'
import { webhookFixture } from './webhook-fixture.ts'

/** What becomes of a pending message and its charge when its webhook is disabled, replayed or deleted. */
export function webhookChargesContract(open: () => Promise<OpenShopStore>): void {
  const fixture = webhookFixture(open)
  const { addHook, read, used, charge, record, fail, disable } = fixture
  let store: ShopStore
  beforeEach(() => {
    store = fixture.store()
  })

  for (const reason of ['gone', 'failing'] as const) {
    test(`disabled (${reason}) and enabled, a webhook delivers its message for the same request`, async () => {
      await addHook()
      await charge(101)
      await disable(reason)
      const disabled = await read()
      expect([disabled.disabled, disabled.lastId]).toStrictEqual([reason, 100])
      expect(disabled.pending).toStrictEqual({ id: 101, replay: 0 })
      expect(await charge(101)).toBe('changed')
      await store.enableWebhook('wh_1')
      expect(await record({ attempt: 2 })).toBe(true)
      expect((await read()).lastId).toBe(101)
      expect(await used()).toBe(1)
    })
  }

  test('a replay moves the cursor back; what is charged is delivered before', async () => {
    await addHook()
    await charge(101)
    await record()
    await charge(102)
    await store.replayWebhook('wh_1', 50)
    expect((await read()).pending).toStrictEqual({ id: 102, replay: 0 })
    expect(await record({ messageId: 102 })).toBe(true)
    const replayed = await read()
    expect([replayed.lastId, replayed.replays, replayed.pending]).toStrictEqual([50, 1, undefined])
    await charge(101)
    // The late result of a former attempt.
    expect(await record({ messageId: 101, replay: 0 })).toBe(false)
    expect(await record({ messageId: 101, replay: 1 })).toBe(true)
    expect(await used()).toBe(3)
  })

  for (const reason of ['gone', 'failing'] as const) {
    test(`a replay survives that the webhook is disabled (${reason}) and enabled`, async () => {
      await addHook()
      await charge(105)
      await store.replayWebhook('wh_1', 50)
      await disable(reason, { messageId: 105 })
      await store.enableWebhook('wh_1')
      await record({ messageId: 105, attempt: 2 })
      const { lastId, pending } = await read()
      expect([lastId, pending]).toStrictEqual([50, undefined])
    })
  }

  test('a replay begins a new series of failures', async () => {
    await addHook()
    await charge(101)
    await fail()
    await store.replayWebhook('wh_1', 50)
    const { failures, lastError, failingSince, nextAttemptAt } = await read()
    expect([failures, lastError, failingSince, nextAttemptAt]).toStrictEqual([0, ...Array(3)])
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
        await charge(101)
        await fail()
        const { nextAttemptAt: dueAt } = await read()
        await change()
        expect(await finish({ attempt: 2, dueAt })).toBe(true)
        const { failures, failingSince, nextAttemptAt, disabled, attempts, pending } = await read()
        expect([failures, failingSince, nextAttemptAt, disabled]).toStrictEqual([0, ...Array(3)])
        expect([attempts, pending?.id, await used()]).toStrictEqual([2, 101, 1])
        expect((await store.listDeliveries('wh_1')).length).toBe(2)
      })
    }
  }

  test('a replay from a later message skips nothing, and repeats nothing', async () => {
    await addHook()
    await charge(101)
    await store.replayWebhook('wh_1', 1_000)
    expect((await read()).lastId).toBe(100)
    await record()
    expect([(await read()).lastId, await used()]).toStrictEqual([101, 1])
  })

  const UNSENT = { status: null, error: 'connection_failed' } as const
  for (const [name, outcomes] of [
    ['before its first attempt ended', []],
    ['after attempts without a connection', [UNSENT, UNSENT]],
    ['after a response', [{ status: 500 }]],
  ] as const) {
    test(`deleted ${name}, a webhook keeps its request charged`, async () => {
      await addHook({}, { subject: undefined })
      await charge(101)
      for (const [at, outcome] of outcomes.entries()) await fail({ attempt: at + 1, ...outcome })
      await store.deleteWebhook('wh_1')
      expect(await used()).toBe(1)
      expect(await store.listDeliveries('wh_1')).toStrictEqual([])
      expect(await store.readWebhook('wh_1', NOON)).toBeUndefined()
    })
  }

  const NO_CHANGE = {
    url: undefined,
    to: undefined,
    from: undefined,
    subject: undefined,
    clear: [],
    state: undefined,
  }

  test('a change keeps what is not named, the secret and the cursor', async () => {
    await addHook()
    const before = await read()
    await store.changeWebhook('wh_1', NO_CHANGE, NOON)
    expect(await read()).toStrictEqual({ ...before, changes: 1 })
    await store.changeWebhook(
      'wh_1',
      { ...NO_CHANGE, url: 'https://other.example/', from: 'shop.example', clear: ['to'] },
      NOON,
    )
    expect(await read()).toStrictEqual({
      ...before,
      changes: 2,
      url: 'https://other.example/',
      to: undefined,
      from: 'shop.example',
    })
    await store.changeWebhook('wh_1', { ...NO_CHANGE, clear: ['from', 'subject'] }, NOON)
    const { from, subject } = await read()
    expect([from, subject]).toStrictEqual([undefined, undefined])
    await store.changeWebhook('wh_none', { ...NO_CHANGE, state: 'paused' }, NOON)
  })

  for (const [name, change] of [
    ['URL', { url: 'https://other.example/' }],
    ['to', { to: 'bob@mayfly.example' as Address }],
    ['from', { from: 'shop.example' }],
    ['subject', { clear: ['subject'] as const }],
  ] as const) {
    test(`a message that was selected before a change of ${name} is not charged`, async () => {
      await addHook()
      const before = await read()
      await store.changeWebhook('wh_1', { ...NO_CHANGE, ...change }, NOON)
      expect(await store.chargeMessage(before, 101, NOON)).toBe('changed')
      expect([(await read()).pending, await used()]).toStrictEqual([undefined, 0])
      expect(await charge(101)).toBe('charged')
    })
  }

  test('what a look examines during a change does not move the cursor', async () => {
    await addHook()
    const { replays, changes } = await read()
    const move = (sinceId: number, lastId: number) =>
      store.moveCursor('wh_1', { replays, changes, sinceId, lastId, seenId: 0 })
    await move(100, 500)
    await store.changeWebhook('wh_1', { ...NO_CHANGE, subject: 'new' }, NOON)
    await move(500, 600)
    expect((await read()).lastId).toBe(500)
    // By earlier looks.
    await move(550, 600)
    expect((await read()).lastId).toBe(550)
  })

  test('a message that is pending during a change is delivered once, with the same id', async () => {
    await addHook()
    await charge(101)
    await store.changeWebhook('wh_1', { ...NO_CHANGE, subject: 'new' }, NOON)
    expect((await read()).pending).toStrictEqual({ id: 101, replay: 0 })
    expect(await record()).toBe(true)
    expect([(await read()).lastId, await used()]).toStrictEqual([101, 1])
  })

  test('concurrent changes of different fields are all kept', async () => {
    await addHook()
    const changes = [{ from: 'shop.example' }, { subject: 'new' }, { clear: ['to'] as const }]
    await Promise.all(
      changes.map((one) => store.changeWebhook('wh_1', { ...NO_CHANGE, ...one }, NOON)),
    )
    const { to, from, subject } = await read()
    expect([to, from, subject]).toStrictEqual([undefined, 'shop.example', 'new'])
  })

  test('a webhook paused by its holder charges nothing until it is active', async () => {
    await addHook()
    const webhook = await read()
    await store.changeWebhook('wh_1', { ...NO_CHANGE, state: 'paused' }, NOON)
    expect((await read()).paused).toBe(true)
    expect(await store.listDeliverable()).toStrictEqual([])
    expect(await store.chargeMessage(webhook, 101, NOON)).toBe('changed')
    for (const resume of [
      () => store.changeWebhook('wh_1', { ...NO_CHANGE, state: 'active' }, NOON),
      () => store.enableWebhook('wh_1'),
    ]) {
      await store.changeWebhook('wh_1', { ...NO_CHANGE, state: 'paused' }, NOON)
      await resume()
      expect((await read()).paused).toBe(false)
    }
    expect(await charge(101)).toBe('charged')
  })

  test('a new URL has no failures, and those of attempts to the former one do not count', async () => {
    await addHook()
    await charge(101)
    await fail()
    await store.changeWebhook('wh_1', { ...NO_CHANGE, url: 'https://other.example/' }, NOON)
    expect([(await read()).failures, (await read()).nextAttemptAt]).toStrictEqual([0, undefined])
    await disable('gone', { attempt: 2 })
    const { failures, disabled, attempts } = await read()
    expect([failures, disabled, attempts]).toStrictEqual([0, undefined, 2])
  })
}
