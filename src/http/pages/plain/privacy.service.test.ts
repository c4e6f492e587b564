import assert from 'node:assert/strict'
import { beforeAll, describe, test } from 'vitest'
import { type App, sharedApp } from '../../../../test/support/app.ts'
import { request } from '../../../../test/support/http-client.ts'
import { openTestServer } from '../../../../test/support/http-server.ts'
import { documentedRoutes } from '../../routes.ts'
import {
  assertNoScriptPage,
  COOKIE_NAME,
  cookieFor,
  noScriptClient,
} from '../testing/no-script-client.ts'
import { csrfToken } from './csrf.ts'

let app: App
beforeAll(async () => {
  app = await sharedApp()
})

const { get, send, submitForm, sessionWithMail } = noScriptClient(() => app)

const TOKEN_REQUIRED = [
  ['GET', '/plain/end'],
  ['GET', '/plain/mail/1'],
  ['GET', '/plain/mail/1/raw'],
  ['GET', '/plain/mail/1/files/0'],
  ['POST', '/plain/end'],
  ['POST', '/plain/extend'],
  ['POST', '/plain/mail/1/delete'],
] as const

describe('401', () => {
  for (const [method, path] of TOKEN_REQUIRED) {
    test(`${method} ${path} requires an address and offers to create one`, async () => {
      for (const token of [undefined, 'x'.repeat(43), 'x', '']) {
        const headers = token === undefined ? {} : cookieFor(token)
        const proof = csrfToken(token ?? '')
        const response =
          method === 'GET' ? await get(path, headers) : await send(path, { proof }, headers)
        assert.equal(response.status, 401)
        assertNoScriptPage(response)
        assert.match(response.text, /<form method="post" action="\/plain">/)
      }
    })
  }

  test('an expired address is reported, with or without the cookie', async () => {
    const { token } = await sessionWithMail()
    await submitForm('/plain/end', token)
    for (const headers of [cookieFor(token), {}]) {
      const response = await get('/plain?look=1', headers)
      assert.equal(response.status, 401)
      assertNoScriptPage(response)
      assert.match(response.text, /This address has expired/)
    }
  })

  test('no expiry is reported after a cross-site link, which omits the cookie', async () => {
    const response = await get('/plain?look=1', { 'sec-fetch-site': 'cross-site' })
    assert.equal(response.status, 200)
    assert.match(response.text, /Open the address in this browser/)
  })

  test('the API does not accept the cookie', async () => {
    const { token, id } = await sessionWithMail(undefined)
    const cookie = `${COOKIE_NAME}=${token}; __Host-mayfly-plain=${token}; token=${token}`
    const tokenRoutes = documentedRoutes.filter(({ input }) => 'token' in input.properties)
    assert.ok(tokenRoutes.length >= 7)
    for (const { method, path } of tokenRoutes) {
      const query = path.includes('attachment') ? `?id=${id}&index=0` : `?id=${id}`
      const response = await request(`${app.url}${path}${query}`, { method, headers: { cookie } })
      assert.deepEqual([response.status, response.body['code']], [400, 'missing_parameter'], path)
    }
    assert.equal((await get('/plain', cookieFor(token))).status, 200)
  })

  test('these pages accept the token in the cookie only', async () => {
    const { token, id } = await sessionWithMail(undefined)
    const headers = { authorization: `Bearer ${token}` }
    assert.equal((await get(`/plain/mail/${id}?token=${token}`, headers)).status, 401)
  })
})

describe('403', () => {
  const CROSS_SITE = [
    { 'sec-fetch-site': 'cross-site', origin: 'https://evil.test' },
    { 'sec-fetch-site': 'same-site', origin: 'https://neighbour.test' },
    { origin: 'https://evil.test' },
  ]

  test('a cross-site form cannot create an address', async () => {
    for (const headers of CROSS_SITE) {
      const response = await send('/plain', {}, headers)
      assert.equal(response.status, 403)
      assertNoScriptPage(response)
      assert.equal(response.headers.get('set-cookie'), null)
    }
  })

  test('a cross-site form cannot delete or extend anything, even with the right CSRF token', async () => {
    const { token, id } = await sessionWithMail(undefined)
    const values = { proof: csrfToken(token) }
    for (const path of ['/plain/end', '/plain/extend', `/plain/mail/${id}/delete`]) {
      for (const headers of CROSS_SITE) {
        assert.equal((await send(path, values, { ...cookieFor(token), ...headers })).status, 403)
      }
    }
    assert.equal((await get(`/plain/mail/${id}`, cookieFor(token))).status, 200)
  })

  test('without Sec-Fetch-Site the form needs a CSRF token', async () => {
    const { token, id } = await sessionWithMail(undefined)
    const other = csrfToken((await sessionWithMail()).token)
    for (const path of ['/plain/end', '/plain/extend', `/plain/mail/${id}/delete`]) {
      for (const values of [{}, { proof: other }, { proof: token }]) {
        const response = await send(path, values, { ...cookieFor(token), origin: 'null' })
        assert.equal(response.status, 403)
        assertNoScriptPage(response)
      }
    }
    assert.equal((await get(`/plain/mail/${id}`, cookieFor(token))).status, 200)
    const headers = { ...cookieFor(token), origin: 'null' }
    const response = await send(`/plain/mail/${id}/delete`, { proof: csrfToken(token) }, headers)
    assert.equal(response.status, 303)
  })
})

describe('404', () => {
  test('a message of another mailbox gets the response of an unknown one, and is not deleted', async () => {
    const ann = await sessionWithMail(undefined)
    const bob = await sessionWithMail()
    for (const end of ['', '/raw', '/files/0']) {
      const foreign = await get(`/plain/mail/${ann.id}${end}`, cookieFor(bob.token))
      const missing = await get(`/plain/mail/1${end}`, cookieFor(bob.token))
      const invalid = await get(`/plain/mail/x${end}`, cookieFor(bob.token))
      assert.deepEqual([foreign.status, missing.status, invalid.status], [404, 404, 404])
      assertNoScriptPage(foreign)
      assert.equal(foreign.text, missing.text)
      assert.equal(invalid.text, missing.text)
    }
    assert.equal((await submitForm(`/plain/mail/${ann.id}/delete`, bob.token)).status, 404)
    assert.equal((await get(`/plain/mail/${ann.id}`, cookieFor(ann.token))).status, 200)
  })

  test('an unknown attachment is not found', async () => {
    const { token, id } = await sessionWithMail(undefined)
    assert.equal((await get(`/plain/mail/${id}/files/7`, cookieFor(token))).status, 404)
  })
})

describe('500', () => {
  test('GET creates nothing; an internal error is a page, and the log contains no token', async () => {
    const server = await openTestServer({
      storeOverrides: {
        createSession: async () => {
          throw new Error('nothing is made')
        },
        findSession: async () => {
          throw new Error('nobody is found')
        },
      },
    })
    try {
      for (const path of ['/', '/plain', '/plain?first=1', '/plain?ended=1', '/plain/end']) {
        for (const method of ['GET', 'HEAD']) {
          const { status } = await request(`${server.url}${path}`, { method })
          assert.ok(status < 500, `${method} ${path}`)
        }
      }
      assert.deepEqual(server.logged, [])
      const token = 't'.repeat(43)
      for (const response of [
        await request(`${server.url}/plain`, { method: 'POST' }),
        await request(`${server.url}/plain`, { headers: cookieFor(token) }),
      ]) {
        assert.equal(response.status, 500)
        assertNoScriptPage(response)
        const id = response.headers.get('x-request-id') ?? ''
        assert.ok(id !== '' && response.text.includes(id))
        assert.ok(!response.text.includes('nothing is made'))
      }
      assert.equal(server.logged.length, 2)
      assert.ok(!JSON.stringify(server.logged).includes(token))
    } finally {
      await server.stop()
    }
  })
})
