import { randomBytes } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { openPostgres, type Postgres } from '../../test/kit/store/postgres.ts'
import { KEY } from '../../test/kit/store/shop-fixture.ts'
import { waitUntil } from '../../test/kit/wait-until.ts'
import { makeWaiterCounts, openMemoryBus } from '../bus/memory.ts'
import { POOL, type Topic, webhookTopic } from '../mail/rules/session.ts'
import { deliverNext } from './deliver.ts'
import { openPace, runWebhooks } from './run-webhooks.ts'
import { openWebhookFixture, type WebhookFixture } from './testing/fixture.ts'

const TIMING = {
  ttlMs: 60_000,
  renewMs: 50,
  stopMarginMs: 100,
  retryMs: 20,
  stopTimeoutMs: 100,
  refreshMs: 20,
  staggerMs: 1,
}

let postgres: Postgres
beforeAll(async () => {
  postgres = await openPostgres()
})
afterAll(() => postgres.close())

let fixture: WebhookFixture
let ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends) await end()
  ends = []
  await fixture.close()
})

/** One node; the returned function stops it. */
function startNode(more: Partial<Parameters<typeof runWebhooks>[0]> = {}) {
  const bus = openMemoryBus(`webhooks-${randomBytes(8).toString('hex')}`, makeWaiterCounts())
  const ended = new AbortController()
  const done = runWebhooks({
    ...fixture.deps,
    bus,
    testKeys: false,
    timing: TIMING,
    ended: ended.signal,
    ...more,
  })
  const stop = async () => {
    ended.abort()
    await done
    await bus.close()
  }
  ends.push(stop)
  return { wake: (topic: Topic = POOL) => bus.wake(topic), stop }
}

const delivered = (count: number) => waitUntil(() => fixture.receiver.received.length >= count)

test('webhooks of a node that dies in an attempt are taken over, and nothing is charged twice', async () => {
  fixture = await openWebhookFixture(postgres)
  const { id: keyId } = await fixture.issue()
  const id = await fixture.hook(keyId)
  await fixture.send('1')
  await fixture.send('2')
  let [attempts, isDead] = [0, false]
  const never = new Promise<never>(() => {})
  const dead = startNode({
    timing: { ...TIMING, ttlMs: 400 },
    // A process that is gone: its attempt never ends, and it renews nothing.
    store: {
      ...fixture.mail.store,
      acquireLease: (lease) => (isDead ? never : fixture.mail.store.acquireLease(lease)),
      releaseLease: () => never,
    },
    webhookClient: {
      send() {
        attempts += 1
        isDead = true
        return never
      },
    },
  })
  await waitUntil(() => attempts === 1)
  expect((await fixture.read(id)).pending).toBeTruthy()
  // Never ends.
  void dead.stop()
  ends = []
  startNode({ shop: fixture.other, store: fixture.mail.other })
  await delivered(2)
  await waitUntil(async () => (await fixture.read(id)).pending === undefined)
  expect(fixture.receiver.subjects()).toStrictEqual(['1', '2'])
  expect(await fixture.used(keyId)).toBe(2)
})

test('a node stops although an attempt never ends', async () => {
  fixture = await openWebhookFixture(postgres)
  const { id: keyId } = await fixture.issue()
  await fixture.hook(keyId)
  await fixture.send('1')
  let attempts = 0
  const node = startNode({
    webhookClient: {
      send() {
        attempts += 1
        return new Promise<never>(() => {})
      },
    },
  })
  await waitUntil(() => attempts === 1)
  await node.stop()
})

test('while two nodes run, one of them delivers each webhook', async () => {
  fixture = await openWebhookFixture(postgres)
  const { id: keyId } = await fixture.issue()
  for (let count = 0; count < 6; count += 1) await fixture.hook(keyId)
  const senders = new Map<string, Set<number>>()
  const nodes: { wake(): void }[] = []
  for (const [node, deps] of [{}, { shop: fixture.other, store: fixture.mail.other }].entries()) {
    const started = startNode({
      ...deps,
      webhookClient: {
        send(request) {
          const id = request.headers['webhook-id'] ?? ''
          senders.set(id, (senders.get(id) ?? new Set()).add(node))
          return fixture.deps.webhookClient.send(request)
        },
      },
    })
    nodes.push(started)
  }
  for (const subject of ['1', '2', '3']) await fixture.send(subject)
  // The loops may or may not run yet.
  const wakeAll = setInterval(() => {
    for (const node of nodes) node.wake()
  }, 50)
  await delivered(18).finally(() => clearInterval(wakeAll))
  expect(senders.size).toBe(18)
  for (const nodes of senders.values()) expect(nodes.size).toBe(1)
  await waitUntil(async () => (await fixture.used(keyId)) === 18)
})

test('mail that a filter has examined leaves no gap if another node takes over later', async () => {
  fixture = await openWebhookFixture(postgres)
  const { id: keyId } = await fixture.issue()
  const id = await fixture.hook(keyId, { subject: 'wanted' })
  await fixture.mail.session('own@box.test', 3_600_000, keyId)
  fixture.pass(1_000)
  await fixture.send('other', 'own@box.test')
  let isExamined = false
  const node = startNode({
    store: {
      ...fixture.mail.store,
      async listKeyMail(...page) {
        const found = await fixture.mail.store.listKeyMail(...page)
        isExamined ||= found.length > 0
        return found
      },
    },
  })
  await waitUntil(() => isExamined)
  await node.stop()
  fixture.pass(2 * 3_600_000)
  const other = { ...fixture.deps, shop: fixture.other, store: fixture.mail.other }
  expect(await deliverNext(other, id)).toStrictEqual({ waitMs: undefined })
  expect((await fixture.read(id)).gapSince).toBeUndefined()
})

test('new mail is delivered at once, and a stop waits for an attempt that ends soon', async () => {
  fixture = await openWebhookFixture()
  const { id: keyId } = await fixture.issue()
  const id = await fixture.hook(keyId)
  const node = startNode()
  await fixture.send('1')
  await delivered(1)
  await waitUntil(async () => (await fixture.read(id)).pending === undefined)
  await fixture.send('2')
  node.wake()
  await delivered(2)
  fixture.receiver.state.behaviour = 'slow'
  await fixture.send('3')
  node.wake()
  await delivered(3)
  // The time that a stop gives to an attempt does not pass.
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  for (const end of ends) await end()
  vi.useRealTimers()
  ends = []
  const { pending, lastDelivery } = await fixture.read(id)
  expect([pending, lastDelivery?.messageId]).toStrictEqual([
    undefined,
    (await fixture.read(id)).lastId,
  ])
  expect((await fixture.shop.listDeliveries(id)).length).toBe(3)
})

test('calls of a pace resolve together, and later ones with the next group', async () => {
  const pace = openPace()
  const done: string[] = []
  const call = (name: string) => pace().then(() => void done.push(name))
  await Promise.race([call('a'), call('b')])
  await nextTurn()
  expect(done).toStrictEqual(['a', 'b'])
  const second = call('c')
  await nextTurn()
  expect(done).toStrictEqual(['a', 'b'])
  await second
})

test('much mail at once is looked for once', async () => {
  fixture = await openWebhookFixture()
  const { id: keyId } = await fixture.issue()
  await fixture.hook(keyId)
  let looks = 0
  const node = startNode({
    shop: {
      ...fixture.shop,
      readWebhook(...args) {
        looks += 1
        return fixture.shop.readWebhook(...args)
      },
    },
  })
  await waitUntil(() => looks === 1)
  await fixture.send('1')
  for (let count = 0; count < 100; count += 1) {
    node.wake()
    await nextTurn()
  }
  await delivered(1)
  await node.stop()
  // Without mail, with the first mail, and after it; a slow machine may take more than one pause for all wakes.
  expect(looks, `${looks} looks`).toBeLessThanOrEqual(20)
})

test('a delivery is read when its turn comes: nothing more is sent or charged for keys revoked before', async () => {
  fixture = await openWebhookFixture()
  const keys: string[] = []
  for (let count = 0; count < 7; count += 1) keys.push((await fixture.issue()).id)
  for (const key of keys) for (let count = 0; count < 10; count += 1) await fixture.hook(key)
  const listed = await fixture.shop.listDeliverable()
  await fixture.send('1')
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  let sent = 0
  const node = startNode({
    // Otherwise those of revoked keys are stopped by this.
    shop: { ...fixture.shop, listDeliverable: async () => listed },
    webhookClient: {
      async send(request) {
        sent += 1
        await released
        return await fixture.deps.webhookClient.send(request)
      },
    },
  })
  // As many as are delivered at the same time; the others wait.
  await waitUntil(() => sent === 64)
  for (const key of keys) await fixture.shop.revokeKey(key)
  release()
  await delivered(64)
  await node.stop()
  const used = await Promise.all(keys.map((key) => fixture.used(key)))
  expect([sent, used.reduce((sum = 0, count = 0) => sum + count)]).toStrictEqual([64, 64])
})

test('a paused webhook goes on by itself once the plan allows it', async () => {
  fixture = await openWebhookFixture()
  const { id: keyId } = await fixture.issue({ requests: 10, perDay: 1 })
  const id = await fixture.hook(keyId)
  await fixture.send('1')
  await fixture.send('2')
  const node = startNode()
  await waitUntil(async () => (await fixture.paused(id)) === 'daily_limit')
  expect(fixture.receiver.subjects()).toStrictEqual(['1'])
  fixture.pass(12 * 3_600_000)
  node.wake(webhookTopic(id))
  await delivered(2)
  await waitUntil(async () => (await fixture.read(id)).pending === undefined)
  expect(fixture.receiver.subjects()).toStrictEqual(['1', '2'])
})

test('test keys deliver nothing without the test mode of the shop', async () => {
  fixture = await openWebhookFixture()
  await fixture.shop.addKey({ ...KEY, id: 'key_test', prefix: 'mf_test_abcd' })
  const { id: keyId } = await fixture.issue()
  await fixture.hook('key_test')
  await fixture.hook(keyId)
  await fixture.send('1')
  startNode()
  await delivered(1)
  await waitUntil(async () => (await fixture.used(keyId)) === 1)
  expect(await fixture.used('key_test')).toBe(0)
})
