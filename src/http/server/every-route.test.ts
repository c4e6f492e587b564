import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import {
  parseResponse,
  problemFault,
  request,
  requestFrom,
  sendRaw,
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

function bodySizeTests({ path }: Route): void {
  const headers = { 'content-type': FORM }

  test('413: a body of more than 256 KB, with or without Content-Length', async () => {
    const chunks = Array.from({ length: 40 }, () => Buffer.alloc(10_000, 'x'))
    for (const body of [`a=${'x'.repeat(256 * 1024)}`, ReadableStream.from(chunks)]) {
      const init = { method: 'POST', body, headers, duplex: 'half' } as RequestInit
      const response = await request(`${server.url}${path}`, init)
      assert.deepEqual([response.status, response.body['code']], [413, 'too_large'])
      assert.equal(problemFault(response), undefined)
    }
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
