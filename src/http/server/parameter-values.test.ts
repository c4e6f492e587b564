import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { type App, startApp } from '../../../test/support/app.ts'
import {
  ENCODINGS,
  type Encoding,
  post,
  postJson,
  problemFault,
  request,
  requestFrom,
  type TestResponse,
} from '../../../test/support/http-client.ts'
import { openKeyRing } from '../../../test/support/keys.ts'
import { problemsOf } from '../api/docs/openapi.ts'
import { routes } from '../routes.ts'
import { problemStatus } from './problem-response.ts'
import type { Route } from './route.ts'

let app: App
let key: Record<string, string>
beforeAll(async () => {
  app = await startApp({ env: { MAYFLY_ADDRESS_COOLDOWN: '0s' } })
  const ring = await openKeyRing(app)
  key = (await ring.issue()).headers
  await ring.close()
})
afterAll(() => app.stop())

/** Values that have confused somebody's server. Each is put where every parameter of every route is due. */
const TEXTS = [
  '',
  ' ',
  '0',
  '1',
  '00001',
  '1.0',
  '1e0',
  '0x1',
  '+1',
  ' 1',
  '1 ',
  '-1',
  '-0',
  '1,000',
  '1_000',
  '9007199254740991',
  '9007199254740992',
  '9007199254740993',
  '9223372036854775807',
  '9223372036854775808',
  '18446744073709551616',
  '1e999',
  'NaN',
  'Infinity',
  'true',
  'false',
  'TRUE',
  'null',
  'undefined',
  'nil',
  '[]',
  '{}',
  '[1]',
  '{"a":1}',
  '\u0661',
  '\uff11',
  '1\0',
  '\0',
  '1;--',
  "' or '1'='1",
  '1/**/or/**/1',
  '"; drop table session; --',
  '1) union select token_hash from session --',
  '../../etc/passwd',
  '..\\..\\x',
  '%00',
  '%2e%2e%2f',
  '%',
  '%zz',
  '&token=x',
  'a=b',
  'a;b',
  'a\r\nSet-Cookie: x=1',
  'a\nb',
  '\u2028',
  '\u202e',
  '\ud800',
  '\udc00x',
  '\ufeff',
  '\u{1f98b}',
  'K\u212a',
  'İ',
  'ß',
  'a\u0301',
  '\u200b',
  '<script>alert(1)</script>',
  '{{7*7}}',
  '%s%n',
  '$(id)',
  '`id`',
  '|id',
  '() { :;}; id',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'x'.repeat(1_000),
  'A'.repeat(43),
  '-'.repeat(43),
  'ann',
  'Ann@box.test',
] as const

/** The same for JSON alone, as it is written. */
const JSON_VALUES = [
  'null',
  'true',
  'false',
  '0',
  '1',
  '1.0',
  '1e0',
  '-0',
  '-1',
  '1.5',
  '9007199254740992',
  '9007199254740993',
  '1e15',
  '1e16',
  '1e308',
  '1e999',
  '-1e999',
  '[]',
  '[1]',
  '["a"]',
  '[[]]',
  '{}',
  '{"a":1}',
  '{"__proto__":{"polluted":1}}',
  '"\\ud800"',
  '"\\u0000"',
  '"1"',
  '"a"',
  `${'['.repeat(50_000)}${']'.repeat(50_000)}`,
] as const

/** What a route needs to get past its other parameters. */
async function honest(route: Route): Promise<Record<string, string>> {
  const names = Object.keys(route.input.properties)
  const needed: Record<string, string> = {}
  if (names.includes('token')) needed['token'] = (await app.session()).token
  if (names.includes('id')) needed['id'] = '1'
  if (names.includes('index')) needed['index'] = '0'
  return needed
}

async function send(
  route: Route,
  params: Record<string, string>,
  encoding: Encoding,
): Promise<TestResponse> {
  const url = `${app.url}${route.path}`
  if (route.method === 'POST') return await post(url, params, encoding)
  const whole = `${url}?${new URLSearchParams(params)}`
  if (route.path === '/api/events' && (await opens(whole))) return STREAM
  const headers = route.api === 'keyed' ? key : {}
  return await request(whole, { headers, signal: AbortSignal.timeout(20_000) })
}

/** A stream has no end: that it began is the whole answer. */
const STREAM: TestResponse = { status: 200, headers: new Headers(), text: '', body: {} }

async function opens(url: string): Promise<boolean> {
  const response = await fetch(url)
  await response.body?.cancel()
  return response.status === 200
}

/** Fails unless the answer is a success or a refusal that the documents name. */
function check(route: Route, asked: TestResponse, value: string): void {
  const about = `${route.path} ${JSON.stringify(value.slice(0, 60))}: ${asked.text.slice(0, 200)}`
  assert.ok(asked.status < 500 || asked.body['code'] === 'gmail_unavailable', about)
  if (asked.status === 200) return
  assert.equal(problemFault(asked), undefined, about)
  const code = String(asked.body['code'])
  assert.ok(
    problemsOf(route).some((named) => named === code),
    about,
  )
  assert.equal(asked.status, problemStatus[code as keyof typeof problemStatus], about)
}

/** What two encodings of one value must have in common. */
function gist({ status: number, body }: TestResponse): unknown {
  return number === 200 ? 200 : [number, body['code'], body['message']]
}

/** So that the next one can ask for the same address. */
async function undo(route: Route, asked: TestResponse): Promise<void> {
  if (route.path !== '/api/create-session' || asked.status !== 200) return
  await post(`${app.url}/api/delete-session`, { token: String(asked.body['token']) })
}

const asking = routes.filter(({ path, api }) => api || path.startsWith('/api/'))

for (const route of asking) {
  const names = Object.keys(route.input.properties)
  if (names.length === 0) continue
  const encodings = route.method === 'POST' ? ENCODINGS : (['query'] as const)

  describe(`${route.method} ${route.path}`, () => {
    for (const name of names) {
      test(`${name}: every value gets a named answer, the same in every encoding`, async () => {
        const rest = await honest(route)
        for (const value of TEXTS) {
          const gists: unknown[] = []
          for (const encoding of encodings) {
            const asked = await send(route, { ...rest, domain_id: '1', [name]: value }, encoding)
            check(route, asked, `${name}=${value}`)
            await undo(route, asked)
            gists.push(gist(asked))
          }
          for (const one of gists)
            assert.deepEqual(one, gists[0], `${name}=${JSON.stringify(value)}`)
        }
      })

      if (route.method === 'GET') continue
      test(`${name}: every JSON value gets a named answer`, async () => {
        const rest = await honest(route)
        delete rest[name]
        for (const value of JSON_VALUES) {
          const others = Object.entries(rest).map(([key, text]) => `"${key}":"${text}",`)
          const body = `{${others.join('')}"${name}":${value}}`
          const asked = await postJson(`${app.url}${route.path}`, body)
          check(route, asked, body.slice(0, 200))
          await undo(route, asked)
        }
      })
    }
  })
}

describe('bodies', () => {
  const url = () => `${app.url}/api/create-session`

  for (const [name, body, expected] of [
    [
      'JSON nested a hundred thousand deep',
      `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
      200,
    ],
    ['JSON that is never closed', '['.repeat(100_000), 400],
    ['a byte order mark before JSON', '\ufeff{}', 200],
    ['JSON with a comment', '{} // no', 400],
    ['two JSON objects', '{}{}', 400],
    ['a trailing comma', '{"a":1,}', 400],
    ['single quotes', "{'a':1}", 400],
    ['an unknown name twice', '{"a":1,"a":2}', 200],
    ['prototypes by name', '{"__proto__":{"polluted":1},"__proto__":{"polluted":2}}', 200],
  ] as const) {
    test(`${name}: ${expected}`, async () => {
      const asked = await postJson(url(), body)
      assert.equal(asked.status, expected, asked.text)
      if (expected !== 200) assert.equal(problemFault(asked), undefined)
    })
  }

  test('a body on GET is ignored', async () => {
    const { token, email } = await app.session()
    const asked = await requestFrom(app.httpPort, '127.0.0.1', {
      path: `/api/check-mail?token=${token}`,
      headers: { 'content-type': 'application/json' },
      body: '{"token":"x"}',
    })
    assert.equal(asked.body['email'], email)
  })

  test('nothing of all this has reached a prototype of the server', async () => {
    const { body } = await request(`${app.url}/api/domains`)
    assert.deepEqual(Object.keys(body), ['status', 'domains', 'gmail_accounts'])
    assert.equal(({} as { polluted?: unknown }).polluted, undefined)
  })
})
