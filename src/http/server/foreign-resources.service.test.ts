import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkMail } from '../../../test/kit/http/api-client.ts'
import { pathWith, post, request } from '../../../test/kit/http/http-client.ts'
import { openTestServer, type TestServer } from '../../../test/kit/http/http-server.ts'
import { keyRing } from '../../../test/kit/shop/keys.ts'
import { routes } from '../routes.ts'
import type { Route } from './route.ts'

// What belongs to somebody else is answered like what does not exist, and as fast: the store is asked the same questions and
// gives the same answers, so nothing that is done with them can take longer.

let calls: unknown[] = []

function recorded<Store extends object>(store: Store): Store {
  const wrapped = Object.entries(store).map(([name, call]) => {
    const record = async (...args: unknown[]) => {
      const answer = await call(...args)
      calls.push([name, answer])
      return answer
    }
    return [name, typeof call === 'function' ? record : call]
  })
  return Object.fromEntries(wrapped) as Store
}

type Params = Record<string, string>

let server: TestServer
let headers: Params
/** Of another key, by the first part of the path: what names it, and what names nothing. */
let resources: Record<string, { foreign: Params; unknown: Params }>
beforeAll(async () => {
  const env = { MAYFLY_WEBHOOK_ALLOW: '127.0.0.1', MAYFLY_OWN_DOMAINS: 'keys' }
  server = await openTestServer({ env, wrapStore: recorded })
  const ring = keyRing(server.shop, server.now)
  const other = await ring.issue()
  headers = (await ring.issue()).headers
  const create = async (of: Params) =>
    (await post(`${server.url}/api/create-session`, {}, 'form', of)).body as Params
  const [theirs, own] = [await create(other.headers), await create(headers)]
  await server.mail(theirs['email'] ?? '')
  const [{ id = 0 } = {}] = await checkMail(server.url, theirs['token'] ?? '')
  const url = 'http://127.0.0.1:1/'
  const { body } = await post(`${server.url}/webhooks`, { url }, 'form', other.headers)
  const { id: webhook } = body['webhook'] as { id: string }
  const added = await post(`${server.url}/domains`, { domain: 'own.test' }, 'form', other.headers)
  expect.assert(added.status === 200, added.text)
  const domain = String(added.body['id'])
  const { token = '' } = own
  const messages = {
    foreign: { token, id: String(id) },
    unknown: { token, id: String(id + 1) },
  }
  resources = {
    api: messages,
    emails: messages,
    webhooks: { foreign: { id: webhook }, unknown: { id: webhook.replace(/.{4}$/, 'AAAA') } },
    domains: { foreign: { id: domain }, unknown: { id: domain.replace(/.{4}$/, 'AAAA') } },
    sessions: {
      foreign: { email: theirs['email'] ?? '' },
      unknown: { email: 'unknown@box.test' },
    },
  }
})
afterAll(() => server.stop())

const MORE = { index: '0', since_id: '1', state: 'paused', catch_all: '0' }

async function send({ method, path, api }: Route, params: Params) {
  calls = []
  const url = server.url + pathWith(path, { ...params, ...MORE })
  const all = { ...MORE, ...params }
  const response =
    method === 'POST'
      ? await post(url, all, 'form', api === 'keyed' ? headers : {})
      : await request(`${url}?${new URLSearchParams(all)}`, {
          method,
          headers: api === 'keyed' ? headers : {},
        })
  const { request_id: _, ...body } = response.body
  return { status: response.status, body, headers: [...response.headers.keys()], calls }
}

const namesResource = ({ path, api, input }: Route) =>
  (path.startsWith('/api/') && 'token' in input.properties && 'id' in input.properties) ||
  (api === 'keyed' && (path.includes('{id}') || 'email' in input.properties))

for (const route of routes.filter(namesResource)) {
  test(`${route.method} ${route.path}`, async () => {
    const { foreign, unknown } = resources[route.path.split('/')[1] ?? ''] ?? {}
    expect.assert(foreign && unknown)
    const response = await send(route, unknown)
    expect(response.status).toBe(404)
    expect(response.calls.length).toBeGreaterThanOrEqual(2)
    expect(await send(route, foreign)).toStrictEqual(response)
  })
}

test('every kind of resource is among them', () => {
  const kinds = routes.filter(namesResource).map(({ path }) => path.split('/')[1] ?? '')
  expect(new Set(kinds)).toStrictEqual(new Set(Object.keys(resources)))
})
