import { Check } from 'typebox/schema'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, startApp } from '../../../test/kit/app/app.ts'
import {
  ENCODINGS,
  type Encoding,
  pathWith,
  post,
  postJson,
  problemFault,
  request,
  requestFrom,
  type TestResponse,
} from '../../../test/kit/http/http-client.ts'
import { openKeyRing } from '../../../test/kit/shop/keys.ts'
import { problemsOf } from '../docs/openapi.ts'
import { routes } from '../routes.ts'
import type { ParamSchema } from './parameters.ts'
import { problemStatus } from './problem-response.ts'
import type { Route } from './route.ts'

const LONG = process.env['MAYFLY_TEST_LONG'] !== undefined

const RECEIVER = 'http://127.0.0.1:9/'

let app: App
let key: Record<string, string>
/** Of the key. */
let emailId: string
let webhookId: string
beforeAll(async () => {
  const env = { MAYFLY_ADDRESS_COOLDOWN: '0s', MAYFLY_WEBHOOK_ALLOW: '127.0.0.1' }
  app = await startApp({ env })
  const ring = await openKeyRing(app)
  key = (await ring.issue({ requests: 1_000_000 })).headers
  await ring.close()
  const created = await post(`${app.url}/api/create-session`, {}, 'json', key)
  await app.mail(String(created.body['email']), WITH_ATTACHMENT)
  const groups = (await request(`${app.url}/emails`, { headers: key })).body
  emailId = String((groups as unknown as { emails: { id: number }[] }[])[0]?.emails[0]?.id)
  const { body } = await post(`${app.url}/webhooks`, { url: RECEIVER }, 'json', key)
  webhookId = (body['webhook'] as { id: string }).id
})
afterAll(() => app.stop())

const WITH_ATTACHMENT = [
  'Subject: file',
  'Content-Type: text/csv',
  'Content-Disposition: attachment; filename=a.csv',
  '',
  'a,b',
].join('\r\n')

/** Values that are known to break parsers, one or two of a kind; each is sent as every parameter. */
const TEXTS = [
  ...['', ' ', '0', '1', '00001', '1.0', '0x1', '+1', ' 1', '-1', '1,000'],
  ...['9007199254740991', '9007199254740992', '9223372036854775808', 'NaN'],
  ...['true', 'false', 'TRUE', 'null', '[1]', '{"a":1}', '\u0661', '1\0'],
  ...["' or '1'='1", '"; drop table session; --', '1) union select token_hash from session --'],
  ...['../../etc/passwd', '%00', '%', '&token=x', 'a=b', 'a\r\nSet-Cookie: x=1'],
  ...['\u2028', '\ud800', '\ufeff', '\u{1f98b}', 'K\u212a', 'İ', 'ß', 'a\u0301'],
  ...['<script>alert(1)</script>', '{{7*7}}', '$(id)', '__proto__', 'constructor'],
  ...['x'.repeat(1_000), 'A'.repeat(43), '-'.repeat(43), 'ann', 'Ann@box.test'],
] as const

/** More of the same kinds. */
const MORE_TEXTS = [
  ...['1e0', '1 ', '-0', '1_000', '9007199254740993', '9223372036854775807'],
  ...['18446744073709551616', '1e999', 'Infinity', 'undefined', 'nil', '[]', '{}', '\uff11', '\0'],
  ...['1;--', '1/**/or/**/1', '..\\..\\x', '%2e%2e%2f', '%zz', 'a;b', 'a\nb', '\u202e', '\udc00x'],
  ...['\u200b', '%s%n', '`id`', '|id', '() { :;}; id', 'toString', 'hasOwnProperty'],
] as const

/** The same for JSON, as raw JSON text. */
const JSON_VALUES = [
  ...['null', 'true', 'false', '0', '1', '1.0', '1e0', '-0', '-1', '1.5'],
  ...['9007199254740992', '9007199254740993', '1e15', '1e16', '1e308', '1e999', '-1e999'],
  ...['[]', '[1]', '["a"]', '[[]]', '{}', '{"a":1}', '{"__proto__":{"polluted":1}}'],
  ...['"\\ud800"', '"\\u0000"', '"1"', '"a"', `${'['.repeat(20_000)}${']'.repeat(20_000)}`],
] as const

/** Valid values for the required parameters of a route. */
async function validParams(route: Route): Promise<Record<string, string>> {
  const names = Object.keys(route.input.properties)
  const params: Record<string, string> = {}
  if (names.includes('token')) params['token'] = (await app.session()).token
  if (names.includes('id')) params['id'] = idOf(route)
  if (route.path === '/webhooks' && names.includes('url')) params['url'] = RECEIVER
  if (names.includes('index')) params['index'] = '0'
  if (names.includes('domain_id')) params['domain_id'] = '1'
  return params
}

/** What a parameter is given instead of. */
const REPLACED: Record<string, string> = { domain: 'domain_id', tokens: 'token' }

function idOf({ path }: Route): string {
  if (path.startsWith('/webhooks')) return webhookId
  return path.startsWith('/emails') ? emailId : '1'
}

async function send(
  route: Route,
  params: Record<string, string>,
  encoding: Encoding,
): Promise<TestResponse> {
  const url = `${app.url}${pathWith(route.path, params)}`
  const headers = route.api === 'keyed' ? key : {}
  if (route.method === 'POST') return await post(url, params, encoding, headers)
  const fullUrl = `${url}?${new URLSearchParams(params)}`
  if (route.path === '/api/events' && (await opens(fullUrl))) return STREAM
  const { method } = route
  return await request(fullUrl, { method, headers, signal: AbortSignal.timeout(20_000) })
}

/** A stream does not end: its status is the whole response. */
const STREAM: TestResponse = { status: 200, headers: new Headers(), text: '', body: {} }

async function opens(url: string): Promise<boolean> {
  const response = await fetch(url)
  await response.body?.cancel()
  return response.status === 200
}

/** Fails unless the response is what the route documents, or a documented problem. */
function check(route: Route, response: TestResponse, value: string): void {
  const label = `${route.path} ${JSON.stringify(value.slice(0, 60))}: ${response.text.slice(0, 200)}`
  expect(response.status < 500 || response.body['code'] === 'gmail_unavailable', label).toBeTruthy()
  if (response.status === 200) {
    const { output } = route
    if (typeof output !== 'string') expect(Check(output, response.body), label).toBe(true)
    return
  }
  expect(problemFault(response), label).toBeUndefined()
  const code = String(response.body['code'])
  expect(
    problemsOf(route).some((documented) => documented === code),
    label,
  ).toBeTruthy()
  expect(response.status, label).toBe(problemStatus[code as keyof typeof problemStatus])
}

/** The part of a response that must be the same in every encoding. */
function outcomeOf({ status: number, body }: TestResponse): unknown {
  return number === 200 ? 200 : [number, body['code'], body['message']]
}

/** Deletes a created session, so that the next request can use the same address; and a webhook, as a key has at most ten. */
async function deleteCreated(route: Route, { status, body }: TestResponse): Promise<void> {
  if (route.method !== 'POST' || status !== 200) return
  if (route.path === '/api/create-session') {
    await post(`${app.url}/api/delete-session`, { token: String(body['token']) })
  }
  if (route.path === '/webhooks') {
    const { id } = body['webhook'] as { id: string }
    await request(`${app.url}/webhooks/${id}`, { method: 'DELETE', headers: key })
  }
}

/** Fails unless the schema is as strict as the server. Only text: other values are read by their schema. */
function checkSchema({ input }: Route, name: string, value: string, response: TestResponse): void {
  const schema = input.properties[name]
  if (!schema || !DESCRIBED.includes(name) || value === '') return
  const { status, body } = response
  const isRefused = status === 400 && String(body['message']).startsWith(`${name}: `)
  const label = `${name}=${JSON.stringify(value)}`
  if (!Check(schema, value)) expect(isRefused, label).toBe(true)
  // Outside ASCII, and of long entries of a list, a schema accepts more: see request-schemas.test.ts.
  else if (/^[\0-\x7f]{1,320}$/.test(value) && body['code'] !== 'reserved_prefix')
    expect(isRefused, label).toBe(false)
}

/** Parameters whose syntax is in their schemas. */
const DESCRIBED = ['prefix', 'label', 'only_from', 'from', 'to', 'subject', 'q']

/** Those to send a value in: all of them, or the first and each of the others in turn. */
function encodingsFor({ method }: Route, at: number): readonly Encoding[] {
  if (method !== 'POST') return ['query']
  const [, ...others] = ENCODINGS
  return LONG ? ENCODINGS : ['query', ...others.slice(at % others.length).slice(0, 1)]
}

/** Numbers that are accepted, or just not: code behind the parser gets them. */
const NUMBERS: readonly string[] = ['0', '1', '9007199254740991', '9007199254740992']

/**
 * All values for the first parameter that is read in this way: numbers and flags by their range, texts also by their meaning. For
 * the others those numbers and every fourth value, starting with another one each time. All and more in the long tests.
 */
function valuesFor(values: readonly string[], { input }: Route, name: string): readonly string[] {
  const { description, ...schema }: ParamSchema = input.properties[name] ?? {}
  const isText = schema.type === 'string'
  const reader = JSON.stringify([values.length, schema, isText && [name, description]])
  const before = tested.get(reader) ?? 0
  tested.set(reader, before + 1)
  if (LONG || before === 0) return values
  const isNumber = (value: string) => !isText && NUMBERS.includes(value)
  return values.filter((value, at) => at % 4 === before % 4 || isNumber(value))
}
const tested = new Map<string, number>()

// Those that report problems as another API does are tested in src/doors.
const apiRoutes = routes.filter(
  ({ path, api, renderProblem }) => !renderProblem && (api || path.startsWith('/api/')),
)

for (const route of apiRoutes) {
  const names = Object.keys(route.input.properties)
  if (names.length === 0) continue

  describe(`${route.method} ${route.path}`, () => {
    for (const name of names) {
      const texts = valuesFor(LONG ? [...TEXTS, ...MORE_TEXTS] : TEXTS, route, name)
      test(`${name}: hostile values get a documented response, the same in every encoding`, async () => {
        const rest = await validParams(route)
        delete rest[REPLACED[name] ?? '']
        for (const [at, value] of texts.entries()) {
          const outcomes: unknown[] = []
          for (const encoding of encodingsFor(route, at)) {
            const response = await send(route, { ...rest, [name]: value }, encoding)
            check(route, response, `${name}=${value}`)
            checkSchema(route, name, value, response)
            await deleteCreated(route, response)
            outcomes.push(outcomeOf(response))
          }
          for (const one of outcomes)
            expect(one, `${name}=${JSON.stringify(value)}`).toStrictEqual(outcomes[0])
        }
      })

      if (route.method === 'GET') continue
      const jsonValues = valuesFor(JSON_VALUES, route, name)
      test(`${name}: every JSON value gets a documented response`, async () => {
        const rest = await validParams(route)
        delete rest[name]
        for (const value of jsonValues) {
          const others = Object.entries(rest).map(([key, text]) => `"${key}":"${text}",`)
          const body = `{${others.join('')}"${name}":${value}}`
          const headers = route.api === 'keyed' ? key : {}
          const url = `${app.url}${pathWith(route.path, rest)}`
          const response = await postJson(url, body, headers)
          check(route, response, body.slice(0, 200))
          await deleteCreated(route, response)
        }
      })
    }
  })
}

describe('bodies', () => {
  const url = () => `${app.url}/api/create-session`

  for (const [name, body, expected] of [
    ['JSON nested a thousand deep', `{"a":${'['.repeat(1_000)}${']'.repeat(1_000)}}`, 200],
    ['JSON nested 20,000 deep', `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`, 413],
    ['JSON that is never closed', '['.repeat(1_000), 400],
    ['a byte order mark before JSON', '\ufeff{}', 200],
    ['JSON with a comment', '{} // no', 400],
    ['two JSON objects', '{}{}', 400],
    ['a trailing comma', '{"a":1,}', 400],
    ['single quotes', "{'a':1}", 400],
    ['a repeated unknown name', '{"a":1,"a":2}', 200],
    ['prototype property names', '{"__proto__":{"polluted":1},"__proto__":{"polluted":2}}', 200],
  ] as const) {
    test(`${name}: ${expected}`, async () => {
      const response = await postJson(url(), body)
      expect(response.status, response.text).toBe(expected)
      if (expected !== 200) expect(problemFault(response)).toBeUndefined()
    })
  }

  test('a body on GET is ignored', async () => {
    const { token, email } = await app.session()
    const response = await requestFrom(app.httpPort, '127.0.0.1', {
      path: `/api/check-mail?token=${token}`,
      headers: { 'content-type': 'application/json' },
      body: '{"token":"x"}',
    })
    expect(response.body['email']).toBe(email)
  })

  test('no request has polluted a prototype of the server', async () => {
    const { body } = await request(`${app.url}/api/domains`)
    expect(Object.keys(body)).toStrictEqual(['status', 'domains', 'gmail_accounts'])
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })
})
