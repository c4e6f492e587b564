import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { requestFrom } from '../../test/kit/http/http-client.ts'
import { openTestServer, type TestServer } from '../../test/kit/http/http-server.ts'
import { newClient, PROXY, PROXY_ENV } from '../../test/kit/http/trusted-proxy.ts'
import { keyRing } from '../../test/kit/shop/keys.ts'

// The clock is fixed, so rate limits are exact.

const now = new Date()
let server: TestServer
beforeAll(async () => {
  const env = { ...PROXY_ENV, MAYFLY_DOORS: 'addy,mailtm' }
  server = await openTestServer({ env, now: () => now })
})
afterAll(() => server.stop())

/** A request of a client behind the proxy. */
const send = (path: string, body: object, headers: Record<string, string>) =>
  requestFrom(server.port, PROXY, {
    ...{ method: 'POST', path, body: JSON.stringify(body) },
    headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
  })
const from = (client: string) => ({ 'x-forwarded-for': client })

const CREATED = 60

test('429: an alias counts as a session that is created', async () => {
  const { secret } = await keyRing(server.shop, server.now).issue()
  const headers = { authorization: `Bearer ${secret}`, ...from(newClient()) }
  const create = () => send('/api/v1/aliases', { domain: 'no.test' }, headers)
  for (let at = 0; at < CREATED; at += 1) expect((await create()).status).toBe(422)
  const { status, body, headers: sent } = await create()
  expect([status, Object.keys(body)]).toStrictEqual([429, ['message']])
  expect(sent.get('retry-after')).toMatch(/^\d+$/)
})

test('429: an account does, too', async () => {
  const headers = from(newClient())
  const create = () => send('/compat/mailtm/accounts', {}, headers)
  for (let at = 0; at < CREATED; at += 1) expect((await create()).status).toBe(422)
  const { status, body, headers: sent } = await create()
  expect([status, body['title']]).toStrictEqual([429, 'An error occurred'])
  expect(sent.get('retry-after')).toMatch(/^\d+$/)
})

const account = async (name: string) => {
  const credentials = { address: `${name}@box.test`, password: 'right' }
  const created = await send('/compat/mailtm/accounts', credentials, from(newClient()))
  expect(created.status, created.text).toBe(201)
  return credentials
}
const signIn = async (credentials: object, client: string) =>
  (await send('/compat/mailtm/token', credentials, from(client))).status

test('429: more than 60 sign-ins a minute, right or wrong', async () => {
  const [right, client] = [await account('eve'), newClient()]
  const wrong = { ...right, password: 'wrong' }
  for (let at = 0; at < 20; at += 1) expect(await signIn(right, client)).toBe(200)
  for (let at = 0; at < 5; at += 1) expect(await signIn(wrong, client)).toBe(401)
  for (let at = 0; at < 35; at += 1) expect(await signIn({}, client)).toBe(400)
  expect(await signIn(right, client)).toBe(429)
  expect(await signIn(right, newClient())).toBe(200)
})

describe('429: after ten wrong passwords, also the right one', () => {
  test('for an account, whoever tries', async () => {
    const ann = await account('ann')
    for (let at = 0; at < 10; at += 1) {
      expect(await signIn({ ...ann, password: 'wrong' }, newClient())).toBe(401)
    }
    expect(await signIn({ ...ann, password: 'wrong' }, newClient())).toBe(429)
    expect(await signIn(ann, newClient())).toBe(429)
    expect(await signIn(await account('bob'), newClient())).toBe(200)
  })

  test('of a client, for whatever account', async () => {
    const [cat, client] = [await account('cat'), newClient()]
    expect(await signIn(cat, client), 'right ones are not counted').toBe(200)
    for (let at = 0; at < 10; at += 1) {
      const wrong = { address: `nobody${at}@box.test`, password: 'wrong' }
      expect(await signIn(wrong, client)).toBe(401)
    }
    const wrong = { address: 'nobody@box.test', password: 'wrong' }
    expect(await signIn(wrong, client)).toBe(429)
    expect(await signIn(cat, client)).toBe(429)
    expect(await signIn(cat, newClient())).toBe(200)
  })

  test('of many guesses at once, no more are examined', async () => {
    const [dan, client] = [await account('dan'), newClient()]
    const guesses = Array.from({ length: 30 }, () => signIn({ ...dan, password: 'wrong' }, client))
    const statuses = await Promise.all(guesses)
    expect(statuses.filter((status) => status === 401)).toHaveLength(10)
    expect(await signIn(dan, client)).toBe(429)
  })
})
