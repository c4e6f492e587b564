import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
} from 'vitest'
import type { Behaviour } from '../../test/kit/http/webhook-receiver.ts'
import { countTurns } from '../../test/kit/mail/turns.ts'
import { openPostgres, type Postgres } from '../../test/kit/store/postgres.ts'
import { keyScope } from '../keys/emails/emails.ts'
import { deliverNext } from './deliver.ts'
import { localClient, openWebhookFixture, type WebhookFixture } from './testing/fixture.ts'
import { webhookBacklog } from './webhooks.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const NEW_MAIL = { waitMs: undefined }

let postgres: Postgres
beforeAll(async () => {
  postgres = await openPostgres()
})
afterAll(() => postgres.close())

let fixture: WebhookFixture
afterEach(async () => {
  await fixture.close()
  expect(fixture.logged).toStrictEqual([])
})

for (const [engine, open] of [
  ['SQLite', () => openWebhookFixture()],
  ['PostgreSQL', () => openWebhookFixture(postgres)],
] as const) {
  describe(`on ${engine}`, () => {
    beforeEach(async () => {
      fixture = await open()
    })

    test('what the key may see is delivered oldest first, each for one request', async () => {
      const { id: keyId } = await fixture.issue()
      await fixture.mail.session('own@box.test', HOUR, keyId)
      await fixture.mail.session('foreign@box.test', HOUR, 'another')
      const id = await fixture.hook(keyId)
      await fixture.send('1')
      await fixture.send('2', 'own@box.test')
      await fixture.send('not mine', 'foreign@box.test')
      await fixture.send('3', 'other@pool.test')
      expect(await fixture.run(id)).toStrictEqual(NEW_MAIL)
      expect(fixture.receiver.subjects()).toStrictEqual(['1', '2', '3'])
      expect(await fixture.used(keyId)).toBe(3)
      await fixture.send('4')
      await fixture.run(id)
      expect(fixture.receiver.subjects()).toStrictEqual(['1', '2', '3', '4'])
    })

    test('every message arrives in order, whatever the receiver does, and is charged once', async () => {
      const { id: keyId } = await fixture.issue()
      const id = await fixture.hook(keyId)
      const bad: Behaviour[] = [500, 'hang', 404, 'redirect', 'reset', 'garbage', 429, 'slow']
      const { state, received, close, open } = fixture.receiver
      const [patient, hasty] = [fixture.deps.webhookClient, localClient(1_000)]
      for (const [at, behaviour] of bad.entries()) {
        await fixture.send(String(at))
        state.behaviour = behaviour
        fixture.deps.webhookClient = hasty
        await fixture.run(id)
        fixture.deps.webhookClient = patient
        // Dead for one attempt.
        await close()
        fixture.pass(31 * SECOND)
        await fixture.run(id)
        await open()
        state.behaviour = 200
        fixture.pass(DAY / 24)
        expect(await fixture.run(id)).toStrictEqual(NEW_MAIL)
      }
      const inOrder = received.map(({ event }) => Number(event.data['subject']))
      expect(inOrder).toStrictEqual(inOrder.toSorted())
      expect([...new Set(inOrder)]).toStrictEqual([...bad.keys()])
      // All attempts of a message carry the same id.
      expect(new Set(received.map((one) => one.id)).size).toBe(bad.length)
      expect(await fixture.used(keyId)).toBe(bad.length)
      expect((await fixture.read(id)).gapSince).toBeUndefined()
    })

    test('a crash between charge, attempt and record charges once and loses nothing', async () => {
      const { id: keyId } = await fixture.issue()
      const id = await fixture.hook(keyId)
      await fixture.send('1')
      await fixture.send('2')
      const crash = new Error('crash')
      const fail = () => Promise.reject(crash)
      const { shop, webhookClient } = fixture.deps
      const crashes = [
        // Before the attempt.
        { ...fixture.deps, webhookClient: { send: fail } },
        // After the receiver has it.
        {
          ...fixture.deps,
          webhookClient: {
            send: async (request: Parameters<typeof webhookClient.send>[0]) => {
              await webhookClient.send(request)
              throw crash
            },
          },
        },
        // After the response, before the record; and on another node.
        { ...fixture.deps, shop: { ...shop, recordAttempt: fail } },
        { ...fixture.deps, shop: { ...fixture.other, recordAttempt: fail } },
      ]
      for (const deps of crashes) await expect(deliverNext(deps, id)).rejects.toThrow(crash)
      expect(await fixture.used(keyId)).toBe(1)
      expect((await fixture.read(id)).pending).toBeTruthy()
      await fixture.run(id)
      expect(fixture.receiver.subjects()).toStrictEqual(['1', '1', '1', '1', '2'])
      expect(await fixture.used(keyId)).toBe(2)
    })

    test('two nodes at once deliver in order and charge each message once', async () => {
      const { id: keyId } = await fixture.issue()
      const id = await fixture.hook(keyId)
      for (let at = 0; at < 8; at += 1) await fixture.send(String(at))
      const { deps } = fixture
      const nodes = [deps, { ...deps, shop: fixture.other, store: fixture.mail.other }]
      await Promise.all(
        nodes.map(async (node) => {
          while ((await deliverNext(node, id)).waitMs === 0);
        }),
      )
      const firsts = [...new Set(fixture.receiver.subjects())]
      expect(firsts).toStrictEqual(['0', '1', '2', '3', '4', '5', '6', '7'])
      expect(await fixture.used(keyId)).toBe(8)
    })

    test('the daily limit pauses until midnight UTC; a used-up or expired plan until it is renewed', async () => {
      const { id: keyId } = await fixture.issue({ requests: 3, perDay: 2 })
      const id = await fixture.hook(keyId)
      for (let at = 0; at < 5; at += 1) await fixture.send(String(at))
      expect(await fixture.run(id)).toStrictEqual({ waitMs: MINUTE })
      expect(fixture.receiver.subjects()).toStrictEqual(['0', '1'])
      expect(await fixture.paused(id)).toBe('daily_limit')
      fixture.clock.now = new Date('2026-03-01T23:59:59.500Z')
      expect(await fixture.run(id)).toStrictEqual({ waitMs: 500 })
      fixture.pass(500)
      expect(await fixture.run(id)).toStrictEqual({ waitMs: MINUTE })
      expect(fixture.receiver.subjects()).toStrictEqual(['0', '1', '2'])
      expect(await fixture.paused(id)).toBe('quota_exhausted')
      expect((await fixture.read(id)).pending).toBeUndefined()
      expect(await fixture.used(keyId)).toBe(3)
      // A request of /emails that failed is returned.
      await fixture.shop.refundRequest(keyId, { day: 20_514, period: 0 })
      expect(await fixture.run(id)).toStrictEqual({ waitMs: MINUTE })
      expect(fixture.receiver.subjects()).toStrictEqual(['0', '1', '2', '3'])
      expect((await fixture.read(id)).gapSince).toBeUndefined()
    })

    test('a message that expires before it is delivered is skipped, stays charged, and leaves a gap', async () => {
      const { id: keyId } = await fixture.issue()
      const id = await fixture.hook(keyId)
      await fixture.mail.session('short@box.test', HOUR, keyId)
      await fixture.send('expires', 'short@box.test')
      fixture.receiver.state.behaviour = 503
      const failedAt = fixture.clock.now
      await fixture.run(id)
      expect(await fixture.used(keyId)).toBe(1)
      fixture.pass(2 * HOUR)
      await fixture.send('stays')
      fixture.receiver.state.behaviour = 200
      await fixture.run(id)
      expect(fixture.receiver.subjects()).toStrictEqual(['expires', 'stays'])
      expect(await fixture.used(keyId)).toBe(2)
      expect((await fixture.read(id)).gapSince).toStrictEqual(failedAt)
    })

    test('a replay charges again, under new ids, and the quota stays exact', async () => {
      const { id: keyId } = await fixture.issue({ requests: 5 })
      const id = await fixture.hook(keyId)
      for (const subject of ['a', 'b', 'c']) await fixture.send(subject)
      await fixture.run(id)
      await fixture.shop.replayWebhook(id, 0)
      expect(await fixture.run(id)).toStrictEqual({ waitMs: MINUTE })
      expect(fixture.receiver.subjects()).toStrictEqual(['a', 'b', 'c', 'a', 'b'])
      expect(new Set(fixture.receiver.received.map((one) => one.id)).size).toBe(5)
      expect(await fixture.used(keyId)).toBe(5)
      expect(await fixture.paused(id)).toBe('quota_exhausted')
    })
  })
}

describe('a webhook', () => {
  beforeEach(async () => {
    fixture = await openWebhookFixture()
  })

  for (const [name, poolAccess, more, backlog] of [
    ['all mail of its key', 'off', {}, 2],
    ['all mail of its key, of addresses of the pool by name only', 'by-address', {}, 2],
    ['one address, perhaps of the pool', 'by-address', { to: 'own@box.test' as never }, undefined],
    ['the pool', 'open', {}, undefined],
    ['some senders', 'off', { from: 'sender.test' }, undefined],
    ['some subjects', 'off', { subject: '1' }, undefined],
  ] as const) {
    test(`that selects ${name} ${backlog ? 'tells' : 'does not tell'} its backlog`, async () => {
      const { id: keyId } = await fixture.issue()
      const id = await fixture.hook(keyId, more)
      await fixture.mail.session('own@box.test', HOUR, keyId)
      for (const to of ['own@box.test', 'own@box.test', 'any@pool.test']) {
        await fixture.send('1', to)
      }
      const deps = { ...fixture.deps, poolAccess }
      expect(await webhookBacklog(deps, await fixture.read(id))).toBe(backlog)
    })
  }

  test('delivers only what its conditions select, and charges nothing else', async () => {
    const { id: keyId } = await fixture.issue()
    const toOne = await fixture.hook(keyId, { to: 'b@pool.test' as never })
    const fromShop = await fixture.hook(keyId, { from: 'shop.test', subject: 'CODE' })
    await fixture.send('your code', 'a@pool.test', 'ann@shop.test')
    await fixture.send('your code', 'b@pool.test', 'ann@other.test')
    await fixture.send('hello', 'b@pool.test', 'ann@eu.shop.test')
    await fixture.run(toOne)
    const addresses = () => fixture.receiver.received.map(({ event }) => event.data['address'])
    expect(addresses()).toStrictEqual(['b@pool.test', 'b@pool.test'])
    await fixture.run(fromShop)
    expect(addresses().slice(2)).toStrictEqual(['a@pool.test'])
    expect(await fixture.used(keyId)).toBe(3)
  })

  test('reads many long subjects in steps, between which others are served', async () => {
    const { id: keyId } = await fixture.issue()
    const id = await fixture.hook(keyId, { subject: 'wanted' })
    for (let sent = 0; sent < 40; sent += 1) await fixture.send('ᾷ'.repeat(998))
    const turns = countTurns()
    onTestFinished(turns.stop)
    expect(await deliverNext(fixture.deps, id)).toStrictEqual(NEW_MAIL)
    // 10,000 characters each.
    expect(turns.count(), `${turns.count()} turns`).toBeGreaterThanOrEqual(3)
    await fixture.send('Wanted')
    await fixture.run(id)
    expect(fixture.receiver.subjects()).toStrictEqual(['Wanted'])
  })

  test('stores how far it has examined mail that it does not select, now and then', async () => {
    const { id: keyId } = await fixture.issue()
    const id = await fixture.hook(keyId, { subject: 'wanted' })
    await Promise.all(Array.from({ length: 2_050 }, () => fixture.send('x')))
    // A delivery occupies a slot, which others wait for.
    expect(await deliverNext(fixture.deps, id)).toStrictEqual({ waitMs: 0 })
    expect(await fixture.run(id)).toStrictEqual(NEW_MAIL)
    const { lastId: sinceId } = await fixture.read(id)
    const scope = keyScope(fixture.deps, { keyId, to: undefined })
    const page = { sinceId, beforeId: undefined, limit: 100 }
    expect((await fixture.mail.store.listKeyMail(scope, page)).length).toBe(50)
    await fixture.send('wanted')
    await fixture.run(id)
    expect(fixture.receiver.subjects()).toStrictEqual(['wanted'])
  })
})
