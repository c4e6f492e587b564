import { afterAll, beforeAll, expect, test } from 'vitest'
import { request } from '../../../test/kit/http/http-client.ts'
import { openTestServer, type TestServer } from '../../../test/kit/http/http-server.ts'
import { keyRing, type TestKey } from '../../../test/kit/shop/keys.ts'
import type { Host } from '../../base/address.ts'

// MAYFLY_OWN_DOMAINS=off, the default, after it was on: a key has a domain, and a claim to another.

let server: TestServer
let key: TestKey
beforeAll(async () => {
  server = await openTestServer()
  key = await keyRing(server.shop, server.now).issue({ domains: 3 })
  const { store, now } = server
  for (const name of ['held.test', 'claimed.test'] as Host[]) {
    const claim = { id: `dom_${name}`, keyId: key.id, name, token: name, createdAt: now() }
    await store.addOwnDomain(claim, 3)
  }
  await store.activateOwnDomain({ id: 'dom_held.test', keyId: key.id, now: now() })
})
afterAll(() => server.stop())

const ask = (path: string, params?: Record<string, string>) =>
  request(`${server.url}${path}`, {
    headers: key.headers,
    ...(params && { method: 'POST', body: new URLSearchParams(params) }),
  })
const refusal = async (path: string, params: Record<string, string>) => {
  const { status, body } = await ask(path, params)
  return [status, body['code']]
}

test('domains of before are listed and changed, and none can be added', async () => {
  const { body } = await ask('/domains')
  const states = (body['domains'] as { state: string }[]).map(({ state }) => state).sort()
  expect([states, body['limit']]).toEqual([['active', 'pending'], 0])
  expect((await ask('/usage')).body).toMatchObject({ domains: { limit: 0, used: 2 } })
  expect((await ask('/domains/dom_held.test', { catch_all: '0' })).status).toBe(200)
  expect(await refusal('/domains', { domain: 'new.test' })).toEqual([403, 'not_allowed'])
})

test('a claim cannot be verified, but deleted', async () => {
  expect(await refusal('/domains/dom_claimed.test/verify', {})).toEqual([403, 'not_allowed'])
  expect((await ask('/domains/dom_claimed.test/delete', {})).status).toBe(200)
})
