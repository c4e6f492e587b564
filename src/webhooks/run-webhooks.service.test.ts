import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, test } from 'vitest'
import { openPostgres, type Postgres } from '../../test/support/postgres.ts'
import { waitUntil } from '../../test/support/wait-until.ts'
import { makeWaiterCounts, openMemoryBus } from '../bus/memory.ts'
import { POOL } from '../mail/rules/session.ts'
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
  let holders = 0
  const name = randomBytes(4).toString('hex')
  const done = runWebhooks({
    ...fixture.deps,
    bus,
    testKeys: false,
    newHolder() {
      holders += 1
      return `${name} ${holders}`
    },
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
  return { wake: () => bus.wake(POOL), stop }
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
  assert.equal((await fixture.read(id)).pending?.charged, true)
  // Never ends.
  void dead.stop()
  ends = []
  startNode({ shop: fixture.other, store: fixture.mail.other })
  await delivered(2)
  await waitUntil(async () => (await fixture.read(id)).pending === undefined)
  assert.deepEqual(fixture.receiver.subjects(), ['1', '2'])
  assert.equal(await fixture.used(keyId), 2)
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
  assert.equal(senders.size, 18)
  for (const nodes of senders.values()) assert.equal(nodes.size, 1)
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
  assert.deepEqual(await deliverNext(other, id), { waitMs: undefined })
  assert.equal((await fixture.read(id)).gapSince, undefined)
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
  for (const end of ends) await end()
  ends = []
  const { pending, lastDelivery } = await fixture.read(id)
  assert.deepEqual([pending, lastDelivery?.messageId], [undefined, (await fixture.read(id)).lastId])
  assert.equal((await fixture.shop.listDeliveries(id)).length, 3)
})

test('calls of a pace resolve together, and later ones with the next group', async () => {
  const rests: (() => void)[] = []
  const pace = openPace(() => new Promise((resolve) => rests.push(resolve)))
  const done: string[] = []
  const call = (name: string) => pace().then(() => void done.push(name))
  const first = [call('a'), call('b')]
  assert.deepEqual([rests.length, done], [1, []])
  rests[0]?.()
  await Promise.all(first)
  const second = call('c')
  assert.deepEqual([rests.length, done], [2, ['a', 'b']])
  rests[1]?.()
  await second
})

test('much mail at once is looked for once', async () => {
  fixture = await openWebhookFixture()
  const { id: keyId } = await fixture.issue()
  await fixture.hook(keyId)
  let looks = 0
  const rests: (() => void)[] = []
  const node = startNode({
    shop: {
      ...fixture.shop,
      readWebhook(id) {
        looks += 1
        return fixture.shop.readWebhook(id)
      },
    },
    pace: () => new Promise((resolve) => rests.push(resolve)),
  })
  await waitUntil(() => looks === 1)
  await fixture.send('1')
  for (let count = 0; count < 20; count += 1) {
    node.wake()
    await nextTurn()
  }
  await waitUntil(() => rests.length === 1)
  assert.equal(looks, 1)
  const releaseAll = setInterval(() => rests.splice(0).forEach((release) => void release()), 1)
  await delivered(1)
  await node.stop()
  clearInterval(releaseAll)
})

test('a paused webhook goes on by itself once the plan allows it', async () => {
  fixture = await openWebhookFixture()
  const { id: keyId } = await fixture.issue({ requests: 10, perDay: 1 })
  const id = await fixture.hook(keyId)
  await fixture.send('1')
  await fixture.send('2')
  startNode({ maxWaitMs: 20 })
  await waitUntil(async () => (await fixture.read(id)).paused === 'daily_limit')
  assert.deepEqual(fixture.receiver.subjects(), ['1'])
  fixture.pass(12 * 3_600_000)
  await delivered(2)
  await waitUntil(async () => (await fixture.read(id)).pending === undefined)
  assert.deepEqual(fixture.receiver.subjects(), ['1', '2'])
})

test('test keys deliver nothing without the test mode of the shop', async () => {
  fixture = await openWebhookFixture()
  const secretHash = 'test key'
  const figures = { plan: 'starter', label: '', maxRequests: 5, maxPerDay: undefined }
  await fixture.shop.addKey({
    id: 'key_test',
    prefix: 'mf_test_abcd',
    secretHash,
    ...figures,
    createdAt: fixture.clock.now,
    expiresAt: undefined,
  })
  const { id: keyId } = await fixture.issue()
  await fixture.hook('key_test')
  await fixture.hook(keyId)
  await fixture.send('1')
  startNode()
  await delivered(1)
  await waitUntil(async () => (await fixture.used(keyId)) === 1)
  assert.equal(await fixture.used('key_test'), 0)
})
