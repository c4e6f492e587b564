import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { emailsOf } from '../../../test/kit/http/api-client.ts'
import {
  problemFault,
  request,
  requestFrom,
  sendRaw,
  type TestResponse,
} from '../../../test/kit/http/http-client.ts'
import { newClient, PROXY, PROXY_ENV } from '../../../test/kit/http/trusted-proxy.ts'
import { openServerWithManualClock } from '../../../test/kit/manual-clock.ts'
import {
  type AppWithKeys,
  keyRing,
  startAppWithKeys,
  type TestKey,
} from '../../../test/kit/shop/keys.ts'
import { makeKeySecret } from '../rules.ts'

let app: AppWithKeys
beforeAll(async () => {
  app = await startAppWithKeys({ env: { ...PROXY_ENV, MAYFLY_BASE_URL: 'https://mail.test' } })
})
afterAll(() => app.stop())

const read = (query: string, headers: Record<string, string>, method = 'GET') =>
  request(`${app.url}/emails${query}`, { method, headers })
/** Moves the clock to this time, rounded up to a whole second. */
const moveTo = (time: number) => app.moveClock(Math.ceil((time - app.now().getTime()) / 1000))
const UNKNOWN_KEY = makeKeySecret('mf_live_none', new Uint8Array(20))

describe('charging', () => {
  /** The status of an operation with a new key, and the requests it was charged. */
  const cost = async (
    operation: (key: TestKey) => Promise<TestResponse>,
  ): Promise<[number, number]> => {
    const key = await app.ring.issue()
    const { status } = await operation(key)
    return [status, (await app.ring.used(key)) ?? -1]
  }

  test('each 200 costs one request, even if empty or for HEAD', async () => {
    expect(await cost(({ headers }) => read('?to=none@pool.test', headers))).toStrictEqual([200, 1])
    expect(await cost(({ headers }) => read('', headers, 'HEAD'))).toStrictEqual([200, 1])
  })

  test('a 304 costs nothing, for GET and HEAD', async () => {
    const operation = async ({ headers }: TestKey): Promise<TestResponse> => {
      const etag = (await read('', headers)).headers.get('etag') ?? ''
      await read('', { ...headers, 'if-none-match': etag }, 'HEAD')
      return await read('', { ...headers, 'if-none-match': etag })
    }
    expect(await cost(operation)).toStrictEqual([304, 1])
  })

  for (const query of [
    'to=x',
    'limit=0',
    'limit=501',
    'cursor=x',
    'since_id=-1',
    'wait=56',
    'q=a',
  ]) {
    test(`a 400 for ${query} costs nothing`, async () => {
      expect(await cost(({ headers }) => read(`?${query}`, headers))).toStrictEqual([400, 0])
    })
  }

  for (const [path, method, status] of [
    ['', 'POST', 405],
    ['', 'OPTIONS', 204],
    ['/', 'GET', 404],
  ] as const) {
    test(`a ${status} costs nothing`, async () => {
      expect(await cost(({ headers }) => read(path, headers, method))).toStrictEqual([status, 0])
    })
  }

  /** A message of the pool with an attachment. */
  const pooled = async (name: string): Promise<number> => {
    const address = `${name}@pool.test`
    const lines = ['Content-Disposition: attachment; filename=a.txt', '', 'x', '']
    expect(await app.mail(address, lines.join('\r\n'))).toBe(250)
    const { headers } = await app.ring.issue()
    const [{ id = 0 } = {}] = emailsOf(await read(`?to=${address}`, headers))
    return id
  }
  const PARTS = ['', '/raw', '/attachments/0']

  test('of a whole message, each 200 costs one request, and nothing else does', async () => {
    const id = await pooled('whole')
    for (const [path, method, status] of [
      ...PARTS.map((part) => [`/${id}${part}`, 'GET', 200] as const),
      [`/${id}`, 'HEAD', 200],
      [`/${id}?to=whole@pool.test`, 'GET', 200],
      [`/${id}?to=other@pool.test`, 'GET', 404],
      [`/${id}/attachments/1`, 'GET', 404],
      ...PARTS.map((part) => [`/${id - 1}${part}`, 'GET', 404] as const),
      [`/${id}?to=x`, 'GET', 400],
      ['/x', 'GET', 400],
      [`/${id}`, 'POST', 405],
    ] as const) {
      const charged = status === 200 ? 1 : 0
      const result = await cost(({ headers }) => read(path, headers, method))
      expect(result, `${method} ${path}`).toStrictEqual([status, charged])
    }
  })

  test('of 60 requests at once to all endpoints, as many are served as the plan has', async () => {
    const id = await pooled('at-once')
    const paths = ['', ...PARTS.map((part) => `/${id}${part}`)]
    for (const requests of [1, 20, 59]) {
      const key = await app.ring.issue({ requests })
      const unknown = Array.from({ length: 21 }, (_, at) =>
        read(`/${id - 1}${PARTS[at % PARTS.length]}`, key.headers),
      )
      const known = Array.from({ length: 60 }, (_, at) =>
        read(paths[at % paths.length] ?? '', key.headers),
      )
      const statuses = (await Promise.all(known)).map(({ status }) => status)
      expect(Map.groupBy(statuses, (one) => one).get(200)?.length).toBe(requests)
      expect(new Set(statuses)).toStrictEqual(new Set([200, 402]))
      for (const { status } of await Promise.all(unknown)) expect([402, 404]).toContain(status)
      expect(await app.ring.used(key)).toBe(requests)
    }
  })

  test('every response to a valid key has the remaining quota', async () => {
    const key = await app.ring.issue({ requests: 3, perDay: 2 })
    const quotaAfter = async (query: string, more = {}) => {
      const { status, headers } = await read(query, { ...key.headers, ...more })
      expect(headers.get('ratelimit-policy')).toBe('"plan";q=3, "day";q=2;w=86400')
      expect(headers.get('ratelimit') ?? '').toMatch(/^"plan";r=\d, "day";r=\d;t=\d+$/)
      expect(headers.get('x-ratelimit-reset') ?? '').toMatch(/^\d+$/)
      return [status, ...['limit', 'remaining'].map((name) => headers.get(`x-ratelimit-${name}`))]
    }
    expect(await quotaAfter('?to=x')).toStrictEqual([400, '2', '2'])
    expect(await quotaAfter('')).toStrictEqual([200, '2', '1'])
    expect(await quotaAfter('', { 'if-none-match': '*' })).toStrictEqual([304, '2', '1'])
    expect(await quotaAfter('')).toStrictEqual([200, '2', '0'])
    expect(await quotaAfter('')).toStrictEqual([429, '2', '0'])
    expect(await quotaAfter('', { 'if-none-match': '*' })).toStrictEqual([429, '2', '0'])
  })
})

describe('401', () => {
  const assertInvalidKey = (response: TestResponse, label: string) => {
    expect([response.status, response.body['code']], label).toStrictEqual([401, 'invalid_key'])
    expect(response.body['message'], label).toBe('The API key is invalid or missing.')
    expect(problemFault(response), label).toBeUndefined()
    for (const name of ['ratelimit', 'ratelimit-policy', 'x-ratelimit-limit']) {
      expect(response.headers.get(name), label).toBe(null)
    }
  }

  test('a missing key is refused, whatever the query, cookie or scheme', async () => {
    const { secret } = await app.ring.issue()
    for (const query of [
      '',
      `?apikey=${secret}`,
      `?APIKey=${secret}&key=${secret}&token=${secret}`,
    ]) {
      assertInvalidKey(await read(query, {}), query)
    }
    assertInvalidKey(await read('', { authorization: `Basic ${secret}` }), 'another scheme')
    assertInvalidKey(await read('', { cookie: `apikey=${secret}` }), 'a cookie')
  })

  test('a malformed or unknown key is refused', async () => {
    const { secret } = await app.ring.issue()
    for (const text of [
      '',
      'x',
      UNKNOWN_KEY,
      secret.slice(0, -1),
      `${secret}x`,
      secret.toUpperCase(),
      secret.replace('mf_live', 'mf_test'),
      `Bearer ${secret}`,
      `"${secret}"`,
      `${secret}\u00e9`,
      'x'.repeat(8_000),
      "' or 1=1 --",
      '__proto__',
    ]) {
      assertInvalidKey(await read('', { apikey: text }), text)
    }
  })

  test('an empty or wrong APIKey is refused, even with a valid key in another header', async () => {
    const { secret } = await app.ring.issue()
    for (const text of ['', 'wrong']) {
      const headers = { apikey: text, 'x-api-key': secret, authorization: `Bearer ${secret}` }
      assertInvalidKey(await read('', headers), text)
    }
  })

  test('two APIKey headers are refused, even with the same key', async () => {
    const { secret } = await app.ring.issue()
    const twice = `APIKey: ${secret}\r\nAPIKey: ${secret}\r\n`
    const received = await sendRaw(
      app.httpPort,
      `GET /emails HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${twice}\r\n`,
    )
    expect(received).toMatch(/^HTTP\/1\.1 401 /)
  })

  test('a revoked key is refused at once', async () => {
    const key = await app.ring.issue()
    expect((await read('', key.headers)).status).toBe(200)
    await app.ring.shop.revokeKey(key.id)
    assertInvalidKey(await read('', key.headers), 'revoked')
    assertInvalidKey(
      await read('', { ...key.headers, 'if-none-match': '*' }),
      'also for what is unchanged',
    )
  })
})

describe('402', () => {
  const assertPaymentRequired = async (key: TestKey, code: string, pattern: RegExp) => {
    for (const more of [{}, { 'if-none-match': '*' }]) {
      for (const query of ['', '?limit=0', '?wait=55']) {
        const response = await read(query, { ...key.headers, ...more })
        expect([response.status, response.body['code']]).toStrictEqual([402, code])
        expect(String(response.body['message'])).toMatch(pattern)
        expect(String(response.body['message'])).toMatch(/https:\/\/mail\.test\/pricing$/)
        expect(response.headers.get('x-ratelimit-remaining')).toBe('0')
        expect(response.headers.get('retry-after')).toBe(null)
        expect(problemFault(response)).toBeUndefined()
      }
    }
  }

  test('the last request passes, the next one does not', async () => {
    const key = await app.ring.issue({ requests: 2 })
    expect((await read('', key.headers)).status).toBe(200)
    const last = await read('', key.headers)
    expect([last.status, last.headers.get('x-ratelimit-remaining')]).toStrictEqual([200, '0'])
    await assertPaymentRequired(key, 'quota_exhausted', /All 2 requests/)
    expect(await app.ring.used(key)).toBe(2)
  })

  test('a refunded key is refused', async () => {
    await assertPaymentRequired(
      await app.ring.issueRefunded(),
      'plan_expired',
      /refunded or is disputed/,
    )
  })

  test('a plan expires at the exact second', async () => {
    const key = await app.ring.issue({ months: 1 })
    const end = (await app.ring.shop.readKey(key.id, app.now()))?.expiresAt
    expect.assert(end)
    moveTo(end.getTime() - 20_000)
    expect((await read('', key.headers)).status).toBe(200)
    moveTo(end.getTime())
    await assertPaymentRequired(key, 'plan_expired', /This plan has expired/)
  })
})

describe('429', () => {
  test('the daily limit applies until midnight UTC', async () => {
    const key = await app.ring.issue({ requests: 100, perDay: 2 })
    const midnight = Math.ceil((app.now().getTime() + 60_000) / 86_400_000) * 86_400_000
    moveTo(midnight - 30_000)
    for (const status of [200, 200, 429]) {
      expect((await read('', key.headers)).status).toBe(status)
    }
    const response = await read('?limit=0', { ...key.headers, 'if-none-match': '*' })
    expect([response.status, response.body['code']]).toStrictEqual([429, 'daily_limit'])
    expect(problemFault(response)).toBeUndefined()
    expect(Number(response.headers.get('retry-after'))).toBeLessThanOrEqual(30)
    expect(response.headers.get('x-ratelimit-reset')).toBe(String(midnight / 1000))

    moveTo(midnight)
    for (const status of [200, 200, 429]) {
      expect((await read('', key.headers)).status).toBe(status)
    }
    expect(await app.ring.used(key)).toBe(4)
  })

  test('after 60 unknown messages in a minute, a key reads no single message', async () => {
    const { server, key, passSeconds } = await openServerWithManualClock()
    const from = (path: string, { headers } = key) =>
      requestFrom(server.port, PROXY, {
        path,
        headers: { 'x-forwarded-for': newClient(), ...headers },
      })
    for (let guess = 1; guess <= 60; guess += 1) {
      expect((await from(`/emails/${guess}/raw`)).status).toBe(404)
    }
    const refused = await from('/emails/61')
    expect([refused.status, refused.body['code']]).toStrictEqual([429, 'rate_limited'])
    expect((await from('/emails')).status, 'lists are unaffected').toBe(200)
    const other = await keyRing(server.shop, server.now).issue()
    expect((await from('/emails/61', other)).status, 'other keys, too').toBe(404)
    passSeconds(1)
    expect((await from('/emails/61')).status).toBe(404)
  })

  test('a key searches 60 times a minute', async () => {
    const { server, key } = await openServerWithManualClock()
    const search = (query: string) =>
      requestFrom(server.port, PROXY, {
        path: `/emails?${query}`,
        headers: { 'x-forwarded-for': newClient(), ...key.headers },
      })
    for (let count = 1; count <= 60; count += 1) expect((await search('q=code')).status).toBe(200)
    const refused = await search('q=code')
    expect([refused.status, refused.body['code']]).toStrictEqual([429, 'rate_limited'])
    expect(refused.headers.get('x-ratelimit-remaining'), 'which costs nothing').toBe('940')
    expect((await search('')).status).toBe(200)
  })

  test('after 20 wrong keys a client is refused, even with a valid key', async () => {
    const { server, key, passSeconds } = await openServerWithManualClock()
    const from = (client: string, apikey: string, path = '/emails') =>
      requestFrom(server.port, PROXY, { path, headers: { 'x-forwarded-for': client, apikey } })
    const [guesser, other] = [newClient(), newClient()]
    for (let guess = 1; guess <= 20; guess += 1) {
      expect((await from(guesser, guess % 2 ? 'typo' : UNKNOWN_KEY)).status).toBe(401)
    }
    for (const path of ['/emails', '/usage']) {
      for (const text of [UNKNOWN_KEY, key.secret]) {
        const response = await from(guesser, text, path)
        expect([response.status, response.body['code']], path).toStrictEqual([429, 'rate_limited'])
        expect(problemFault(response)).toBeUndefined()
      }
    }
    expect((await from(other, key.secret)).status, 'others are unaffected').toBe(200)
    const { status } = await request(`${server.url}/emails`, { headers: key.headers })
    expect(status, 'nor is loopback').toBe(200)
    passSeconds(2.999)
    expect((await from(guesser, key.secret)).status).toBe(429)
    passSeconds(0.001)
    expect((await from(guesser, key.secret)).status).toBe(200)
  })
})
