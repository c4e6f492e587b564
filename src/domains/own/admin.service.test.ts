import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTestServer, type TestServer } from '../../../test/kit/http/http-server.ts'
import { keyRing } from '../../../test/kit/shop/keys.ts'
import { ADMIN_TOKEN, adminClient, assertProblem } from '../../admin/api/testing/admin-client.ts'
import { parseOwnDomain } from './names.ts'
import type { OwnDomain } from './rules.ts'

let server: TestServer
beforeAll(async () => {
  server = await openTestServer({ env: { MAYFLY_ADMIN_TOKEN: ADMIN_TOKEN } })
})
afterAll(() => server.stop())

const { call, list, returned } = adminClient(() => server.url)

async function claim(name: string): Promise<OwnDomain> {
  const { store, shop, now } = server
  const { id: keyId } = await keyRing(shop, now).issue()
  const token = randomBytes(20).toString('base64url')
  const id = `dom_${randomBytes(8).toString('hex')}`
  const added = { id, keyId, name: await parseOwnDomain(name), token, createdAt: now() }
  const domain = await store.addOwnDomain(added, 1)
  if (typeof domain === 'string') throw new Error(domain)
  return domain
}

async function held(name: string): Promise<OwnDomain> {
  const domain = await claim(name)
  const { id, keyId } = domain
  await server.store.activateOwnDomain({ id, keyId, now: server.now() })
  return domain
}

const read = async ({ id }: OwnDomain) =>
  (await list('/own-domains', 'domains')).find((one) => one['id'] === id)

test('domains of all keys are listed with their key, without what proves them', async () => {
  const [one, other] = [await held('one.test'), await claim('other.test')]
  expect(await read(one)).toMatchObject({ domain: 'one.test', key_id: one.keyId, state: 'active' })
  expect(await read(other)).toMatchObject({ domain: 'other.test', state: 'pending' })
  expect(returned.join()).not.toContain(one.token)
})

test('a domain is suspended and resumed', async () => {
  const domain = await held('suspended.test')
  await call('POST', `/own-domains/${domain.id}/suspend`)
  expect(await read(domain)).toMatchObject({ state: 'suspended', reason: 'suspended_by_operator' })
  await call('POST', `/own-domains/${domain.id}/resume`)
  expect(await read(domain)).toMatchObject({ state: 'active', reason: null })
})

test('a domain is deleted', async () => {
  const domain = await held('deleted.test')
  expect((await call('POST', `/own-domains/${domain.id}/delete`)).status).toBe(200)
  expect(await read(domain)).toBeUndefined()
})

test('a claim that is not verified is not suspended; an unknown one is not found', async () => {
  const domain = await claim('pending.test')
  const suspended = await call('POST', `/own-domains/${domain.id}/suspend`)
  assertProblem(suspended, 400, 'invalid_parameter')
  expect(await read(domain)).toMatchObject({ state: 'pending', reason: null })
  for (const action of ['suspend', 'resume', 'delete']) {
    assertProblem(await call('POST', `/own-domains/dom_none/${action}`), 404, 'domain_not_found')
  }
})
