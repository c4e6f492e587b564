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

async function filled(count: number) {
  const session = await app.session()
  for (let sent = 0; sent < count; sent += 1) await app.mail(session.email)
  return { token: session.token, ids: await list(session.token) }
}

describe('200', () => {
  for (const encoding of ENCODINGS) {
    test(`the message is gone, the others are not, asked in ${encoding}`, async () => {
      const { token, ids } = await filled(2)
      const { status, body, headers } = await post(url, { token, id: ids[0] ?? '' }, encoding)
      assert.equal(status, 200)
      assert.deepEqual(Object.keys(body), ['status', 'message'])
      assert.equal(typeof body['message'], 'string')
      assert.equal(headers.get('cache-control'), 'no-store')
      assert.deepEqual(await list(token), ids.slice(1))
      for (const path of ['read-mail', 'raw-mail']) {
        const gone = await request(`${app.url}/api/${path}?token=${token}&id=${ids[0]}`)
        assert.equal(gone.status, 404)
      }
    })
  }

  test('the token may come as Bearer', async () => {
    const { token, ids } = await filled(1)
    const headers = { authorization: `Bearer ${token}` }
    const asked = await request(`${url}?id=${ids[0]}`, { method: 'POST', headers })
    assert.equal(asked.status, 200)
    assert.deepEqual(await list(token), [])
  })
})

describe('400', () => {
  test('no token, no id', async () => {
    const { token } = await app.session()
    for (const params of [{ id: '1' }, { token }, { token, id: '' }]) {
      const asked = await post(url, params as Record<string, string>)
      assert.deepEqual([asked.status, asked.body['code']], [400, 'missing_parameter'])
      assert.equal(problemFault(asked), undefined)
    }
  })
})

describe('401', () => {
  test('a token that opens nothing', async () => {
    const asked = await post(url, { token: 'x', id: '1' })
    assert.deepEqual([asked.status, asked.body['code']], [401, 'invalid_token'])
    assert.equal(problemFault(asked), undefined)
  })

  test('a session that is over', async () => {
    const { token, ids } = await filled(1)
    app.moveClock(86_400)
    const asked = await post(url, { token, id: ids[0] ?? '' })
    assert.deepEqual([asked.status, asked.body['code']], [401, 'session_expired'])
  })
})

describe('404', () => {
  test('a message that is gone already', async () => {
    const { token, ids } = await filled(1)
    const params = { token, id: ids[0] ?? '' }
    assert.equal((await post(url, params)).status, 200)
    const asked = await post(url, params)
    assert.deepEqual([asked.status, asked.body['code']], [404, 'message_not_found'])
    assert.equal(problemFault(asked), undefined)
  })

  test('of many who delete one message at once, one does', async () => {
    const { token, ids } = await filled(1)
    const asked = Array.from({ length: 10 }, () => post(url, { token, id: ids[0] ?? '' }))
    const statuses = (await Promise.all(asked)).map(({ status }) => status)
    assert.deepEqual(statuses.toSorted(), [200, ...Array.from({ length: 9 }, () => 404)])
  })
})
