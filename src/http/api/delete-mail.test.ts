import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { type App, startApp } from '../../../test/support/app.ts'
import { ENCODINGS, post, problemFault, request } from '../../../test/support/http-client.ts'
import { PROXY_ENV } from '../../../test/support/trusted-proxy.ts'

let app: App
let url: string
beforeAll(async () => {
  app = await startApp({ env: PROXY_ENV })
  url = `${app.url}/api/delete-mail`
})
afterAll(() => app.stop())

const list = async (token: string) =>
  (
    (await request(`${app.url}/api/check-mail?token=${token}`)).body['messages'] as { id: number }[]
  ).map(({ id }) => String(id))

async function sessionWithMail(count: number) {
  const session = await app.session()
  for (let sent = 0; sent < count; sent += 1) await app.mail(session.email)
  return { token: session.token, ids: await list(session.token) }
}

describe('200', () => {
  for (const encoding of ENCODINGS) {
    test(`only the given message is deleted (${encoding})`, async () => {
      const { token, ids } = await sessionWithMail(2)
      const { status, body, headers } = await post(url, { token, id: ids[0] ?? '' }, encoding)
      assert.equal(status, 200)
      assert.deepEqual(Object.keys(body), ['status', 'message'])
      assert.equal(typeof body['message'], 'string')
      assert.equal(headers.get('cache-control'), 'no-store')
      assert.deepEqual(await list(token), ids.slice(1))
      for (const path of ['read-mail', 'raw-mail']) {
        const deleted = await request(`${app.url}/api/${path}?token=${token}&id=${ids[0]}`)
        assert.equal(deleted.status, 404)
      }
    })
  }

  test('the token is accepted as Bearer', async () => {
    const { token, ids } = await sessionWithMail(1)
    const headers = { authorization: `Bearer ${token}` }
    const response = await request(`${url}?id=${ids[0]}`, { method: 'POST', headers })
    assert.equal(response.status, 200)
    assert.deepEqual(await list(token), [])
  })
})

describe('400', () => {
  test('a missing token or id is refused', async () => {
    const { token } = await app.session()
    for (const params of [{ id: '1' }, { token }, { token, id: '' }]) {
      const response = await post(url, params as Record<string, string>)
      assert.deepEqual([response.status, response.body['code']], [400, 'missing_parameter'])
      assert.equal(problemFault(response), undefined)
    }
  })
})

describe('401', () => {
  test('an unknown token is refused', async () => {
    const response = await post(url, { token: 'x', id: '1' })
    assert.deepEqual([response.status, response.body['code']], [401, 'invalid_token'])
    assert.equal(problemFault(response), undefined)
  })

  test('an expired session is refused', async () => {
    const { token, ids } = await sessionWithMail(1)
    app.moveClock(86_400)
    const response = await post(url, { token, id: ids[0] ?? '' })
    assert.deepEqual([response.status, response.body['code']], [401, 'session_expired'])
  })
})

describe('404', () => {
  test('a deleted message is not found', async () => {
    const { token, ids } = await sessionWithMail(1)
    const params = { token, id: ids[0] ?? '' }
    assert.equal((await post(url, params)).status, 200)
    const response = await post(url, params)
    assert.deepEqual([response.status, response.body['code']], [404, 'message_not_found'])
    assert.equal(problemFault(response), undefined)
  })

  test('of ten concurrent deletions of one message, one succeeds', async () => {
    const { token, ids } = await sessionWithMail(1)
    const requests = Array.from({ length: 10 }, () => post(url, { token, id: ids[0] ?? '' }))
    const statuses = (await Promise.all(requests)).map(({ status }) => status)
    assert.deepEqual(statuses.toSorted(), [200, ...Array.from({ length: 9 }, () => 404)])
  })
})
