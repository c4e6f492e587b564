import assert from 'node:assert/strict'
import { beforeAll, describe, test } from 'vitest'
import { type App, sharedApp } from '../../../test/support/app.ts'
import { ENCODINGS, post, problemFault, request } from '../../../test/support/http-client.ts'

let app: App
let url: string
beforeAll(async () => {
  app = await sharedApp()
  url = `${app.url}/api/delete-session`
})

describe('200', () => {
  for (const encoding of ENCODINGS) {
    test(`the token becomes invalid and mail to the address is rejected (${encoding})`, async () => {
      const { email, token } = await app.session()
      await app.mail(email)
      const { status, body, headers } = await post(url, { token }, encoding)
      assert.equal(status, 200)
      assert.deepEqual(Object.keys(body), ['status', 'message'])
      assert.equal(headers.get('cache-control'), 'no-store')
      const after = await request(`${app.url}/api/check-mail?token=${token}`)
      assert.deepEqual([after.status, after.body['code']], [401, 'invalid_token'])
      assert.equal(await app.mail(email), 550)
    })
  }
})

describe('400', () => {
  test('a missing token is refused', async () => {
    const response = await post(url, {})
    assert.deepEqual([response.status, response.body['code']], [400, 'missing_parameter'])
    assert.equal(problemFault(response), undefined)
  })
})

describe('401', () => {
  test('a deleted session is refused', async () => {
    const { token } = await app.session()
    assert.equal((await post(url, { token })).status, 200)
    const response = await post(url, { token })
    assert.deepEqual([response.status, response.body['code']], [401, 'invalid_token'])
    assert.equal(problemFault(response), undefined)
  })

  test('an expired session is refused', async () => {
    const { token } = await app.session({ ttl: '60' })
    app.moveClock(60)
    assert.equal((await post(url, { token })).body['code'], 'session_expired')
  })
})
