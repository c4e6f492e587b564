import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { request } from '../../../../test/support/http-client.ts'
import { openTestServer, type TestServer } from '../../../../test/support/http-server.ts'
import { keyRing } from '../../../../test/support/keys.ts'
import { openReceiver } from '../../../../test/support/webhook-receiver.ts'
import type { Address } from '../../../core/address.ts'
import { PLANS } from '../../../core/plan.ts'
import type { NewPurchase } from '../../../store/shop-store.ts'
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
    assert.ok((await ids({})).includes(other.id))
    const prefix = one.secret.slice(0, 12)
    for (const find of [one.id, prefix, 'backoffice']) {
      assert.deepEqual(await ids({ find }), [one.id], find)
    }
    assert.deepEqual(await ids({ find: 'nothing' }), [])
    for (const find of [one.secret, `APIKey: ${one.secret}`, one.secret.slice(0, -1)]) {
      assertProblem(await call('GET', '/keys', { find }), 400, 'invalid_parameter')
    }
    const all = (await pages('/keys', 'keys')).flat()
    assert.deepEqual(all.toSorted(), [one.id, other.id].toSorted())
    assert.deepEqual(await pages('/keys', 'keys', 'id', { find: 'BACKOFFICE' }), [[one.id]])
    assert.ok(!returned.join().includes(one.secret))
  })

  test('are revoked at once', async () => {
    const key = await ring.issue()
    const usage = () => request(`${server.url}/usage`, { headers: key.headers })
    assert.equal((await usage()).status, 200)
    assert.equal((await call('POST', '/keys/revoke', { id: key.id })).status, 200)
    assert.equal((await usage()).status, 401)
    const [found] = await list('/keys', 'keys', { find: key.id })
    assert.equal(found?.['state'], 'revoked')
    assertProblem(await call('POST', '/keys/revoke', { id: 'key_no' }), 404, 'not_found')
    await assertRefused([['/keys/revoke', {}, /^id: /]])
  })
})

test('orders are listed with masked addresses; one of them with the whole address', async () => {
  const [plan] = PLANS
  assert.ok(plan)
  const ordered: NewPurchase = {
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
  await server.shop.addPurchase(ordered)
  const [order] = await list('/orders', 'orders')
  assert.deepEqual([order?.['id'], order?.['email']], ['ord_one', 'b…@shop.test'])
  assert.deepEqual([order?.['state'], order?.['key_id']], ['open', null])
  const [one] = await list('/orders', 'orders', { id: 'ord_one' })
  assert.equal(one?.['email'], 'buyer@shop.test')
  assert.deepEqual(await list('/orders', 'orders', { id: 'ord_two' }), [])
  await server.shop.addPurchase({ ...ordered, id: 'ord_two', keyId: 'key_two' })
  assert.deepEqual(await pages('/orders', 'orders'), [['ord_two'], ['ord_one']])
  assert.ok(!returned.join().includes('canary-claim-hash'))
})

describe('blocks', () => {
  test('are added, changed, found and removed', async () => {
    const added = await call('POST', '/blocks', { entry: 'Spam.Example', note: 'why', ttl: '2h' })
    assert.deepEqual(
      [added.body['entry'], added.body['kind'], added.body['is_new']],
      ['spam.example', 'domain', true],
    )
    await call('POST', '/blocks', { entry: '192.0.2.7/24' })
    const again = await call('POST', '/blocks', { entry: 'spam.example' })
    assert.equal(again.body['is_new'], false)
    const [found, ...others] = await list('/blocks', 'blocks', { text: 'SPAM' })
    assert.deepEqual([found?.['entry'], found?.['expires_at'], others], ['spam.example', null, []])
    const page = await read('/blocks', { limit: '1' })
    assert.equal(page['total'], 2)
    assert.deepEqual(await pages('/blocks', 'blocks', 'entry'), [
      ['spam.example'],
      ['192.0.2.0/24'],
    ])
    for (const entry of ['spam.example', '192.0.2.0/24']) {
      assert.equal((await call('POST', '/blocks/remove', { entry })).status, 200)
      assertProblem(await call('POST', '/blocks/remove', { entry }), 404, 'not_found')
    }
    assert.deepEqual(await list('/blocks', 'blocks'), [])
  })

  test('with invalid values are refused', async () => {
    await assertRefused([
      ['/blocks', {}, /^entry: /],
      ['/blocks', { entry: 'not an entry' }, /is not a domain/],
      ['/blocks', { entry: '10.0.0.0/7' }, /wider than \/8/],
      ['/blocks', { entry: 'a.test', ttl: 'soon' }, /^ttl: /],
      ['/blocks', { entry: 'a.test', ttl: '0s' }, /^ttl: /],
      ['/blocks/remove', { entry: '?' }, /is not a domain/],
    ])
    assert.equal((await call('POST', '/blocks', { entry: '10.0.0.0/7', force: '1' })).status, 200)
    await call('POST', '/blocks/remove', { entry: '10.0.0.0/7' })
  })
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
    assert.equal((await call('GET', path, { limit: '1000' })).status, 200)
  }
  for (const before of ['1', '1.x', '1.1e3']) {
    assertProblem(await call('GET', '/sessions', { before }), 400, 'invalid_parameter', before)
  }
})

test('checks are those of the last daily run', async () => {
  assert.deepEqual(await read('/checks'), {
    status: 'success',
    finished_at: null,
    finished_at_iso: null,
    checks: [],
  })
  const [finishedAt, since] = [new Date('2026-03-01T12:00:00Z'), new Date('2026-02-01T12:00:00Z')]
  const check = {
    name: 'mx',
    subject: 'box.test',
    status: 'failure',
    seen: 'none',
    fix: 'MX 10 x.',
  }
  const checks = [{ ...check, status: 'failure' as const, since }]
  await server.store.saveCheckRun({ finishedAt, checks })
  const run = await read('/checks')
  assert.equal(run['finished_at_iso'], '2026-03-01T12:00:00Z')
  const times = { since: '2026-02-01 12:00:00', since_iso: '2026-02-01T12:00:00Z' }
  assert.deepEqual(run['checks'], [{ ...check, ...times }])
})

describe('Gmail accounts', () => {
  test('are listed, and switched off and on', async () => {
    await server.store.addAccount('joe@gmail.com' as Address)
    const [account] = await list('/accounts', 'accounts')
    assert.deepEqual(
      [account?.['email'], account?.['offered'], account?.['hindrance']],
      ['joe@gmail.com', false, 'not in the accounts file'],
    )
    const id = String(account?.['id'])
    for (const active of ['0', '1']) {
      assert.equal((await call('POST', '/accounts/change', { id, active })).status, 200)
      const [stored] = await server.store.listAccounts(server.now())
      assert.equal(stored?.active, active === '1')
    }
  })

  test('with invalid values are refused', async () => {
    const unknown = await call('POST', '/accounts/change', { id: '99', active: '1' })
    assertProblem(unknown, 404, 'not_found')
    await assertRefused([
      ['/accounts/change', {}, /^id: /],
      ['/accounts/change', { id: 'x', active: '1' }, /^id: /],
      ['/accounts/change', { id: '1', active: 'x' }, /^active: /],
    ])
  })
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
    assert.equal(listed?.['state'], 'active')
    const ids = (await pages('/webhooks', 'webhooks')).flat()
    assert.deepEqual(ids.toSorted(), [made['id'], other['id']].toSorted())
    assert.equal((await call('POST', `/webhooks/${other['id']}/delete`)).status, 200)
    const tested = await call('POST', `${path}/test`)
    assert.equal((tested.body['delivery'] as Fields)['status'], 200)
    assert.equal(receiver.received.length, 1)
    const { webhook, deliveries } = await read(path)
    assert.deepEqual([(webhook as Fields)['key_id'], deliveries], [key.id, []])
    assert.equal((await call('POST', `${path}/enable`)).status, 200)
    assert.equal((await call('POST', `${path}/delete`)).status, 200)
    assert.deepEqual(await list('/webhooks', 'webhooks'), [])
    assert.ok(!returned.join().includes(String(made['secret'])))
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
