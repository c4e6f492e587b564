import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { problemFault, request, requestFrom } from '../../test/kit/http/http-client.ts'
import { openTestServer, type TestServer } from '../../test/kit/http/http-server.ts'
import { expectRate } from '../../test/kit/http/rate.ts'
import { newClient, PROXY, PROXY_ENV } from '../../test/kit/http/trusted-proxy.ts'
import { openReceiver } from '../../test/kit/http/webhook-receiver.ts'
import { keyRing, type TestKey } from '../../test/kit/shop/keys.ts'

// What is refused. Nothing is delivered here: see api.service.test.ts.

let server: TestServer
let receiver: Awaited<ReturnType<typeof openReceiver>>
let key: TestKey
beforeAll(async () => {
  server = await openTestServer({ env: { ...PROXY_ENV, MAYFLY_WEBHOOK_ALLOW: '127.0.0.1' } })
  receiver = await openReceiver()
})
afterAll(async () => {
  await server.stop()
  await receiver.close()
})
const issue = () => keyRing(server.shop, server.now).issue()
beforeEach(async () => {
  key = await issue()
  receiver.received.length = 0
})

type Params = Record<string, string>
const call = (path: string, params?: Params, { headers }: Pick<TestKey, 'headers'> = key) =>
  request(`${server.url}/webhooks${path}`, {
    headers,
    ...(params && { method: 'POST', body: new URLSearchParams(params) }),
  })

async function create(): Promise<{ id: string }> {
  const { body } = await call('', { url: receiver.url })
  return body['webhook'] as { id: string }
}

describe('400', () => {
  for (const [name, params, code] of [
    ['no URL', {}, 'missing_parameter'],
    ['a URL that is none', { url: 'receiver' }, 'invalid_url'],
    ['a URL with a user', { url: 'https://ann@receiver.test/' }, 'invalid_url'],
    ['a decimal address', { url: 'https://2130706433/' }, 'invalid_url'],
    ['a name that does not resolve', { url: 'https://nothing.invalid/' }, 'invalid_url'],
    ['an invalid recipient', { url: 'https://8.8.8.8/', to: 'ann' }, 'invalid_parameter'],
    ['an invalid sender', { url: 'https://8.8.8.8/', from: 'a b' }, 'invalid_parameter'],
    ['an invalid since_id', { url: 'https://8.8.8.8/', since_id: '-1' }, 'invalid_parameter'],
  ] as [string, Params, string][]) {
    test(name, async () => {
      const response = await call('', params)
      expect([response.status, response.body['code']]).toStrictEqual([400, code])
      expect(problemFault(response)).toBeUndefined()
    })
  }

  for (const [name, params, code] of [
    ['a new URL that is none', { url: 'receiver' }, 'invalid_url'],
    ['a new recipient that is none', { to: 'ann' }, 'invalid_parameter'],
    ['a new sender that is none', { from: 'a b' }, 'invalid_parameter'],
    ['another state', { state: 'disabled' }, 'invalid_parameter'],
    ['an unknown condition to clear', { clear: 'url' }, 'invalid_parameter'],
    ['a condition that is set and cleared', { from: 'a.test', clear: 'from' }, 'invalid_parameter'],
  ] as [string, Params, string][]) {
    test(`${name} changes nothing`, async () => {
      const { id } = await create()
      const before = await call(`/${id}`)
      const response = await call(`/${id}`, { subject: 'new', ...params })
      expect([response.status, response.body['code']]).toStrictEqual([400, code])
      expect(problemFault(response)).toBeUndefined()
      expect((await call(`/${id}`)).body).toStrictEqual(before.body)
    })
  }

  test('a change of nothing', async () => {
    const { id } = await create()
    const { status, body } = await call(`/${id}`, { url: '' })
    expect([status, body['code']]).toStrictEqual([400, 'missing_parameter'])
  })

  test('a replay without since_id', async () => {
    const { id } = await create()
    const { status, body } = await call(`/${id}/replay`, {})
    expect([status, body['code']]).toStrictEqual([400, 'missing_parameter'])
  })
})

const PATHS = ['', '/test', '/replay', '/roll-secret', '/enable', '/delete']
const toEach = async (id: string, caller: Pick<TestKey, 'headers'>) =>
  await Promise.all([
    ...PATHS.map((path) => call(`/${id}${path}`, { since_id: '0', state: 'paused' }, caller)),
    ...['', '/deliveries'].map((path) => call(`/${id}${path}`, undefined, caller)),
    request(`${server.url}/webhooks/${id}`, { method: 'DELETE', headers: caller.headers }),
  ])

test('401: no key, or a wrong one', async () => {
  const { id } = await create()
  for (const headers of [{}, { apikey: 'wrong' }] as Params[]) {
    const responses = [
      await call('', undefined, { headers }),
      await call('', { url: receiver.url }, { headers }),
      ...(await toEach(id, { headers })),
    ]
    for (const { status, body } of responses) {
      expect([status, body['code']]).toStrictEqual([401, 'invalid_key'])
    }
  }
})

for (const [name, figures, status, code] of [
  ['402: a used-up plan', { requests: 0 }, 402, 'quota_exhausted'],
  ['429: nothing left for today', { perDay: 0 }, 429, 'daily_limit'],
] as const) {
  test(`${name} creates no webhook`, async () => {
    const usedUp = await keyRing(server.shop, server.now).issue(figures)
    const response = await call('', { url: receiver.url }, usedUp)
    expect([response.status, response.body['code']]).toStrictEqual([status, code])
    expect(problemFault(response)).toBeUndefined()
    expect((await call('', undefined, usedUp)).body['webhooks']).toStrictEqual([])
  })
}

test('402: a stopped key creates, tests, replays, enables and changes no webhook, but may delete one', async () => {
  const { url } = receiver
  const createdAt = server.now()
  const stopped = await keyRing(server.shop, server.now).issueRefunded(async (keyId) => {
    const none = { to: undefined, from: undefined, subject: undefined }
    const hook = { id: 'wh_stopped', keyId, url, ...none, createdAt, lastId: 9 }
    await server.shop.addWebhook(hook)
  })
  const read = () => server.shop.readWebhook('wh_stopped', createdAt)
  const before = await read()
  for (const path of [
    '',
    ...['', '/test', '/replay', '/enable'].map((one) => `/wh_stopped${one}`),
  ]) {
    const response = await call(path, { url, since_id: '0', state: 'active' }, stopped)
    expect([response.status, response.body['code']], path).toStrictEqual([402, 'plan_expired'])
    expect(problemFault(response)).toBeUndefined()
  }
  expect(await read()).toStrictEqual(before)
  expect(receiver.received).toStrictEqual([])
  expect((await call('/wh_stopped', undefined, stopped)).status).toBe(200)
  expect((await call('/wh_stopped/delete', {}, stopped)).status).toBe(200)
})

describe('403', () => {
  test('a target that is not public', async () => {
    const { id } = await create()
    for (const url of [
      'https://10.0.0.1/',
      'https://[::1]/',
      'https://[::ffff:10.0.0.1]/',
      'https://169.254.169.254/',
      'http://8.8.8.8/',
      'https://8.8.8.8:25/',
    ]) {
      const response = await call('', { url })
      expect([response.status, response.body['code']], url).toStrictEqual([403, 'not_allowed'])
      const changed = await call(`/${id}`, { url })
      expect([changed.status, changed.body['code']], url).toStrictEqual([403, 'not_allowed'])
      expect(problemFault(response)).toBeUndefined()
    }
  })

  test('webhooks are off', async () => {
    const other = await openTestServer({ env: { MAYFLY_WEBHOOKS: 'off' } })
    const { headers } = await keyRing(other.shop, other.now).issue()
    const { status, body } = await request(`${other.url}/webhooks`, { headers })
    await other.stop()
    expect([status, body['code']]).toStrictEqual([403, 'not_allowed'])
  })
})

const ANY_SHAPE = ['x'.repeat(300), '%', '%zz', '%ff', '%00', '%2e%2e%2f', '{id}', "'", '%C3%BC']

test('404: unknown, deleted, of another key, or of any shape', async () => {
  const { id } = await create()
  const other = await issue()
  const deleted = await create()
  await call(`/${deleted.id}/delete`, {})
  for (const responses of [
    await toEach(id, other),
    await toEach(deleted.id, key),
    await toEach('wh_none', key),
    ...(await Promise.all(ANY_SHAPE.map((shape) => toEach(shape, key)))),
  ]) {
    for (const { status, body } of responses) {
      expect([status, body['code']]).toStrictEqual([404, 'webhook_not_found'])
    }
  }
  expect((await call(`/${id}`)).status).toBe(200)
})

describe('409', () => {
  test('webhook_limit: the eleventh webhook of a key', async () => {
    const created = Array.from({ length: 12 }, () => call('', { url: receiver.url }))
    const statuses = (await Promise.all(created)).map(({ status }) => status)
    expect(statuses.toSorted()).toStrictEqual([...Array(10).fill(200), 409, 409])
    const { body } = await call('', { url: receiver.url })
    expect(body['code']).toBe('webhook_limit')
  })

  test('already_rolled: while the old secret is valid', async () => {
    const { id } = await create()
    await call(`/${id}/roll-secret`, {})
    const { status, body } = await call(`/${id}/roll-secret`, {})
    expect([status, body['code']]).toStrictEqual([409, 'already_rolled'])
  })
})

for (const [name, actions] of [
  ['test', ['/test']],
  ['replay, enable or change', ['/replay?since_id=0', '/enable', '?state=active']],
] as const) {
  test(`429: the eleventh ${name} within a minute`, async () => {
    const { id } = await create()
    let count = 0
    await expectRate({ count: 10, seconds: 6 }, async () => {
      const headers = { ...key.headers, 'x-forwarded-for': newClient() }
      const path = `/webhooks/${id}${actions[count % actions.length]}`
      count += 1
      const { status } = await requestFrom(server.port, PROXY, { method: 'POST', path, headers })
      expect([200, 429]).toContain(status)
      return status === 200
    })
  })
}
