import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import {
  problemFault,
  request,
  requestFrom,
  sendRaw,
  type TestResponse,
} from '../../../test/support/http-client.ts'
import { type AppWithKeys, startAppWithKeys, type TestKey } from '../../../test/support/keys.ts'
import { openServerWithManualClock } from '../../../test/support/manual-clock.ts'
import { newClient, PROXY, PROXY_ENV } from '../../../test/support/trusted-proxy.ts'
import { makeKeySecret } from '../../core/key.ts'

let app: AppWithKeys
beforeAll(async () => {
  app = await startAppWithKeys({ env: { ...PROXY_ENV, MAYFLY_BASE_URL: 'https://mail.test' } })
})
afterAll(() => app.stop())

const read = (query: string, headers: Record<string, string>, method = 'GET') =>
  request(`${app.url}/emails${query}`, { method, headers })
/** The first whole second of the house's clock from then on. */
const moveTo = (time: number) => app.moveClock(Math.ceil((time - app.now().getTime()) / 1000))
const NOBODYS = makeKeySecret('mf_live_none', new Uint8Array(20))

describe('what it costs', () => {
  /** The status that a fresh key gets, and what is used of it afterwards. */
  const cost = async (
    operation: (key: TestKey) => Promise<TestResponse>,
  ): Promise<[number, number]> => {
    const key = await app.ring.issue()
    const { status } = await operation(key)
    return [status, (await app.ring.used(key)) ?? -1]
  }

  test('each 200 costs one, also an empty one, also HEAD', async () => {
    assert.deepEqual(await cost(({ headers }) => read('?to=none@pool.test', headers)), [200, 1])
    assert.deepEqual(await cost(({ headers }) => read('', headers, 'HEAD')), [200, 1])
  })

  test('a 304 costs nothing, in whichever way it is asked for', async () => {
    const operation = async ({ headers }: TestKey): Promise<TestResponse> => {
      const etag = (await read('', headers)).headers.get('etag') ?? ''
      await read('', { ...headers, 'if-none-match': etag }, 'HEAD')
      return await read('', { ...headers, 'if-none-match': etag })
    }
    assert.deepEqual(await cost(operation), [304, 1])
  })

  for (const query of ['to=x', 'limit=0', 'limit=501', 'cursor=x', 'since_id=-1', 'wait=56']) {
    test(`a 400 for ${query} costs nothing`, async () => {
      assert.deepEqual(await cost(({ headers }) => read(`?${query}`, headers)), [400, 0])
    })
  }

  for (const [path, method, status] of [
    ['', 'POST', 405],
    ['', 'OPTIONS', 204],
    ['/', 'GET', 404],
  ] as const) {
    test(`a ${status} costs nothing`, async () => {
      assert.deepEqual(await cost(({ headers }) => read(path, headers, method)), [status, 0])
    })
  }

  test('every answer to a valid key says what is left', async () => {
    const mine = await app.ring.issue({ requests: 3, perDay: 2 })
    const left = async (query: string, more = {}) => {
      const { status, headers } = await read(query, { ...mine.headers, ...more })
      assert.equal(headers.get('ratelimit-policy'), '"plan";q=3, "day";q=2;w=86400')
      assert.match(headers.get('ratelimit') ?? '', /^"plan";r=\d, "day";r=\d;t=\d+$/)
      assert.match(headers.get('x-ratelimit-reset') ?? '', /^\d+$/)
      return [status, ...['limit', 'remaining'].map((name) => headers.get(`x-ratelimit-${name}`))]
    }
    assert.deepEqual(await left('?to=x'), [400, '2', '2'])
    assert.deepEqual(await left(''), [200, '2', '1'])
    assert.deepEqual(await left('', { 'if-none-match': '*' }), [304, '2', '1'])
    assert.deepEqual(await left(''), [200, '2', '0'])
    assert.deepEqual(await left(''), [429, '2', '0'])
    assert.deepEqual(await left('', { 'if-none-match': '*' }), [429, '2', '0'])
  })
})

describe('401', () => {
  const unknown = (asked: TestResponse, about: string) => {
    assert.deepEqual([asked.status, asked.body['code']], [401, 'invalid_key'], about)
    assert.equal(asked.body['message'], 'The API key is invalid or missing.', about)
    assert.equal(problemFault(asked), undefined, about)
    for (const name of ['ratelimit', 'ratelimit-policy', 'x-ratelimit-limit']) {
      assert.equal(asked.headers.get(name), null, about)
    }
  }

  test('no key, whatever stands in the query', async () => {
    const { secret } = await app.ring.issue()
    for (const query of [
      '',
      `?apikey=${secret}`,
      `?APIKey=${secret}&key=${secret}&token=${secret}`,
    ]) {
      unknown(await read(query, {}), query)
    }
    unknown(await read('', { authorization: `Basic ${secret}` }), 'another scheme')
    unknown(await read('', { cookie: `apikey=${secret}` }), 'a cookie')
  })

  test('a key that is none', async () => {
    const { secret } = await app.ring.issue()
    for (const text of [
      '',
      'x',
      NOBODYS,
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
      unknown(await read('', { apikey: text }), text)
    }
  })

  test('an empty or wrong APIKey is not made good by another header', async () => {
    const { secret } = await app.ring.issue()
    for (const text of ['', 'wrong']) {
      const headers = { apikey: text, 'x-api-key': secret, authorization: `Bearer ${secret}` }
      unknown(await read('', headers), text)
    }
  })

  test('two APIKey headers, also of the same key', async () => {
    const { secret } = await app.ring.issue()
    const twice = `APIKey: ${secret}\r\nAPIKey: ${secret}\r\n`
    const heard = await sendRaw(
      app.httpPort,
      `GET /emails HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${twice}\r\n`,
    )
    assert.match(heard, /^HTTP\/1\.1 401 /)
  })

  test('a revoked key, at once', async () => {
    const key = await app.ring.issue()
    assert.equal((await read('', key.headers)).status, 200)
    await app.ring.shop.revokeKey(key.id)
    unknown(await read('', key.headers), 'revoked')
    unknown(await read('', { ...key.headers, 'if-none-match': '*' }), 'also for what is unchanged')
  })
})

describe('402', () => {
  const over = async (key: TestKey, code: string, words: RegExp) => {
    for (const more of [{}, { 'if-none-match': '*' }]) {
      for (const query of ['', '?limit=0', '?wait=55']) {
        const asked = await read(query, { ...key.headers, ...more })
        assert.deepEqual([asked.status, asked.body['code']], [402, code])
        assert.match(String(asked.body['message']), words)
        assert.match(String(asked.body['message']), /https:\/\/mail\.test\/pricing$/)
        assert.equal(asked.headers.get('x-ratelimit-remaining'), '0')
        assert.equal(asked.headers.get('retry-after'), null)
        assert.equal(problemFault(asked), undefined)
      }
    }
  }

  test('the last request passes, the next one does not', async () => {
    const key = await app.ring.issue({ requests: 2 })
    assert.equal((await read('', key.headers)).status, 200)
    const last = await read('', key.headers)
    assert.deepEqual([last.status, last.headers.get('x-ratelimit-remaining')], [200, '0'])
    await over(key, 'quota_exhausted', /All 2 requests/)
    assert.equal(await app.ring.used(key), 2)
  })

  test('a payment that was returned', async () => {
    await over(await app.ring.issueRefunded(), 'plan_expired', /refunded or is disputed/)
  })

  test('a plan ends at the very second', async () => {
    const key = await app.ring.issue({ months: 1 })
    const end = (await app.ring.shop.readKey(key.id, app.now()))?.expiresAt
    assert.ok(end)
    moveTo(end.getTime() - 20_000)
    assert.equal((await read('', key.headers)).status, 200)
    moveTo(end.getTime())
    await over(key, 'plan_expired', /This plan has expired/)
  })
})

describe('429', () => {
  test('the limit of a day, until the UTC midnight', async () => {
    const key = await app.ring.issue({ requests: 100, perDay: 2 })
    const midnight = Math.ceil((app.now().getTime() + 60_000) / 86_400_000) * 86_400_000
    moveTo(midnight - 30_000)
    for (const status of [200, 200, 429]) {
      assert.equal((await read('', key.headers)).status, status)
    }
    const asked = await read('?limit=0', { ...key.headers, 'if-none-match': '*' })
    assert.deepEqual([asked.status, asked.body['code']], [429, 'daily_limit'])
    assert.equal(problemFault(asked), undefined)
    assert.ok(Number(asked.headers.get('retry-after')) <= 30)
    assert.equal(asked.headers.get('x-ratelimit-reset'), String(midnight / 1000))

    moveTo(midnight)
    for (const status of [200, 200, 429]) {
      assert.equal((await read('', key.headers)).status, status)
    }
    assert.equal(await app.ring.used(key), 4)
  })

  test('the twenty-first wrong key of one client, whatever it presents then', async () => {
    const { door, key, passSeconds } = await openServerWithManualClock()
    const from = (client: string, apikey: string, path = '/emails') =>
      requestFrom(door.port, PROXY, { path, headers: { 'x-forwarded-for': client, apikey } })
    const [guesser, other] = [newClient(), newClient()]
    for (let guess = 1; guess <= 20; guess += 1) {
      assert.equal((await from(guesser, guess % 2 ? 'typo' : NOBODYS)).status, 401)
    }
    for (const path of ['/emails', '/usage']) {
      for (const text of [NOBODYS, key.secret]) {
        const asked = await from(guesser, text, path)
        assert.deepEqual([asked.status, asked.body['code']], [429, 'rate_limited'], path)
        assert.equal(problemFault(asked), undefined)
      }
    }
    assert.equal((await from(other, key.secret)).status, 200, 'others are unaffected')
    const { status } = await request(`${door.url}/emails`, { headers: key.headers })
    assert.equal(status, 200, 'nor is loopback')
    passSeconds(2.999)
    assert.equal((await from(guesser, key.secret)).status, 429)
    passSeconds(0.001)
    assert.equal((await from(guesser, key.secret)).status, 200)
  })
})
