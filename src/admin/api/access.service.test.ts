import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { problemFault, request, requestFrom } from '../../../test/kit/http/http-client.ts'
import { openTestServer, type TestServer } from '../../../test/kit/http/http-server.ts'
import { newClient, PROXY, PROXY_ENV } from '../../../test/kit/http/trusted-proxy.ts'
import { adminRoutes } from '../../http/routes.ts'
import { ADMIN_TOKEN, assertProblem, signInTo } from './testing/admin-client.ts'

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

const signIn = () => signInTo(server.url)

describe('without a token in the configuration', () => {
  test('neither the page nor any route of the API exists, whatever is sent', async () => {
    const closed = await openTestServer()
    for (const { method, path } of adminRoutes) {
      for (const sent of [method, 'OPTIONS', 'PUT']) {
        const headers = { authorization: 'Bearer ', cookie: 'mayfly-admin=x', accept: 'text/html' }
        const response = await request(`${closed.url}${path}`, { method: sent, headers })
        expect(response.status, `${sent} ${path}`).toBe(404)
        const isJson = response.headers.get('content-type')?.startsWith('application/json')
        expect(isJson, `${sent} ${path}`).toBe(path !== '/admin')
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
      for (const { method, path: route } of API) {
        const path = `${route}?token=${TOKEN}&id=nonsense`
        // Each a client of its own: there are more routes than wrong tokens allowed.
        const client = { 'x-forwarded-for': newClient(), host: new URL(server.url).host }
        const response = await requestFrom(server.port, PROXY, {
          method,
          path,
          headers: { accept: 'text/html', ...client, ...headers() },
        })
        const crossSite = method === 'POST' && !('origin' in headers())
        const isSignIn = route.endsWith('/sign-in')
        const hasBearer = headers()['authorization']?.startsWith('Bearer t') === true
        const expected = crossSite && !isSignIn && !hasBearer ? 403 : 401
        expect(response.status, `${method} ${path}`).toBe(expected)
        expect(problemFault(response), path).toBeUndefined()
      }
    })
  }

  test('is closed to other origins, even if the keyed API is open', async () => {
    const origin = 'https://evil.test'
    const { cookie } = await signIn()
    const statuses = new Set<number>()
    for (const { path } of API) {
      for (const method of ['OPTIONS', 'GET', 'POST'] as const) {
        for (const credential of [{}, BEARER, { cookie }]) {
          const headers = { origin, ...credential }
          const response = await request(`${server.url}${path}`, { method, headers })
          expect(response.headers.get('access-control-allow-origin'), path).toBe(null)
          expect(response.headers.get('cross-origin-resource-policy'), path).toBe('same-origin')
          statuses.add(response.status)
        }
      }
    }
    const expected = [200, 204, 400, 401, 403, 404, 405]
    expect([...statuses].toSorted()).toStrictEqual(expected)
  })
})

describe('the cookie', () => {
  test('is random, valid for 12 hours, and readable by neither scripts nor other sites', async () => {
    const [one, other] = [await signIn(), await signIn()]
    expect(one.cookie).toMatch(/^mayfly-admin=[\w-]{43}$/)
    expect(one.cookie).not.toBe(other.cookie)
    expect(one.flags).toStrictEqual(['Path=/admin', 'Max-Age=43200', 'HttpOnly', 'SameSite=Strict'])
    expect((await get('/overview', { cookie: one.cookie })).status).toBe(200)
    expect((await get('/overview', { cookie: `a=b; ${other.cookie}; c=d` })).status).toBe(200)
  })

  test('over https has the prefix that sibling hosts cannot set', async () => {
    const headers = { ...BEARER, 'x-forwarded-proto': 'https', 'x-forwarded-for': newClient() }
    const path = '/admin/api/sign-in'
    const made = await requestFrom(server.port, PROXY, { method: 'POST', path, headers })
    expect(made.headers.get('set-cookie') ?? '').toMatch(
      /^__Host-mayfly-admin=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure$/,
    )
    const [cookie = ''] = (made.headers.get('set-cookie') ?? '').split(';')
    const overview = async (sent: string, proto = 'https') => {
      const options = { ...headers, 'x-forwarded-proto': proto, authorization: '', cookie: sent }
      const path = '/admin/api/overview'
      return (await requestFrom(server.port, PROXY, { path, headers: options })).status
    }
    const plain = cookie.replace('__Host-', '')
    expect([
      await overview(cookie),
      await overview(plain),
      await overview(cookie, 'http'),
    ]).toStrictEqual([200, 401, 401])
    const host = 'box.test'
    const out = await requestFrom(server.port, PROXY, {
      method: 'POST',
      path: '/admin/api/sign-out',
      headers: { ...headers, authorization: '', host, origin: `https://${host}`, cookie },
    })
    // Without these, browsers would ignore it.
    expect(out.headers.get('set-cookie')).toBe(
      '__Host-mayfly-admin=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict; Secure',
    )
    expect(await overview(cookie)).toBe(401)
  })

  test('is replaced by the next sign-in of the same browser', async () => {
    const { cookie } = await signIn()
    const again = await send('/sign-in', { ...BEARER, cookie })
    const [next = ''] = (again.headers.get('set-cookie') ?? '').split(';')
    expect((await get('/overview', { cookie })).status).toBe(401)
    expect((await get('/sign-in', { cookie: next })).status).toBe(200)
  })

  test('expires 12 hours after the sign-in, however often it is used', async () => {
    const { cookie } = await signIn()
    const before = time
    time = new Date(before.getTime() + 12 * HOURS - 1)
    expect((await get('/overview', { cookie })).status).toBe(200)
    time = new Date(before.getTime() + 12 * HOURS)
    assertProblem(await get('/overview', { cookie }), 401, 'invalid_token')
  })

  test('is worthless after the sign-out, and others stay valid', async () => {
    const [one, other] = [await signIn(), await signIn()]
    const out = await send('/sign-out', { ...ownPage(), cookie: one.cookie })
    expect(out.status).toBe(200)
    expect(out.headers.get('set-cookie') ?? '').toMatch(/^mayfly-admin=; Path=\/admin; Max-Age=0;/)
    expect((await get('/overview', { cookie: one.cookie })).status).toBe(401)
    expect((await get('/overview', { cookie: other.cookie })).status).toBe(200)
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
    expect([await overview(first), await overview(next)]).toStrictEqual([200, 401])
    expect(hashes.join()).not.toContain(cookie.replace(/^.*=/, ''))
    await Promise.all([first.stop(), next.stop()])
  })
})

describe('a form or script of another site cannot use the cookie', () => {
  const EVIL = 'https://evil.test'
  const PART = 'content-disposition: form-data; name="name"\r\n\r\nevil.test'
  const FORMS = [
    ['application/x-www-form-urlencoded', 'name=evil.test'],
    ['text/plain', 'name=evil.test'],
    ['application/json', '{"name":"evil.test"}'],
    ['multipart/form-data; boundary=x', `--x\r\n${PART}\r\n--x--\r\n`],
  ] as const
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
    ['an origin with user info', { origin: 'http://evil@127.0.0.1' }],
    ['an origin with a path', { own: '/admin' }],
  ] as [string, Headers & { own?: string }][]) {
    test(name, async () => {
      const { cookie } = await signIn()
      const { own = '', ...sent } = headers
      const all = { ...(own ? { origin: server.url + own.slice(1) } : {}), ...sent, cookie }
      for (const [type, body] of FORMS) {
        const response = await send('/domains', { ...all, 'content-type': type }, body)
        assertProblem(response, 403, 'not_allowed', type)
      }
      assertProblem(await send('/sign-out', all), 403, 'not_allowed')
      expect(
        (await server.store.listDomains()).some(({ name }) => name === 'evil.test'),
      ).toBeFalsy()
      expect((await get('/overview', { cookie })).status).toBe(200)
    })
  }

  test('the origin is compared with its scheme, and with MAYFLY_BASE_URL', async () => {
    const env = { ...PROXY_ENV, MAYFLY_ADMIN_TOKEN: TOKEN, MAYFLY_BASE_URL: 'https://box.test' }
    const named = await openTestServer({ env })
    const made = await request(`${named.url}/admin/api/sign-in`, {
      method: 'POST',
      headers: BEARER,
    })
    const [cookie = ''] = (made.headers.get('set-cookie') ?? '').split(';')
    const change = async (host: string, origin: string) => {
      const headers = { cookie, host, origin, 'x-forwarded-for': newClient() }
      const path = '/admin/api/domains/change'
      return await requestFrom(named.port, PROXY, { method: 'POST', path, headers })
    }
    // 400: it is allowed, but names no domain.
    for (const [host, origin, status] of [
      ['box.test', 'https://box.test', 400],
      ['BOX.test', 'https://box.test', 400],
      ['inner:8080', 'https://box.test', 400],
      ['inner:8080', 'https://inner:8080', 400],
      ['box.test', 'http://box.test', 403],
      ['inner:8080', 'http://inner:8080', 403],
      ['box.test', 'https://BOX.test', 403],
      ['box.test', 'https://box.test:444', 403],
      ['box.test', 'https://admin@box.test', 403],
      ['box.test', 'https://sub.box.test', 403],
    ] as const) {
      const response = await change(host, origin)
      expect(response.status, `${host} ${origin}`).toBe(status)
      if (status === 403) expect(String(response.body['message'])).toMatch(/MAYFLY_BASE_URL/)
    }
    await named.stop()
  })

  test('our own page can, and a program with the token needs no origin', async () => {
    const { cookie } = await signIn()
    const body = new URLSearchParams({ name: 'own.test' })
    expect((await send('/domains', { ...ownPage(), cookie }, body)).status).toBe(200)
    const { 'sec-fetch-site': _, ...oldBrowser } = ownPage()
    const change = new URLSearchParams({ name: 'own.test', active: '0' })
    expect((await send('/domains/change', { ...oldBrowser, cookie }, change)).status).toBe(200)
    const other = new URLSearchParams({ name: 'program.test' })
    expect((await send('/domains', BEARER, other)).status).toBe(200)
  })
})

test('the page is served to everybody, and is neither cached, indexed nor framed', async () => {
  const { status, headers, text } = await request(`${server.url}/admin`)
  expect(status).toBe(200)
  expect(headers.get('cache-control')).toBe('no-store')
  expect(headers.get('content-security-policy') ?? '').toMatch(/frame-ancestors 'none'/)
  expect(headers.get('access-control-allow-origin')).toBe(null)
  expect(text).toMatch(/<meta name="robots" content="noindex">/)
  expect(text).not.toContain(TOKEN)
})
