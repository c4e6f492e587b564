import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import {
  parseResponse,
  problemFault,
  request,
  requestFrom,
  sendRaw,
  type TestResponse,
} from '../../../test/support/http-client.ts'
import { openTestServer, type TestServer } from '../../../test/support/http-server.ts'
import { keyRing } from '../../../test/support/keys.ts'
import { FAKE_SHOP } from '../../../test/support/shop-client.ts'
import { newClient, PROXY, PROXY_ENV } from '../../../test/support/trusted-proxy.ts'
import { routes } from '../routes.ts'
import { methodsByPath, type Route } from './route.ts'

// The responses every route gives in the same way; its own are in the test next to it. The clock is fixed, so rate
// limits are exact. Pages without scripts show problems as HTML: see pages/plain/routes.test.ts.

const now = new Date()
let server: TestServer
let key: Record<string, string>
beforeAll(async () => {
  server = await openTestServer({ env: { ...PROXY_ENV, ...FAKE_SHOP }, now: () => now })
  key = (await keyRing(server.shop, server.now).issue()).headers
})
afterAll(() => server.stop())

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH']

for (const route of routes.filter(({ problemPage }) => !problemPage)) {
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
    assert.equal(response.status, 204)
    const allowed = response.headers.get('access-control-allow-origin')
    assert.equal(allowed, api === 'keyed' ? null : '*')
    assert.equal(response.headers.get('access-control-allow-credentials'), null)
    assert.equal(response.headers.get('access-control-allow-methods'), allow)
  })

  test('405: every other method, with Allow; an override header changes nothing', async () => {
    for (const other of METHODS.filter((one) => !supported.includes(one))) {
      const headers = { 'x-http-method-override': method }
      const response = await request(`${server.url}${path}`, { method: other, headers })
      assert.equal(response.status, 405, other)
      assert.equal(response.headers.get('allow'), allow, other)
      if (other !== 'HEAD') assert.equal(problemFault(response), undefined, other)
    }
  })

  test('404: similar paths', async () => {
    const base = path === '/' ? '/nothing' : path
    const similar = [`${base}/`, `/${base}`, `${base}%00`, `${base}/%2e`, base.toUpperCase()]
    const isRoute = (one: string) => methodsByPath(routes).some(({ pattern }) => pattern.test(one))
    for (const similarPath of similar.filter((one) => !isRoute(one))) {
      const response = await requestFrom(server.port, '127.0.0.1', { path: similarPath })
      assert.deepEqual([response.status, response.body['code']], [404, 'not_found'], similarPath)
      assert.equal(problemFault(response), undefined, similarPath)
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
    assert.deepEqual([response.status, response.body['code']], [413, 'too_large'], name)
    assert.equal(problemFault(response), undefined, name)
  }

  const kilobytes = maxBodyBytes / KB
  test(`413: a body of more than ${kilobytes} KB, with or without Content-Length`, async () => {
    const chunks = Array.from({ length: 10 }, () => Buffer.alloc(maxBodyBytes / 9, 'x'))
    assertRefused(await send(FORM, `a=${'x'.repeat(maxBodyBytes)}`), 'with')
    assertRefused(await send(FORM, ReadableStream.from(chunks)), 'without')
    const largest = `{"a":"${'x'.repeat(maxBodyBytes - 8)}"}`
    assert.notEqual((await send('application/json', largest)).status, 413)
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
      assert.notEqual((await send(type, make(most))).status, 413, name)
    }
    if (rawBody) return
    const multipart = (count: number) => {
      const form = new FormData()
      for (const name of many(count)) form.append(name, '1')
      return request(`${server.url}${path}`, { method: 'POST', body: form, headers: key })
    }
    assertRefused(await multipart(101), 'parts')
    assert.notEqual((await multipart(100)).status, 413, 'parts')
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
      assert.deepEqual([response.status, response.body['code']], [415, 'unsupported_media_type'])
      assert.equal(problemFault(response), undefined, type)
    }
    for (const type of ['text/plain', 'nonsense', 'multipart/form-data', 'application/json']) {
      assert.notEqual((await send(type, '')).status, 415, type)
    }
  })

  test('415: JSON that is sent as a form, with a hint', async () => {
    const { status, body } = await send(FORM, ' {"prefix":"ann"}')
    assert.deepEqual([status, body['code']], [415, 'unsupported_media_type'])
    assert.match(String(body['message']), /Content-Type: application\/json/)
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
      assert.deepEqual([response.status, response.body['code']], [400, 'invalid_parameter'], name)
      assert.match(String(response.body['message']), / in the request body\.$/)
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
    if (unlimited) return assert.equal(refused.length, 0)
    const last = parseResponse(`HTTP/1.1 429 ${refused.at(-1)}`)
    assert.equal(problemFault(last), undefined)
    assert.equal(last.body['code'], 'rate_limited')
    const headers = { 'x-forwarded-for': newClient() }
    const other = await requestFrom(server.port, PROXY, { method, path, headers })
    assert.notEqual(other.status, 429, 'another address')
  })
}
