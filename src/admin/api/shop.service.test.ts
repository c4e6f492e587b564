import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { request } from '../../../test/kit/http/http-client.ts'
import { openTestServer, type TestServer } from '../../../test/kit/http/http-server.ts'
import { openReceiver } from '../../../test/kit/http/webhook-receiver.ts'
import { keyRing } from '../../../test/kit/shop/keys.ts'
import { isoTimestamp } from '../../base/time.ts'
import { PLANS } from '../../shared/plan.ts'
import { type PaymentFacts, settle } from '../../shop/rules.ts'
import type { NewOrder } from '../../shop/store.ts'
import { ADMIN_TOKEN, adminClient, assertProblem, type Fields } from './testing/admin-client.ts'

let server: TestServer
let ring: ReturnType<typeof keyRing>
let receiver: Awaited<ReturnType<typeof openReceiver>>
beforeAll(async () => {
  server = await openTestServer({
    env: { MAYFLY_ADMIN_TOKEN: ADMIN_TOKEN, MAYFLY_WEBHOOK_ALLOW: '127.0.0.1' },
  })
  ring = keyRing(server.shop, server.now)
  receiver = await openReceiver()
})
afterAll(async () => {
  await receiver.close()
  await server.stop()
})

const { call, read, list, pages, assertRefused, returned } = adminClient(() => server.url)

describe('keys', () => {
  test('are listed and found by id, prefix and label, without their secret', async () => {
    const [one, other] = [await ring.issue({ perDay: 5 }), await ring.issue()]
    await server.shop.labelKey(one.id, 'Backoffice EU')
    const ids = async (values: Record<string, string>) =>
      (await list('/keys', 'keys', values)).map(({ id }) => id)
    expect.assert((await ids({})).includes(other.id))
    const prefix = one.secret.slice(0, 12)
    for (const find of [one.id, prefix, 'backoffice']) {
      expect(await ids({ find }), find).toStrictEqual([one.id])
    }
    expect(await ids({ find: 'nothing' })).toStrictEqual([])
    for (const find of [one.secret, `APIKey: ${one.secret}`, one.secret.slice(0, -1)]) {
      assertProblem(await call('GET', '/keys', { find }), 400, 'invalid_parameter')
    }
    const all = (await pages('/keys', 'keys')).flat()
    expect(all.toSorted()).toStrictEqual([one.id, other.id].toSorted())
    expect(await pages('/keys', 'keys', 'id', { find: 'BACKOFFICE' })).toStrictEqual([[one.id]])
    expect(returned.join()).not.toContain(one.secret)
  })

  test('are revoked at once', async () => {
    const key = await ring.issue()
    const usage = () => request(`${server.url}/usage`, { headers: key.headers })
    expect((await usage()).status).toBe(200)
    expect((await call('POST', '/keys/revoke', { id: key.id })).status).toBe(200)
    expect((await usage()).status).toBe(401)
    const [found] = await list('/keys', 'keys', { find: key.id })
    expect(found?.['state']).toBe('revoked')
    assertProblem(await call('POST', '/keys/revoke', { id: 'key_no' }), 404, 'not_found')
    await assertRefused([['/keys/revoke', {}, /^id: /]])
  })
})

test('orders are listed with masked addresses; one of them with the whole address', async () => {
  const [plan] = PLANS
  expect.assert(plan)
  const ordered: NewOrder = {
    id: 'ord_one',
    provider: 'fake',
    mode: 'test',
    plan,
    email: 'buyer@shop.test',
    createdAt: server.now(),
    keyId: 'key_one',
    keyPrefix: 'mf_test_abcd',
    claimHash: 'canary-claim-hash',
    idempotencyHash: undefined,
  }
  await server.shop.addOrder(ordered)
  const [order] = await list('/orders', 'orders')
  expect([order?.['id'], order?.['email']]).toStrictEqual(['ord_one', 'b…@shop.test'])
  expect([order?.['state'], order?.['key_id']]).toStrictEqual(['open', null])
  const [one] = await list('/orders', 'orders', { id: 'ord_one' })
  expect(one?.['email']).toBe('buyer@shop.test')
  expect(await list('/orders', 'orders', { id: 'ord_two' })).toStrictEqual([])
  await server.shop.addOrder({ ...ordered, id: 'ord_two', keyId: 'key_two' })
  expect(await pages('/orders', 'orders')).toStrictEqual([['ord_two'], ['ord_one']])

  const paidAt = server.now()
  const payment = { ref: 'p', paidAt, refunded: 'no', disputed: 'no' } as const
  const facts: PaymentFacts = {
    state: 'paid',
    payments: [payment],
    renewal: 'none',
    subscriptionRef: undefined,
  }
  await server.shop.applySettlement({
    orderId: 'ord_one',
    revision: 0,
    settlement: settle(plan, facts),
    event: undefined,
    now: paidAt,
  })
  const claim = { orderId: 'ord_one', claimHash: 'canary-claim-hash', secretHash: 'canary-hash' }
  expect(await server.shop.claimKey({ ...claim, now: paidAt })).toBe('claimed')
  const [paid] = await list('/orders', 'orders', { id: 'ord_one' })
  expect([
    paid?.['state'],
    paid?.['key_id'],
    paid?.['key_prefix'],
    paid?.['payments'],
  ]).toStrictEqual(['paid', 'key_one', 'mf_test_abcd', 1])
  expect(paid?.['claimed_at_iso']).toBe(isoTimestamp(paidAt))
  expect(returned.join()).not.toContain('canary-hash')
  expect(returned.join()).not.toContain('canary-claim-hash')
})

test('a cursor that no list returned is refused', async () => {
  const cursors = ['x', '-1', '1.', '1.2.3', "1.'", '9999999999999999', `1.${'a'.repeat(65)}`]
  for (const path of ['/keys', '/orders', '/webhooks', '/blocks', '/sessions', '/mail']) {
    for (const before of cursors) {
      assertProblem(await call('GET', path, { before }), 400, 'invalid_parameter', before)
    }
    for (const limit of ['0', '1001', 'x']) {
      assertProblem(await call('GET', path, { limit }), 400, 'invalid_parameter', limit)
    }
    expect((await call('GET', path, { limit: '1000' })).status).toBe(200)
  }
  for (const before of ['1', '1.x', '1.1e3']) {
    assertProblem(await call('GET', '/sessions', { before }), 400, 'invalid_parameter', before)
  }
})

describe('webhooks', () => {
  test('of all keys are listed, tested, enabled and deleted, without their secret', async () => {
    const key = await ring.issue()
    const body = new URLSearchParams({ url: receiver.url })
    const init = { method: 'POST', headers: key.headers, body }
    const made = (await request(`${server.url}/webhooks`, init)).body['webhook'] as Fields
    const path = `/webhooks/${made['id']}`
    const other = (await request(`${server.url}/webhooks`, init)).body['webhook'] as Fields
    const [listed] = await list('/webhooks', 'webhooks')
    expect(listed?.['state']).toBe('active')
    const ids = (await pages('/webhooks', 'webhooks')).flat()
    expect(ids.toSorted()).toStrictEqual([made['id'], other['id']].toSorted())
    expect((await call('POST', `/webhooks/${other['id']}/delete`)).status).toBe(200)
    const tested = await call('POST', `${path}/test`)
    expect((tested.body['delivery'] as Fields)['status']).toBe(200)
    expect(receiver.received.length).toBe(1)
    const { webhook, deliveries } = await read(path)
    expect([(webhook as Fields)['key_id'], deliveries]).toStrictEqual([key.id, []])

    const at = new Date('2026-03-01T12:00:00Z')
    const known = await server.shop.readWebhook(String(made['id']), at)
    expect.assert(known)
    await server.shop.chargeMessage(known, known.lastId + 1, at)
    await server.shop.recordAttempt({
      webhookId: known.id,
      url: known.url,
      messageId: known.lastId + 1,
      replay: 0,
      attempt: 1,
      status: 503,
      error: null,
      ms: 12,
      at,
      dueAt: undefined,
      failed: {
        failures: 1,
        failingSince: at,
        retryAt: new Date(at.getTime() + 5_000),
        disabled: undefined,
      },
    })
    const after = await read(path)
    expect((after['webhook'] as Fields)['state']).toBe('failing')
    expect(after['deliveries']).toStrictEqual([
      {
        message_id: known.lastId + 1,
        attempt: 1,
        status: 503,
        error: null,
        ms: 12,
        attempted_at: '2026-03-01 12:00:00',
        attempted_at_iso: '2026-03-01T12:00:00Z',
      },
    ])
    expect((await call('POST', `${path}/enable`)).status).toBe(200)
    expect((await call('POST', `${path}/delete`)).status).toBe(200)
    expect(await list('/webhooks', 'webhooks')).toStrictEqual([])
    expect(returned.join()).not.toContain(String(made['secret']))
  })

  test('are not tested if the service must not connect to receivers', async () => {
    const env = { MAYFLY_ADMIN_TOKEN: ADMIN_TOKEN, MAYFLY_WEBHOOKS: 'off' }
    const off = await openTestServer({ env, shopOverrides: server.shop })
    const key = await ring.issue()
    const body = new URLSearchParams({ url: receiver.url })
    const init = { method: 'POST', headers: key.headers, body }
    const made = (await request(`${server.url}/webhooks`, init)).body['webhook'] as Fields
    const before = receiver.received.length
    const client = adminClient(() => off.url)
    const tested = await client.call('POST', `/webhooks/${made['id']}/test`)
    assertProblem(tested, 403, 'not_allowed')
    expect(receiver.received.length).toBe(before)
    expect((await client.call('POST', `/webhooks/${made['id']}/delete`)).status).toBe(200)
    await off.stop()
  })

  test('that do not exist are refused', async () => {
    for (const [method, path] of [
      ['GET', ''],
      ['POST', '/test'],
      ['POST', '/enable'],
      ['POST', '/delete'],
    ] as const) {
      assertProblem(await call(method, `/webhooks/wh_no${path}`), 404, 'webhook_not_found')
    }
  })
})
