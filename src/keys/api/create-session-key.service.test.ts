import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { emailsOf } from '../../../test/support/api-client.ts'
import { problemFault, request, requestFrom } from '../../../test/support/http-client.ts'
import { type AppWithKeys, sharedAppWithKeys, type TestKey } from '../../../test/support/keys.ts'
import { openServerWithManualClock } from '../../../test/support/manual-clock.ts'
import { newClient, PROXY } from '../../../test/support/trusted-proxy.ts'
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
  assert.equal(await app.mail(email), 250)
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
      assert.equal(status, 200)
      assert.equal(await app.ring.used(key), 0)
      assert.equal(await canRead(key, String(body['email'])), true)
      assert.equal(await canRead(other, String(body['email'])), false)
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
      assert.equal(status, 200)
      assert.equal(await canRead(key, String(body['email'])), false)
    }
    const { body } = await create({}, `&apikey=${key.secret}`)
    assert.equal(await canRead(key, String(body['email'])), false, 'never from the query')
  })

  test('a key at its daily limit is accepted, and nothing is charged', async () => {
    const key = await app.ring.issue({ requests: 9, perDay: 1 })
    assert.equal((await request(`${app.url}/emails`, { headers: key.headers })).status, 200)
    assert.equal((await create(key.headers)).status, 200)
    assert.equal(await app.ring.used(key), 1)
  })

  test('a key raises the maximum ttl from 7 to 30 days, also for extensions', async () => {
    const DAY = 86_400
    const { headers } = await app.ring.issue()
    const { body, status } = await create(headers, `&ttl=${30 * DAY}`)
    assert.equal(status, 200)
    const extend = `${app.url}/api/extend-session?token=${body['token']}&ttl=`
    const extended = await request(`${extend}${30 * DAY}`, { method: 'POST' })
    assert.deepEqual([extended.status, extended.body['email']], [200, body['email']])
    const tooLong = await create(headers, `&ttl=${30 * DAY + 1}`)
    assert.equal(tooLong.body['message'], 'ttl: must be 60 to 2592000 seconds.')
    const anonymous = await create({}, `&ttl=${7 * DAY + 1}`)
    assert.deepEqual([anonymous.status, anonymous.body['code']], [400, 'invalid_parameter'])
    assert.equal(
      anonymous.body['message'],
      'ttl: must be 60 to 604800 seconds; up to 2592000 with an API key.',
    )
  })

  test('cross-origin requests with a key are allowed', async () => {
    const key = await app.ring.issue()
    const { headers } = await create({ ...key.headers, origin: 'https://page.test' })
    assert.equal(headers.get('access-control-allow-origin'), '*')
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
      assert.deepEqual([response.status, response.body['code']], [401, 'invalid_key'])
      assert.equal(problemFault(response), undefined)
    }
    assert.equal((await create({}, '&prefix=never-made')).status, 200, 'the address is free')
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
      assert.deepEqual([response.status, response.body['code']], [402, code])
      assert.match(String(response.body['message']), /http:\/\/127\.0\.0\.1:\d+\/pricing$/)
      assert.equal(problemFault(response), undefined)
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
    for (let guess = 1; guess <= 20; guess += 1) assert.equal((await from(UNKNOWN_KEY)).status, 401)
    assert.equal((await from(key.secret)).status, 200, 'twenty are not too many')
    assert.equal((await from(UNKNOWN_KEY)).status, 429)
    assert.equal((await from(key.secret)).status, 429)
  })
})
