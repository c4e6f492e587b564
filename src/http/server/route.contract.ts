import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { App } from '../../../test/support/app.ts'
import {
  parseResponse,
  problemFault,
  request,
  requestFrom,
  sendRaw,
} from '../../../test/support/http-client.ts'
import { routes } from '../routes.ts'
import type { Route } from './route.ts'

/** Beside the house's own: a proxy whose word counts, so that rates can be seen without leaving loopback. */
export const PROXY = '127.0.0.2'
export const PROXY_ENV = { MAYFLY_TRUST_PROXY: PROXY }

let lastClient = 0

/** An address that no test has asked from yet. */
export function newClient(): string {
  lastClient += 1
  return `198.51.${100 + Math.trunc(lastClient / 250)}.${1 + (lastClient % 250)}`
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH']

/**
 * The answers that every route gives in the same way. The house needs PROXY_ENV. A route that looks at a key before the
 * body needs the headers of one.
 */
export function sharedResponses(
  route: Route,
  app: () => App,
  keyHeaders: () => Promise<Record<string, string>> = async () => ({}),
): void {
  const { method, path, reader = false, rawBody = false } = route
  const url = () => `${app().url}${path}`
  const right = routes
    .filter((other) => other.path === path)
    .flatMap((other) => (other.method === 'GET' ? ['GET', 'HEAD'] : [other.method]))
  const allow = [...right, 'OPTIONS'].join(', ')
  const wrong = METHODS.filter((other) => !right.includes(other))

  describe('204', () => {
    const open = reader ? 'may not go on' : 'may go on, without credentials'
    test(`a preflight of a page elsewhere ${open}`, async () => {
      const headers = { origin: 'https://page.test', 'access-control-request-method': method }
      const asked = await request(url(), { method: 'OPTIONS', headers })
      assert.equal(asked.status, 204)
      assert.equal(asked.headers.get('access-control-allow-origin'), reader ? null : '*')
      assert.equal(asked.headers.get('access-control-allow-credentials'), null)
      assert.equal(asked.headers.get('access-control-allow-methods'), allow)
    })
  })

  describe('405', () => {
    for (const other of wrong) {
      test(`${other} is told what is allowed`, async () => {
        const asked = await request(url(), {
          method: other,
          headers: { 'x-http-method-override': method },
        })
        assert.equal(asked.status, 405)
        assert.equal(asked.headers.get('allow'), allow)
        if (other !== 'HEAD') assert.equal(problemFault(asked), undefined)
      })
    }
  })

  describe('404', () => {
    const short = path === '/' ? '/nothing' : path
    for (const near of [
      `${short}/`,
      `/${short}`,
      `${short}%00`,
      `${short}/%2e`,
      short.toUpperCase(),
    ]) {
      test(`${near} is another path`, async () => {
        const asked = await requestFrom(app().httpPort, '127.0.0.1', { path: near })
        assert.deepEqual([asked.status, asked.body['code']], [404, 'not_found'])
        assert.equal(problemFault(asked), undefined)
      })
    }
  })

  if (method === 'POST') describe('413', () => bodySizeTests(url))
  if (method === 'POST' && !rawBody) bodyFormatTests(url, keyHeaders)
  describe('429', () => rateLimitTests(route, app))
}

const FORM = 'application/x-www-form-urlencoded'

function bodySizeTests(url: () => string): void {
  const send = (body: NonNullable<RequestInit['body']>) =>
    request(url(), {
      method: 'POST',
      body,
      headers: { 'content-type': FORM },
      duplex: 'half',
    } as RequestInit)

  test('a body of more than 256 KB is too large', async () => {
    const asked = await send(`a=${'x'.repeat(256 * 1024)}`)
    assert.deepEqual([asked.status, asked.body['code']], [413, 'too_large'])
    assert.equal(problemFault(asked), undefined)
  })

  test('so is one that arrives in pieces and never says how long it is', async () => {
    const pieces = Array.from({ length: 40 }, () => Buffer.alloc(10_000, 'x'))
    const asked = await send(ReadableStream.from(pieces))
    assert.deepEqual([asked.status, asked.body['code']], [413, 'too_large'])
  })
}

function bodyFormatTests(
  url: () => string,
  keyHeaders: () => Promise<Record<string, string>>,
): void {
  const send = async (type: string, body: string | Uint8Array<ArrayBuffer>, more = {}) =>
    request(url(), {
      method: 'POST',
      body,
      headers: { 'content-type': type, ...(await keyHeaders()), ...more },
    })

  describe('415', () => {
    for (const [name, type, more] of [
      ['text/plain', 'text/plain', {}],
      ['XML', 'application/xml', {}],
      ['what is no media type', 'nonsense', {}],
      ['a compressed body', FORM, { 'content-encoding': 'gzip' }],
    ] as const) {
      test(`${name} is not understood`, async () => {
        const asked = await send(type, 'prefix=ann', more)
        assert.deepEqual([asked.status, asked.body['code']], [415, 'unsupported_media_type'])
        assert.equal(problemFault(asked), undefined)
      })
    }

    test('an empty body is welcome under any name', async () => {
      for (const type of ['text/plain', 'nonsense', 'multipart/form-data', 'application/json']) {
        assert.notEqual((await send(type, '')).status, 415, type)
      }
    })
  })

  describe('400', () => {
    for (const [name, type, body] of [
      ['broken JSON', 'application/json', '{"token":'],
      ['a JSON array', 'application/json', '[]'],
      ['JSON that is no UTF-8', 'application/json', new Uint8Array([0x22, 0xff, 0x22])],
      ['multipart without a boundary', 'multipart/form-data', 'x'],
      ['multipart that never begins', 'multipart/form-data; boundary=b', 'x'],
    ] as const) {
      test(`${name} is refused as a body`, async () => {
        const asked = await send(type, body)
        assert.deepEqual([asked.status, asked.body['code']], [400, 'invalid_parameter'])
        assert.match(String(asked.body['message']), /^body: /)
      })
    }
  })
}

/** More than a burst and what grows back meanwhile, on one connection. */
const FLOOD = 600

function rateLimitTests({ method, path, unlimited }: Route, app: () => App): void {
  test(
    unlimited ? 'never: it costs no allowance' : 'a flood from one address is held up',
    async () => {
      const client = newClient()
      const request = `${method} ${path} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${client}\r\n`
      const flood = `${`${request}\r\n`.repeat(FLOOD)}${request}Connection: close\r\n\r\n`
      const heard = await sendRaw(app().httpPort, flood, { from: PROXY })
      const refused = heard.split('HTTP/1.1 429 ').slice(1)
      if (unlimited) {
        assert.equal(refused.length, 0)
        return
      }
      assert.ok(refused.length > 0, `${FLOOD} requests passed`)
      const first = parseResponse(`HTTP/1.1 429 ${refused[0]}`)
      assert.equal(problemFault(first), undefined)
      assert.equal(first.body['code'], 'rate_limited')

      const headers = { 'x-forwarded-for': newClient() }
      const other = await requestFrom(app().httpPort, PROXY, { method, path, headers })
      assert.notEqual(other.status, 429, 'another address is not held up')
    },
  )
}
