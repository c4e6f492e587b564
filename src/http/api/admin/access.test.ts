import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { problemFault, request, requestFrom } from '../../../../test/support/http-client.ts'
import { openTestServer, type TestServer } from '../../../../test/support/http-server.ts'
import { newClient, PROXY, PROXY_ENV } from '../../../../test/support/trusted-proxy.ts'
import { adminRoutes } from '../../routes.ts'
import { ADMIN_TOKEN, assertProblem } from './testing/admin-client.ts'

const TOKEN = ADMIN_TOKEN
const BEARER = { authorization: `Bearer ${TOKEN}` }
const API = adminRoutes.filter(({ path }) => path.startsWith('/admin/api/'))
const HOURS = 3_600_000

let time = new Date()
let server: TestServer
beforeAll(async () => {
  const env = { ...PROXY_ENV, MAYFLY_ADMIN_TOKEN: TOKEN, MAYFLY_READER_ORIGINS: '*' }
  server = await openTestServer({ env, now: () => time })
})
afterAll(() => server.stop())

type Headers = Record<string, string>

const get = (path: string, headers: Headers = {}) =>
  request(`${server.url}/admin/api${path}`, { headers })
const send = (path: string, headers: Headers = {}, body: string | URLSearchParams = '') =>
  request(`${server.url}/admin/api${path}`, { method: 'POST', headers, body })
const ownPage = () => ({ origin: server.url, 'sec-fetch-site': 'same-origin' })

async function signIn(): Promise<{ cookie: string; flags: string[] }> {
  const { status, headers } = await send('/sign-in', BEARER)
  assert.equal(status, 200)
  const [cookie = '', ...flags] = (headers.get('set-cookie') ?? '').split('; ')
  return { cookie, flags }
}

describe('without a token in the configuration', () => {
  test('neither the page nor any route of the API exists, whatever is sent', async () => {
    const closed = await openTestServer()
    for (const { method, path } of adminRoutes) {
      for (const sent of [method, 'OPTIONS', 'PUT']) {
        const headers = { authorization: 'Bearer ', cookie: 'mayfly-admin=x', accept: 'text/html' }
        const response = await request(`${closed.url}${path}`, { method: sent, headers })
        assert.equal(response.status, 404, `${sent} ${path}`)
        const isJson = response.headers.get('content-type')?.startsWith('application/json')
        assert.equal(isJson, path !== '/admin', `${sent} ${path}`)
      }
    }
    await closed.stop()
  })
})

describe('every route of the API', () => {
  const refused: [string, () => Headers][] = [
    ['nothing', () => ({})],
    ['a wrong token', () => ({ authorization: 'Bearer the-admin-tokem' })],
    ['an empty token', () => ({ authorization: 'Bearer ' })],
    ['another scheme', () => ({ authorization: `Basic ${btoa(`admin:${TOKEN}`)}` })],
    ['an unknown cookie', () => ({ ...ownPage(), cookie: 'mayfly-admin=x' })],
    ['the token as cookie', () => ({ ...ownPage(), cookie: `mayfly-admin=${TOKEN}` })],
  ]
  for (const [name, headers] of refused) {
    test(`refuses ${name}, with JSON and before it reads parameters`, async () => {
      for (const { method, path } of API) {
        const init = { method, headers: { accept: 'text/html', ...headers() } }
        const response = await request(`${server.url}${path}?token=${TOKEN}&id=nonsense`, init)
        const crossSite = method === 'POST' && !('origin' in headers())
        const isSignIn = path.endsWith('/sign-in')
        const hasBearer = headers()['authorization']?.startsWith('Bearer t') === true
        const expected = crossSite && !isSignIn && !hasBearer ? 403 : 401
        assert.equal(response.status, expected, `${method} ${path}`)
        assert.equal(problemFault(response), undefined, path)
      }
    })
  }

  test('is closed to other origins, even if the keyed API is open', async () => {
    const origin = 'https://evil.test'
    for (const { path } of API) {
      for (const method of ['OPTIONS', 'GET'] as const) {
        const response = await request(`${server.url}${path}`, { method, headers: { origin } })
        assert.equal(response.headers.get('access-control-allow-origin'), null, path)
        assert.equal(response.headers.get('cross-origin-resource-policy'), 'same-origin', path)
      }
    }
  })
})

describe('the cookie', () => {
  test('is random, valid for 12 hours, and readable by neither scripts nor other sites', async () => {
    const [one, other] = [await signIn(), await signIn()]
    assert.match(one.cookie, /^mayfly-admin=[\w-]{43}$/)
    assert.notEqual(one.cookie, other.cookie)
    assert.deepEqual(one.flags, ['Path=/admin', 'Max-Age=43200', 'HttpOnly', 'SameSite=Strict'])
    assert.equal((await get('/overview', { cookie: one.cookie })).status, 200)
    assert.equal((await get('/overview', { cookie: `a=b; ${other.cookie}; c=d` })).status, 200)
  })

  test('over https has the prefix that sibling hosts cannot set', async () => {
    const headers = { ...BEARER, 'x-forwarded-proto': 'https', 'x-forwarded-for': newClient() }
    const path = '/admin/api/sign-in'
    const made = await requestFrom(server.port, PROXY, { method: 'POST', path, headers })
    assert.match(
      made.headers.get('set-cookie') ?? '',
      /^__Host-mayfly-admin=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure$/,
    )
  })

  test('expires 12 hours after the sign-in, however often it is used', async () => {
    const { cookie } = await signIn()
    const before = time
    time = new Date(before.getTime() + 12 * HOURS - 1)
    assert.equal((await get('/overview', { cookie })).status, 200)
    time = new Date(before.getTime() + 12 * HOURS)
    assertProblem(await get('/overview', { cookie }), 401, 'invalid_token')
  })

  test('is worthless after the sign-out, and others stay valid', async () => {
    const [one, other] = [await signIn(), await signIn()]
    const out = await send('/sign-out', { ...ownPage(), cookie: one.cookie })
    assert.equal(out.status, 200)
    assert.match(out.headers.get('set-cookie') ?? '', /^mayfly-admin=; Path=\/admin; Max-Age=0;/)
    assert.equal((await get('/overview', { cookie: one.cookie })).status, 401)
    assert.equal((await get('/overview', { cookie: other.cookie })).status, 200)
  })

  test('is stored only as a hash, which depends on the admin token', async () => {
    const hashes: string[] = []
    const shopOverrides = {
      addAdminSession: async ({ hash }: { hash: string }) => void hashes.push(hash),
      hasAdminSession: async (hash: string) => hashes.includes(hash),
    }
    const open = (token: string) =>
      openTestServer({ env: { MAYFLY_ADMIN_TOKEN: token }, shopOverrides })
    const [first, next] = [await open('first'), await open('next')]
    const { headers } = await request(`${first.url}/admin/api/sign-in`, {
      method: 'POST',
      headers: { authorization: 'Bearer first' },
    })
    const [cookie = ''] = (headers.get('set-cookie') ?? '').split(';')
    const overview = async ({ url }: TestServer) =>
      (await request(`${url}/admin/api/overview`, { headers: { cookie } })).status
    assert.deepEqual([await overview(first), await overview(next)], [200, 401])
    assert.ok(!hashes.join().includes(cookie.replace(/^.*=/, '')))
    await Promise.all([first.stop(), next.stop()])
  })
})

describe('a form or script of another site cannot use the cookie', () => {
  const EVIL = 'https://evil.test'
  for (const [name, headers] of [
    ['another site', { origin: EVIL, 'sec-fetch-site': 'cross-site' }],
    ['another site in an old browser', { origin: EVIL }],
    ['a page without an origin', { origin: 'null' }],
    ['a request without an Origin header', {}],
    ['another host of our site', { origin: EVIL, 'sec-fetch-site': 'same-site' }],
    ['our origin, but not our page', { 'sec-fetch-site': 'cross-site', own: '1' }],
    ['a navigation', { 'sec-fetch-site': 'none' }],
    ['our host as prefix', { origin: 'http://127.0.0.1.evil.test' }],
    ['another port', { origin: 'http://127.0.0.1:1' }],
  ] as [string, Headers & { own?: string }][]) {
    test(name, async () => {
      const { cookie } = await signIn()
      const { own, ...sent } = headers
      const all = { ...(own ? { origin: server.url } : {}), ...sent, cookie }
      for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'application/json']) {
        const body = type.endsWith('json') ? '{"name":"evil.test"}' : 'name=evil.test'
        const response = await send('/domains', { ...all, 'content-type': type }, body)
        assertProblem(response, 403, 'not_allowed', type)
      }
      assertProblem(await send('/sign-out', all), 403, 'not_allowed')
      assert.ok(!(await server.store.listDomains()).some(({ name }) => name === 'evil.test'))
      assert.equal((await get('/overview', { cookie })).status, 200)
    })
  }

  test('our own page can, and a program with the token needs no origin', async () => {
    const { cookie } = await signIn()
    const body = new URLSearchParams({ name: 'own.test' })
    assert.equal((await send('/domains', { ...ownPage(), cookie }, body)).status, 200)
    const { 'sec-fetch-site': _, ...oldBrowser } = ownPage()
    const change = new URLSearchParams({ name: 'own.test', active: '0' })
    assert.equal((await send('/domains/change', { ...oldBrowser, cookie }, change)).status, 200)
    const other = new URLSearchParams({ name: 'program.test' })
    assert.equal((await send('/domains', BEARER, other)).status, 200)
  })
})

describe('429', () => {
  test('after 20 wrong tokens a client cannot sign in, and others and cookies still can', async () => {
    const { cookie } = await signIn()
    const from = (client: string, token: string, path = '/admin/api/sign-in', method = 'POST') =>
      requestFrom(server.port, PROXY, {
        method,
        path,
        headers: { 'x-forwarded-for': client, authorization: `Bearer ${token}` },
      })
    const [client, other] = [newClient(), newClient()]
    for (let guess = 0; guess < 20; guess += 1) {
      const path = guess % 2 === 0 ? '/admin/api/sign-in' : '/admin/api/sessions/end'
      assert.equal((await from(client, `guess${guess}`, path)).status, 401)
    }
    for (const token of ['guess', TOKEN]) {
      assertProblem(await from(client, token), 429, 'rate_limited')
      assertProblem(await from(client, token, '/admin/api/overview', 'GET'), 429, 'rate_limited')
    }
    assert.equal((await from(other, TOKEN)).status, 200)
    const headers = { 'x-forwarded-for': client, cookie }
    const path = '/admin/api/overview'
    assert.equal((await requestFrom(server.port, PROXY, { path, headers })).status, 200)
  })

  test('requests with a cookie or without any are limited like others', async () => {
    const { cookie } = await signIn()
    for (const sent of [{}, { cookie }] as Headers[]) {
      const headers = { 'x-forwarded-for': newClient(), ...sent }
      const path = '/admin/api/domains'
      const responses = await Promise.all(
        Array.from({ length: 205 }, () => requestFrom(server.port, PROXY, { path, headers })),
      )
      assert.equal(responses.filter(({ status }) => status === 429).length, 5)
    }
  })
})

test('neither the token nor a cookie is logged', async () => {
  const { cookie } = await signIn()
  await get('/overview', { cookie })
  await get('/overview', { authorization: 'Bearer wrong' })
  const logged = JSON.stringify(server.logged)
  for (const secret of [TOKEN, cookie.replace(/^.*=/, '')]) assert.ok(!logged.includes(secret))
})

test('the page is served to everybody, and is neither cached, indexed nor framed', async () => {
  const { status, headers, text } = await request(`${server.url}/admin`)
  assert.equal(status, 200)
  assert.equal(headers.get('cache-control'), 'no-store')
  assert.match(headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/)
  assert.equal(headers.get('access-control-allow-origin'), null)
  assert.match(text, /<meta name="robots" content="noindex">/)
  assert.ok(!text.includes(TOKEN))
})
