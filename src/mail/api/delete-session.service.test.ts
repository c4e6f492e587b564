import { beforeAll, describe, expect, test } from 'vitest'
import { type App, sharedApp } from '../../../test/kit/app/app.ts'
import { ENCODINGS, post, problemFault, request } from '../../../test/kit/http/http-client.ts'

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
      expect(status).toBe(200)
      expect(Object.keys(body)).toStrictEqual(['status', 'message'])
      expect(headers.get('cache-control')).toBe('no-store')
      const after = await request(`${app.url}/api/check-mail?token=${token}`)
      expect([after.status, after.body['code']]).toStrictEqual([401, 'invalid_token'])
      expect(await app.mail(email)).toBe(550)
    })
  }
})

describe('400', () => {
  test('a missing token is refused', async () => {
    const response = await post(url, {})
    expect([response.status, response.body['code']]).toStrictEqual([400, 'missing_parameter'])
    expect(problemFault(response)).toBeUndefined()
  })
})

describe('401', () => {
  test('a deleted session is refused', async () => {
    const { token } = await app.session()
    expect((await post(url, { token })).status).toBe(200)
    const response = await post(url, { token })
    expect([response.status, response.body['code']]).toStrictEqual([401, 'invalid_token'])
    expect(problemFault(response)).toBeUndefined()
  })

  test('an expired session is refused', async () => {
    const { token } = await app.session({ ttl: '60' })
    app.moveClock(60)
    expect((await post(url, { token })).body['code']).toBe('session_expired')
  })
})
