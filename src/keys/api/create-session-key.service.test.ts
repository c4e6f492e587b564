import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { emailsOf } from '../../../test/kit/http/api-client.ts'
import { problemFault, request, requestFrom } from '../../../test/kit/http/http-client.ts'
import { newClient, PROXY } from '../../../test/kit/http/trusted-proxy.ts'
import { openServerWithManualClock } from '../../../test/kit/manual-clock.ts'
import { type AppWithKeys, sharedAppWithKeys, type TestKey } from '../../../test/kit/shop/keys.ts'
import { makeKeySecret } from '../rules.ts'

let app: AppWithKeys
beforeAll(async () => {
  app = await sharedAppWithKeys()
})
afterAll(() => app.stop())

const create = (headers: Record<string, string>, query = '') =>
  request(`${app.url}/api/create-session?domain_id=1${query}`, { method: 'POST', headers })
const UNKNOWN_KEY = makeKeySecret('mf_live_none', new Uint8Array(20))

/** Whether /emails returns mail to this address for this key. */
async function canRead({ headers }: TestKey, email: string): Promise<boolean> {
  expect(await app.mail(email)).toBe(250)
  return emailsOf(await request(`${app.url}/emails?to=${email}`, { headers })).length > 0
}

describe('200', () => {
  for (const [name, headersOf] of [
    ['APIKey', (secret: string) => ({ APIKey: secret })],
    ['X-API-Key', (secret: string) => ({ 'X-API-Key': secret })],
    ['Bearer', (secret: string) => ({ authorization: `Bearer ${secret}` })],
  ] as const) {
    test(`${name} assigns the session to the key and costs nothing`, async () => {
      const [key, other] = [await app.ring.issue(), await app.ring.issue()]
      const { status, body } = await create(headersOf(key.secret))
      expect(status).toBe(200)
      expect(await app.ring.used(key)).toBe(0)
      expect(await canRead(key, String(body['email']))).toBe(true)
      expect(await canRead(other, String(body['email']))).toBe(false)
    })
  }

  test('without a key, or with a Bearer token that is not a key, the session belongs to no key', async () => {
    const key = await app.ring.issue()
    const { token } = await app.session()
    for (const headers of [
      {},
      { authorization: `Bearer ${token}` },
      { authorization: 'Basic x' },
    ]) {
      const { status, body } = await create(headers)
      expect(status).toBe(200)
      expect(await canRead(key, String(body['email']))).toBe(false)
    }
    const { body } = await create({}, `&apikey=${key.secret}`)
    expect(await canRead(key, String(body['email'])), 'never from the query').toBe(false)
  })

  test('a key at its daily limit is accepted, and nothing is charged', async () => {
    const key = await app.ring.issue({ requests: 9, perDay: 1 })
    expect((await request(`${app.url}/emails`, { headers: key.headers })).status).toBe(200)
    expect((await create(key.headers)).status).toBe(200)
    expect(await app.ring.used(key)).toBe(1)
  })

  test('a key raises the maximum ttl from 7 to 30 days, also for extensions', async () => {
    const DAY = 86_400
    const { headers } = await app.ring.issue()
    const { body, status } = await create(headers, `&ttl=${30 * DAY}`)
    expect(status).toBe(200)
    const extend = `${app.url}/api/extend-session?token=${body['token']}&ttl=`
    const extended = await request(`${extend}${30 * DAY}`, { method: 'POST' })
    expect([extended.status, extended.body['email']]).toStrictEqual([200, body['email']])
    const tooLong = await create(headers, `&ttl=${30 * DAY + 1}`)
    expect(tooLong.body['message']).toBe('ttl: must be 60 to 2592000 seconds.')
    const anonymous = await create({}, `&ttl=${7 * DAY + 1}`)
    expect([anonymous.status, anonymous.body['code']]).toStrictEqual([400, 'invalid_parameter'])
    expect(anonymous.body['message']).toBe(
      'ttl: must be 60 to 604800 seconds; up to 2592000 with an API key.',
    )
  })

  test('cross-origin requests with a key are allowed', async () => {
    const key = await app.ring.issue()
    const { headers } = await create({ ...key.headers, origin: 'https://page.test' })
    expect(headers.get('access-control-allow-origin')).toBe('*')
  })
})

describe('401', () => {
  test('an empty, wrong, repeated or revoked key creates no session', async () => {
    const [valid, revoked] = [await app.ring.issue(), await app.ring.issue()]
    await app.ring.shop.revokeKey(revoked.id)
    for (const headers of [
      { apikey: '' },
      { apikey: 'wrong' },
      { apikey: UNKNOWN_KEY },
      { apikey: `${valid.secret}, ${valid.secret}` },
      { apikey: 'wrong', 'x-api-key': valid.secret },
      { 'x-api-key': '' },
      { authorization: 'Bearer mf_live_wrong' },
      revoked.headers,
    ] as Record<string, string>[]) {
      const response = await create(headers, '&prefix=never-made')
      expect([response.status, response.body['code']]).toStrictEqual([401, 'invalid_key'])
      expect(problemFault(response)).toBeUndefined()
    }
    expect((await create({}, '&prefix=never-made')).status, 'the address is free').toBe(200)
  })
})

describe('402', () => {
  test('an exhausted, expired or refunded key is refused', async () => {
    const exhausted = await app.ring.issue({ requests: 0 })
    const expired = await app.ring.issue({ months: 1 })
    app.moveClock(31 * 86_400)
    for (const [key, code] of [
      [exhausted, 'quota_exhausted'],
      [expired, 'plan_expired'],
      [await app.ring.issueRefunded(), 'plan_expired'],
    ] as const) {
      const response = await create(key.headers)
      expect([response.status, response.body['code']]).toStrictEqual([402, code])
      expect(String(response.body['message'])).toMatch(/http:\/\/127\.0\.0\.1:\d+\/pricing$/)
      expect(problemFault(response)).toBeUndefined()
    }
  })
})

describe('429', () => {
  test('wrong keys count towards the rate limit', async () => {
    const { server, key } = await openServerWithManualClock()
    const client = newClient()
    const from = (apikey: string) =>
      requestFrom(server.port, PROXY, {
        method: 'POST',
        path: '/api/create-session',
        headers: { 'x-forwarded-for': client, apikey },
      })
    for (let guess = 1; guess <= 20; guess += 1) expect((await from(UNKNOWN_KEY)).status).toBe(401)
    expect((await from(key.secret)).status, 'twenty are not too many').toBe(200)
    expect((await from(UNKNOWN_KEY)).status).toBe(429)
    expect((await from(key.secret)).status).toBe(429)
  })
})
