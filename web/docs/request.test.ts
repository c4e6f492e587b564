import { describe, expect, test } from 'vitest'
import { openapi } from '../../src/http/docs/openapi.ts'
import { documentedEvents, documentedRoutes } from '../../src/http/routes.ts'
import { type ApiDocument, curlCommand, operationOf, requestOf } from './request.ts'

const api = JSON.parse(JSON.stringify(openapi(documentedRoutes, documentedEvents))) as ApiDocument

function operation(call: string) {
  const found = operationOf(api, call)
  expect(found, call).toBeTruthy()
  return found
}

describe('an operation', () => {
  for (const [call, opens, fields] of [
    [
      'GET /api/check-mail',
      'token',
      'since_id limit wait from subject has_code has_link q force If-None-Match',
    ],
    ['GET /api/events', 'token', 'since_id from subject has_code has_link Last-Event-ID'],
    ['POST /api/delete-mail', 'token', 'id ids all up_to_id'],
    ['GET /emails', 'key', 'to since_id limit cursor wait from subject q If-None-Match'],
    ['GET /api/orders/{id}', undefined, 'id Claim-Secret'],
    ['GET /metrics', 'admin', ''],
  ] as const) {
    test(`${call} has its fields, and its credential apart`, () => {
      const found = operation(call)
      expect(found.auth).toBe(opens)
      expect(found.fields.map(({ name }) => name).join(' ')).toBe(fields)
    })
  }

  test('only the live stream is a stream', () => {
    const streams = documentedRoutes
      .map(({ method, path }) => `${method} ${path}`)
      .filter((call) => operationOf(api, call)?.isStream)
    expect(streams).toStrictEqual(['GET /api/events'])
  })

  test('an operation whose body no form can send has no console', () => {
    expect(operationOf(api, 'POST /api/stripe/webhook')).toBeUndefined()
  })

  test('every other operation has one', () => {
    for (const { method, path, rawBody } of documentedRoutes) {
      if (!rawBody) operation(`${method} ${path}`)
    }
  })
})

describe('a request', () => {
  test('a token is sent as Bearer, never in the URL', () => {
    const request = requestOf(operation('GET /api/check-mail'), { limit: ' 5 ', wait: '' }, 'TOKEN')
    expect(request).toStrictEqual({
      method: 'GET',
      path: '/api/check-mail?limit=5',
      headers: { Authorization: 'Bearer TOKEN' },
      form: undefined,
    })
  })

  test('a key is sent as APIKey', () => {
    const { headers, path } = requestOf(operation('GET /emails'), { to: 'a+b@x.test' }, 'KEY')
    expect([headers, path]).toStrictEqual([{ APIKey: 'KEY' }, '/emails?to=a%2Bb%40x.test'])
  })

  test('a POST sends its fields as a form, without empty ones', () => {
    const values = { prefix: 'ann', ttl: '' }
    const { form, path, headers } = requestOf(operation('POST /api/create-session'), values, 'KEY')
    expect([String(form), path, headers]).toStrictEqual([
      'prefix=ann',
      '/api/create-session',
      { APIKey: 'KEY' },
    ])
  })

  test('path parameters are encoded', () => {
    const { path } = requestOf(operation('GET /api/orders/{id}'), { id: '../x?y#z' }, '')
    expect(path).toBe('/api/orders/..%2Fx%3Fy%23z')
  })
})

describe('as a curl command', () => {
  test('a GET with a query', () => {
    const found = operation('GET /api/check-mail')
    const line = curlCommand(
      requestOf(found, { limit: '5' }, 'T'),
      'https://m.example',
      found.isStream,
    )
    expect(line).toBe(
      `curl \\\n  -H 'Authorization: Bearer T' \\\n  'https://m.example/api/check-mail?limit=5'`,
    )
  })

  test('a POST with a quote in a value', () => {
    const found = operation('POST /api/create-session')
    const line = curlCommand(requestOf(found, { prefix: `o'b c` }, ''), 'https://m.example', false)
    expect(line).toBe(
      `curl -X POST \\\n  -d 'prefix=o%27b+c' \\\n  https://m.example/api/create-session`,
    )
  })

  test('the live stream, unbuffered', () => {
    const found = operation('GET /api/events')
    expect(curlCommand(requestOf(found, {}, ''), 'https://m.example', found.isStream)).toMatch(
      /^curl -N /,
    )
  })
})
