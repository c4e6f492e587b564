import { beforeAll, describe, expect, test } from 'vitest'
import { type App, sharedApp } from '../../../test/kit/app/app.ts'
import {
  type Encoding,
  pathWith,
  postJson,
  problemFault,
  request,
  type TestResponse,
} from '../../../test/kit/http/http-client.ts'
import { openKeyRing } from '../../../test/kit/shop/keys.ts'
import { routes } from '../routes.ts'
import { isInPath, type Route } from './route.ts'

let app: App
let key: Record<string, string>
beforeAll(async () => {
  app = await sharedApp()
  const ring = await openKeyRing(app)
  key = (await ring.issue()).headers
  await ring.close()
})

const FORMS: readonly Encoding[] = ['query', 'form', 'multipart']

type Pairs = readonly (readonly [name: string, value: string])[]

/** More than one value, in the notations of common parsers. */
const MANY: readonly [string, (name: string) => Pairs][] = [
  ['name[]', (name) => [[`${name}[]`, '1']]],
  ['name[] without a value', (name) => [[`${name}[]`, '']]],
  ['name[0]', (name) => [[`${name}[0]`, '1']]],
  ['name[a]', (name) => [[`${name}[a]`, '1']]],
  ['name[a][b]', (name) => [[`${name}[a][b]`, '1']]],
  ['name followed by name[]', (name) => [pair(name), [`${name}[]`, '1']]],
  ['name[] followed by name', (name) => [[`${name}[]`, '1'], pair(name)]],
  ['name twice', (name) => [pair(name), pair(name)]],
  ['name twice, once empty', (name) => [pair(name), [name, '']]],
]

const pair = (name: string) => [name, '1'] as const

/** The same in JSON. */
const MANY_IN_JSON: readonly [string, (name: string) => string][] = [
  ['an array', (name) => `"${name}":[1]`],
  ['an empty array', (name) => `"${name}":[]`],
  ['an object', (name) => `"${name}":{"a":1}`],
  ['name twice', (name) => `"${name}":1,"${name}":1`],
]

/** Parameters that a route requires besides the one under test. */
async function others(route: Route, name: string): Promise<[string, string][]> {
  const token = (await app.session()).token
  const known = { token, id: '1', index: '0', plan: 'starter', url: 'https://8.8.8.8/' }
  return Object.entries(known).filter(([key]) => key !== name && key in route.input.properties)
}

async function send(route: Route, pairs: Pairs, encoding: Encoding): Promise<TestResponse> {
  const url = app.url + pathWith(route.path, { id: '1', index: '0' })
  const form = new URLSearchParams(pairs.map(([name, value]) => [name, value]))
  const signal = AbortSignal.timeout(20_000)
  const headers = route.api === 'keyed' ? key : {}
  if (encoding === 'query') {
    return await request(`${url}?${form}`, { method: route.method, headers, signal })
  }
  if (encoding === 'form') {
    return await request(url, { method: 'POST', body: form, headers, signal })
  }
  const parts = new FormData()
  for (const [name, value] of pairs) parts.append(name, value)
  return await request(url, { method: 'POST', body: parts, headers, signal })
}

function assertRefused(response: TestResponse, name: string, label: string): void {
  expect([response.status, response.body['code']], label).toStrictEqual([400, 'invalid_parameter'])
  expect(String(response.body['message']).startsWith(`${name}: `), label).toBeTruthy()
  expect(problemFault(response), label).toBeUndefined()
}

// HTML routes report the problem on a page: see pages/plain/routes.test.ts.
for (const route of routes.filter(({ renderProblem }) => !renderProblem)) {
  const encodings = route.method === 'GET' ? ['query' as const] : FORMS
  const names = Object.keys(route.input.properties).filter((name) => !isInPath(route, name))
  for (const name of names) {
    describe(`${route.method} ${route.path} accepts only one ${name}`, () => {
      for (const [notation, make] of MANY) {
        test(`${notation}: 400`, async () => {
          const rest = await others(route, name)
          for (const encoding of encodings) {
            assertRefused(await send(route, [...rest, ...make(name)], encoding), name, encoding)
          }
        })
      }

      if (route.method === 'GET') return
      const { type } = route.input.properties[name] as { type?: string }
      for (const [notation, make] of MANY_IN_JSON) {
        if (type === 'array' && notation === 'an array') continue
        test(`${notation} in JSON: 400`, async () => {
          const rest = (await others(route, name)).map(([key, text]) => `"${key}":"${text}",`)
          const body = `{${rest.join('')}${make(name)}}`
          const headers = route.api === 'keyed' ? key : {}
          assertRefused(await postJson(`${app.url}${route.path}`, body, headers), name, body)
        })
      }
    })
  }
}

describe('unknown names', () => {
  for (const text of [
    't[]=1',
    't[a]=1&t[b]=2',
    't=1&t=2',
    '[]=1',
    '[a]=1',
    'prefix[=x',
    'prefix]=x',
  ]) {
    test(`${text} is ignored`, async () => {
      const response = await request(`${app.url}/api/create-session?${text}`, { method: 'POST' })
      expect(response.status, response.text).toBe(200)
    })
  }
})
