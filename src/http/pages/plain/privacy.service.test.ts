import { beforeAll, describe, expect, test } from 'vitest'
import { type App, sharedApp } from '../../../../test/kit/app/app.ts'
import { request } from '../../../../test/kit/http/http-client.ts'
import { openTestServer } from '../../../../test/kit/http/http-server.ts'
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
        expect(response.status).toBe(401)
        assertNoScriptPage(response)
        expect(response.text).toMatch(/<form method="post" action="\/plain">/)
      }
    })
  }

  test('an expired address is reported, with or without the cookie', async () => {
    const { token } = await sessionWithMail()
    await submitForm('/plain/end', token)
    for (const headers of [cookieFor(token), {}]) {
      const response = await get('/plain?look=1', headers)
      expect(response.status).toBe(401)
      assertNoScriptPage(response)
      expect(response.text).toMatch(/This address has expired/)
    }
  })

  test('no expiry is reported after a cross-site link, which omits the cookie', async () => {
    const response = await get('/plain?look=1', { 'sec-fetch-site': 'cross-site' })
    expect(response.status).toBe(200)
    expect(response.text).toMatch(/Open the address in this browser/)
  })

  test('the API does not accept the cookie', async () => {
    const { token, id } = await sessionWithMail(undefined)
    const cookie = `${COOKIE_NAME}=${token}; __Host-mayfly-plain=${token}; token=${token}`
    const tokenRoutes = documentedRoutes.filter(({ input }) => 'token' in input.properties)
    expect(tokenRoutes.length).toBeGreaterThanOrEqual(7)
    for (const { method, path } of tokenRoutes) {
      const query = path.includes('attachment') ? `?id=${id}&index=0` : `?id=${id}`
      const response = await request(`${app.url}${path}${query}`, { method, headers: { cookie } })
      expect([response.status, response.body['code']], path).toStrictEqual([
        400,
        'missing_parameter',
      ])
    }
    expect((await get('/plain', cookieFor(token))).status).toBe(200)
  })

  test('these pages accept the token in the cookie only', async () => {
    const { token, id } = await sessionWithMail(undefined)
    const headers = { authorization: `Bearer ${token}` }
    expect((await get(`/plain/mail/${id}?token=${token}`, headers)).status).toBe(401)
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
      expect(response.status).toBe(403)
      assertNoScriptPage(response)
      expect(response.headers.get('set-cookie')).toBe(null)
    }
  })

  test('a cross-site form cannot delete or extend anything, even with the right CSRF token', async () => {
    const { token, id } = await sessionWithMail(undefined)
    const values = { proof: csrfToken(token) }
    for (const path of ['/plain/end', '/plain/extend', `/plain/mail/${id}/delete`]) {
      for (const headers of CROSS_SITE) {
        expect((await send(path, values, { ...cookieFor(token), ...headers })).status).toBe(403)
      }
    }
    expect((await get(`/plain/mail/${id}`, cookieFor(token))).status).toBe(200)
  })

  test('without Sec-Fetch-Site the form needs a CSRF token', async () => {
    const { token, id } = await sessionWithMail(undefined)
    const other = csrfToken((await sessionWithMail()).token)
    for (const path of ['/plain/end', '/plain/extend', `/plain/mail/${id}/delete`]) {
      for (const values of [{}, { proof: other }, { proof: token }]) {
        const response = await send(path, values, { ...cookieFor(token), origin: 'null' })
        expect(response.status).toBe(403)
        assertNoScriptPage(response)
      }
    }
    expect((await get(`/plain/mail/${id}`, cookieFor(token))).status).toBe(200)
    const headers = { ...cookieFor(token), origin: 'null' }
    const response = await send(`/plain/mail/${id}/delete`, { proof: csrfToken(token) }, headers)
    expect(response.status).toBe(303)
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
      expect([foreign.status, missing.status, invalid.status]).toStrictEqual([404, 404, 404])
      assertNoScriptPage(foreign)
      expect(foreign.text).toBe(missing.text)
      expect(invalid.text).toBe(missing.text)
    }
    expect((await submitForm(`/plain/mail/${ann.id}/delete`, bob.token)).status).toBe(404)
    expect((await get(`/plain/mail/${ann.id}`, cookieFor(ann.token))).status).toBe(200)
  })

  test('an unknown attachment is not found', async () => {
    const { token, id } = await sessionWithMail(undefined)
    expect((await get(`/plain/mail/${id}/files/7`, cookieFor(token))).status).toBe(404)
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
          expect(status, `${method} ${path}`).toBeLessThan(500)
        }
      }
      expect(server.logged).toStrictEqual([])
      const token = 't'.repeat(43)
      for (const response of [
        await request(`${server.url}/plain`, { method: 'POST' }),
        await request(`${server.url}/plain`, { headers: cookieFor(token) }),
      ]) {
        expect(response.status).toBe(500)
        assertNoScriptPage(response)
        const id = response.headers.get('x-request-id') ?? ''
        expect(id !== '' && response.text.includes(id)).toBeTruthy()
        expect(response.text).not.toContain('nothing is made')
      }
      expect(server.logged.length).toBe(2)
      expect(JSON.stringify(server.logged)).not.toContain(token)
    } finally {
      await server.stop()
    }
  })
})
