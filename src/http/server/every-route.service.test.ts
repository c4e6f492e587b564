import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  parseResponse,
  problemFault,
  request,
  requestFrom,
  sendRaw,
  type TestResponse,
} from '../../../test/kit/http/http-client.ts'
import { openTestServer, type TestServer } from '../../../test/kit/http/http-server.ts'
import { newClient, PROXY, PROXY_ENV } from '../../../test/kit/http/trusted-proxy.ts'
import { keyRing } from '../../../test/kit/shop/keys.ts'
import { FAKE_SHOP } from '../../../test/kit/shop/shop-client.ts'
import { routes } from '../routes.ts'
import { methodsByPath, type Route } from './route.ts'

// The responses every route gives in the same way; its own are in the test next to it. The clock is fixed, so rate
// limits are exact. Pages without scripts show problems as HTML: see pages/plain/routes.test.ts.

const now = new Date()
let server: TestServer
let key: Record<string, string>
beforeAll(async () => {
  const env = { ...PROXY_ENV, ...FAKE_SHOP, MAYFLY_OWN_DOMAINS: 'keys' }
  server = await openTestServer({ env, now: () => now })
  key = (await keyRing(server.shop, server.now).issue()).headers
})
afterAll(() => server.stop())

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH']

for (const route of routes.filter(({ renderProblem }) => !renderProblem)) {
  describe(`${route.method} ${route.path}`, () => {
    pathTests(route)
    if (route.method === 'POST') bodySizeTests(route)
    if (route.method === 'POST' && !route.rawBody) bodyFormatTests(route)
    rateLimitTests(route)
  })
}

function pathTests({ method, path, api }: Route): void {
  const supported = routes
    .filter((other) => other.path === path)
    .flatMap((other) => (other.method === 'GET' ? ['GET', 'HEAD'] : [other.method]))
  const allow = [...supported, 'OPTIONS'].join(', ')

  test('204: a preflight, open to every origin on the public API only', async () => {
    const headers = { origin: 'https://page.test', 'access-control-request-method': method }
    const response = await request(`${server.url}${path}`, { method: 'OPTIONS', headers })
    expect(response.status).toBe(204)
    const allowed = response.headers.get('access-control-allow-origin')
    expect(allowed).toBe(api === 'keyed' ? null : '*')
    expect(response.headers.get('access-control-allow-credentials')).toBe(null)
    expect(response.headers.get('access-control-allow-methods')).toBe(allow)
  })

  test('405: every other method, with Allow; an override header changes nothing', async () => {
    for (const other of METHODS.filter((one) => !supported.includes(one))) {
      const headers = { 'x-http-method-override': method }
      const response = await request(`${server.url}${path}`, { method: other, headers })
      expect(response.status, other).toBe(405)
      expect(response.headers.get('allow'), other).toBe(allow)
      if (other !== 'HEAD') expect(problemFault(response), other).toBeUndefined()
    }
  })

  test('404: similar paths', async () => {
    const base = path === '/' ? '/nothing' : path
    const similar = [`${base}/`, `/${base}`, `${base}%00`, `${base}/%2e`, base.toUpperCase()]
    const isRoute = (one: string) => methodsByPath(routes).some(({ pattern }) => pattern.test(one))
    for (const similarPath of similar.filter((one) => !isRoute(one))) {
      const response = await requestFrom(server.port, '127.0.0.1', { path: similarPath })
      expect([response.status, response.body['code']], similarPath).toStrictEqual([
        404,
        'not_found',
      ])
      expect(problemFault(response), similarPath).toBeUndefined()
    }
  })
}

const FORM = 'application/x-www-form-urlencoded'
const KB = 1024

function bodySizeTests({ path, api, rawBody, maxBodyBytes = 64 * KB }: Route): void {
  const send = (type: string, body: string | ReadableStream) => {
    const headers = { 'content-type': type, ...(api === 'keyed' ? key : {}) }
    const init = { method: 'POST', body, headers, duplex: 'half' } as RequestInit
    return request(`${server.url}${path}`, init)
  }
  const assertRefused = (response: TestResponse, name: string) => {
    expect([response.status, response.body['code']], name).toStrictEqual([413, 'too_large'])
    expect(problemFault(response), name).toBeUndefined()
  }

  const kilobytes = maxBodyBytes / KB
  test(`413: a body of more than ${kilobytes} KB, with or without Content-Length`, async () => {
    const chunks = Array.from({ length: 10 }, () => Buffer.alloc(maxBodyBytes / 9, 'x'))
    assertRefused(await send(FORM, `a=${'x'.repeat(maxBodyBytes)}`), 'with')
    assertRefused(await send(FORM, ReadableStream.from(chunks)), 'without')
    const largest = `{"a":"${'x'.repeat(maxBodyBytes - 8)}"}`
    expect((await send('application/json', largest)).status).not.toBe(413)
  })

  // The signature covers what Stripe sends, however many fields it has.
  if (path === '/api/stripe/webhook') return

  test('413: a body of more than 1,000 fields, or 100 parts', async () => {
    const many = (count: number) => Array.from({ length: count }, (_, at) => `n${at}`)
    const fields = (count: number) => Object.fromEntries(many(count).map((name) => [name, 1]))
    for (const [name, type, make, most] of [
      ['form', FORM, (count: number) => many(count).join('&'), 1_000],
      ['JSON keys', 'application/json', (count: number) => JSON.stringify(fields(count)), 1_000],
      [
        'JSON items',
        'application/json',
        (count: number) => JSON.stringify({ n: many(count - 1) }),
        1_000,
      ],
    ] as const) {
      if (rawBody && type === FORM) continue
      assertRefused(await send(type, make(most + 1)), name)
      expect((await send(type, make(most))).status, name).not.toBe(413)
    }
    if (rawBody) return
    const multipart = (count: number) => {
      const form = new FormData()
      for (const name of many(count)) form.append(name, '1')
      return request(`${server.url}${path}`, { method: 'POST', body: form, headers: key })
    }
    assertRefused(await multipart(101), 'parts')
    expect((await multipart(100)).status, 'parts').not.toBe(413)
  })
}

function bodyFormatTests({ path, api }: Route): void {
  const send = (type: string, body: string | Uint8Array<ArrayBuffer>, more = {}) =>
    request(`${server.url}${path}`, {
      method: 'POST',
      body,
      headers: { 'content-type': type, ...(api === 'keyed' ? key : {}), ...more },
    })

  test('415: an unsupported media type or encoding, unless the body is empty', async () => {
    for (const [type, more] of [
      ['text/plain', {}],
      ['application/xml', {}],
      ['nonsense', {}],
      [FORM, { 'content-encoding': 'gzip' }],
    ] as const) {
      const response = await send(type, 'prefix=ann', more)
      expect([response.status, response.body['code']]).toStrictEqual([
        415,
        'unsupported_media_type',
      ])
      expect(problemFault(response), type).toBeUndefined()
    }
    for (const type of ['text/plain', 'nonsense', 'multipart/form-data', 'application/json']) {
      expect((await send(type, '')).status, type).not.toBe(415)
    }
  })

  test('415: JSON that is sent as a form, with a hint', async () => {
    const { status, body } = await send(FORM, ' {"prefix":"ann"}')
    expect([status, body['code']]).toStrictEqual([415, 'unsupported_media_type'])
    expect(String(body['message'])).toMatch(/Content-Type: application\/json/)
  })

  test('400: a malformed body', async () => {
    for (const [name, type, body] of [
      ['truncated JSON', 'application/json', '{"token":'],
      ['a JSON array', 'application/json', '[]'],
      ['JSON that is not UTF-8', 'application/json', new Uint8Array([0x22, 0xff, 0x22])],
      ['multipart without a boundary', 'multipart/form-data', 'x'],
      ['multipart without a first boundary', 'multipart/form-data; boundary=b', 'x'],
    ] as const) {
      const response = await send(type, body)
      expect([response.status, response.body['code']], name).toStrictEqual([
        400,
        'invalid_parameter',
      ])
      expect(String(response.body['message'])).toMatch(/ in the request body\.$/)
    }
  })
}

const BURST = 200

function rateLimitTests({ method, path, unlimited }: Route): void {
  const title = unlimited ? 'never 429' : `429: request ${BURST + 1} of one address at once`
  test(title, async () => {
    const head = `${method} ${path} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${newClient()}\r\n`
    const requests = `${`${head}\r\n`.repeat(BURST)}${head}Connection: close\r\n\r\n`
    const received = await sendRaw(server.port, requests, { from: PROXY })
    const refused = received.split('HTTP/1.1 429 ').slice(1)
    if (unlimited) return expect(refused.length).toBe(0)
    const last = parseResponse(`HTTP/1.1 429 ${refused.at(-1)}`)
    expect(problemFault(last)).toBeUndefined()
    expect(last.body['code']).toBe('rate_limited')
    const headers = { 'x-forwarded-for': newClient() }
    const other = await requestFrom(server.port, PROXY, { method, path, headers })
    expect(other.status, 'another address').not.toBe(429)
  })
}
