import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Address } from '../src/base/address.ts'
import { StoreUnavailable } from '../src/base/problem.ts'
import { csrfToken } from '../src/http/pages/plain/csrf.ts'
import { routes } from '../src/http/routes.ts'
import { waitingRequests } from '../src/http/server/limits.ts'
import { receiveMail } from '../src/mail/receive-mail.ts'
import { OPERATOR } from '../src/mail/rules/session.ts'
import { EMPTY_MAIL } from '../src/shared/mail.ts'
import { openPostgresShop } from '../src/store/postgres/shop-store.ts'
import type { ShopStore } from '../src/store/store.ts'
import { checkMail, createSession, openEventStream } from './kit/http/api-client.ts'
import { problemFault, request } from './kit/http/http-client.ts'
import { openTestServer, type TestServer } from './kit/http/http-server.ts'
import { keyRing } from './kit/shop/keys.ts'
import { createOrder } from './kit/shop/shop-client.ts'
import { host } from './kit/store/fixture.ts'
import { openPostgres, type Postgres } from './kit/store/postgres.ts'
import { openPostgresTestMail } from './kit/store/postgres-stores.ts'
import { waitUntil } from './kit/wait-until.ts'

// The mail store and the shop are on a real PostgreSQL, which is stopped abruptly.

let postgres: Postgres
let mail: Awaited<ReturnType<typeof openPostgresTestMail>>
let shop: ShopStore
let server: TestServer
let beforeListing = async () => {}

beforeAll(async () => {
  postgres = await openPostgres()
  mail = await openPostgresTestMail(postgres)
  shop = await openPostgresShop({ url: mail.url, connections: 3 })
  const box = { sessions: true, reader: false, ttlSeconds: undefined }
  await mail.store.addDomain({ name: host('box.test'), ...box })
  server = await openTestServer({
    storeOverrides: {
      ...mail.store,
      async listKeyMail(...args) {
        await beforeListing()
        return await mail.store.listKeyMail(...args)
      },
    },
    shopOverrides: shop,
    env: {
      ...{ MAYFLY_PAYMENTS: 'fake', MAYFLY_OWN_DOMAINS: 'keys' },
      MAYFLY_DOORS: 'addy,mailtm',
    },
    intervals: { pollMs: 50, heartbeatMs: 50 },
    parse: async () => ({ ...EMPTY_MAIL, text: '' }),
  })
})
afterEach(async () => {
  beforeListing = async () => {}
  // A test that failed may have left it stopped.
  if (!postgres.isRunning()) await postgres.start()
  server.logged.splice(0)
})
afterAll(async () => {
  await server?.stop()
  await shop?.close()
  await mail?.close()
  await postgres?.close()
})

const newKey = () => keyRing(shop, () => new Date()).issue()

describe('while the store is unreachable', () => {
  test('every route that needs it returns 503 with Retry-After, and recovers afterwards', async () => {
    const { email, token } = await createSession(server.url)
    const { headers } = await newKey()
    const order = await createOrder(server.url)
    await server.mail(email)
    const before = await checkMail(server.url, token)
    await postgres.stop()
    // The state of the store is cached for half a second.
    await waitUntil(async () => (await request(`${server.url}/readyz`)).status === 503)

    const params = {
      token,
      id: String(before[0]?.id),
      order: order.id,
      index: '0',
      ...{ email, address: email, password: 'x' },
      label: 'x',
      plan: 'starter',
      outcome: 'pay',
      proof: csrfToken(token),
    }
    const secrets = { 'claim-secret': order.secret, cookie: `mayfly-plain=${token}` }
    const statuses = await requestEveryRoute(params, { ...headers, ...secrets })
    const listed = [...NEEDS_STORE, ...Object.keys(WORKS_WITHOUT_STORE)]
    expect([...statuses.keys()].toSorted(), 'each route is in one list').toStrictEqual(
      listed.toSorted(),
    )
    for (const name of NEEDS_STORE) expect(statuses.get(name), name).toBe(503)
    for (const [name, status] of Object.entries(WORKS_WITHOUT_STORE))
      expect(statuses.get(name), name).toBe(status)
    expect(
      server.logged.map(({ level }) => level),
      'the log hears of it once',
    ).toStrictEqual(['warn'])
    const ready = await request(`${server.url}/readyz`)
    expect(ready.body['message']).toMatch(/^PostgreSQL cannot be reached: connect E/)
    const domains = await fetch(`${server.url}/api/domains`)
    const { status, message } = (await domains.json()) as { status: string; message: string }
    const expected = ['error', new StoreUnavailable().message]
    expect([status, message], 'mayfly doctor recognizes the service').toStrictEqual(expected)

    await postgres.start()
    expect(await checkMail(server.url, token)).toStrictEqual(before)
  })

  test('the admin API tells the reason to whoever has the token or was signed in, and nobody else', async () => {
    const operator = await openTestServer({
      storeOverrides: mail.store,
      shopOverrides: shop,
      env: { MAYFLY_ADMIN_TOKEN: 'the-admin-token' },
    })
    const call = (path: string, headers: Record<string, string>, method = 'GET') =>
      request(`${operator.url}/admin/api${path}`, { method, headers })
    const token = { authorization: 'Bearer the-admin-token' }
    const signIn = await call('/sign-in', token, 'POST')
    const [cookie = ''] = (signIn.headers.get('set-cookie') ?? '').split(';')
    expect((await call('/overview', { cookie })).body['figures']).not.toBe(null)
    await postgres.stop()

    const first = await call('/overview', token)
    expect([first.status, first.body['figures']]).toStrictEqual([200, null])
    const reason = /^PostgreSQL cannot be reached: connect E/
    await waitUntil(async () => reason.test(String((await call('/overview', token)).body['fault'])))
    const refused = await call('/sign-in', token, 'POST')
    expect(refused.status).toBe(503)
    expect(String(refused.body['message'])).toMatch(/^Nobody can sign in now: PostgreSQL/)
    const told = /^The store is unavailable: connect E/
    for (const [headers, expected] of [
      [token, told],
      [{ cookie }, told],
      [{ cookie: 'mayfly-admin=guess' }, /^The store is unavailable\. Try again/],
    ] as const) {
      const { status, body } = await call('/keys', headers)
      expect(status).toBe(503)
      expect(body['message']).toMatch(expected)
    }
    const wrong = await call('/sign-in', { authorization: 'Bearer wrong' }, 'POST')
    expect(wrong.status).toBe(401)

    await postgres.start()
    expect((await call('/overview', { cookie })).body['figures']).not.toBe(null)
    await operator.stop()
  })

  test('pending long polls are answered with 503', async () => {
    const { token } = await createSession(server.url)
    const before = waitingRequests()
    const waiting = request(`${server.url}/api/check-mail?wait=55&token=${token}`)
    await waitUntil(async () => waitingRequests() === before + 1)
    await postgres.stop()
    const response = await waiting
    expect([response.status, response.body['code']]).toStrictEqual([503, 'overloaded'])
    expect(problemFault(response)).toBeUndefined()
    await postgres.start()
  })

  test('a stream stays open, and afterwards delivers mail received in the meantime', async () => {
    const { email, token } = await createSession(server.url)
    const stream = await openEventStream(server.url, token)
    await server.mail(email)
    await stream.waitFor(/event: message/)
    await postgres.stop()
    stream.clear()
    await stream.waitFor(/(:\n\n.*){3}/s)
    await postgres.start()
    // Received by another node, without a bus to announce it.
    const bus = { wake() {}, subscribe: () => () => {} }
    const parts = { store: mail.other, bus, now: () => new Date(), findMailBlock: () => undefined }
    await receiveMail(parts, await mailFor(email))
    await stream.waitFor(/event: message\nid: \d+\n/)
    expect(stream.received()).not.toMatch(/event: end|event: deleted/)
    const [newest] = await checkMail(server.url, token)
    expect(stream.received()).toMatch(new RegExp(`id: ${newest?.id}\n`))
    expect(server.logged).toStrictEqual([])
    await stream.end()
  })

  test('a request that was charged and cannot be refunded is lost, and still answered with 503', async () => {
    const key = await newKey()
    // The mail is listed after the request was charged.
    beforeListing = () => postgres.stop()
    const response = await request(`${server.url}/emails`, { headers: key.headers })
    expect([response.status, response.body['code']]).toStrictEqual([503, 'overloaded'])
    expect(problemFault(response)).toBeUndefined()
    expect(server.logged.filter(({ level }) => level === 'error')).toStrictEqual([])
    beforeListing = async () => {}
    await postgres.start()
    expect(await keyRing(shop, () => new Date()).used(key)).toBe(1)
    expect((await request(`${server.url}/emails`, { headers: key.headers })).status).toBe(200)
    expect(await keyRing(shop, () => new Date()).used(key)).toBe(2)
  })
})

const NEEDS_STORE = [
  'GET /api/domains',
  'POST /api/create-session',
  'GET /api/check-mail',
  'GET /api/read-mail',
  'POST /api/delete-mail',
  'POST /api/extend-session',
  'POST /api/update-session',
  'POST /api/delete-session',
  'GET /api/attachment',
  'GET /api/raw-mail',
  'GET /api/events',
  'GET /emails',
  'GET /emails/{id}',
  'GET /emails/{id}/raw',
  'GET /emails/{id}/attachments/{index}',
  'GET /sessions',
  'POST /sessions/end',
  'POST /sessions/roll-token',
  'GET /usage',
  'POST /api/roll-key',
  'POST /api/send-test',
  'POST /api/checkout',
  'GET /api/orders/{id}',
  'POST /api/orders/{id}/claim',
  'GET /pay/{id}',
  'POST /pay/{id}',
  'GET /readyz',
  'GET /plain',
  'POST /plain',
  'POST /plain/extend',
  'GET /plain/end',
  'POST /plain/end',
  'GET /plain/mail/{id}',
  'GET /plain/mail/{id}/raw',
  'GET /plain/mail/{id}/files/{index}',
  'POST /plain/mail/{id}/delete',
  'POST /plain/test',
  'GET /webhooks',
  'POST /webhooks',
  'GET /webhooks/{id}',
  'POST /webhooks/{id}',
  'DELETE /webhooks/{id}',
  'GET /webhooks/{id}/deliveries',
  'POST /webhooks/{id}/test',
  'POST /webhooks/{id}/replay',
  'POST /webhooks/{id}/roll-secret',
  'POST /webhooks/{id}/enable',
  'POST /webhooks/{id}/delete',
  'POST /domains',
  'GET /domains',
  'GET /domains/{id}',
  'POST /domains/{id}/verify',
  'POST /domains/{id}',
  'DELETE /domains/{id}',
  'POST /domains/{id}/delete',
  'POST /api/v1/aliases',
  'GET /compat/mailtm/domains',
  'GET /compat/mailtm/domains/{id}',
  'POST /compat/mailtm/accounts',
  'GET /compat/mailtm/accounts/{id}',
  'DELETE /compat/mailtm/accounts/{id}',
  'POST /compat/mailtm/token',
  'GET /compat/mailtm/me',
  'GET /compat/mailtm/messages',
  'GET /compat/mailtm/messages/{id}',
  'PATCH /compat/mailtm/messages/{id}',
  'DELETE /compat/mailtm/messages/{id}',
  'GET /compat/mailtm/messages/{id}/download',
  'GET /compat/mailtm/messages/{id}/attachment/{attachment}',
  'GET /compat/mailtm/sources/{id}',
]

/** With their status. */
const WORKS_WITHOUT_STORE = {
  'GET /.well-known/acme-challenge/{token}': 404,
  'GET /livez': 200,
  'GET /metrics': 200,
  'GET /api/plans': 200,
  'GET /openapi.json': 200,
  'GET /': 200,
  'GET /key': 200,
  'GET /leave': 200,
  'GET /pricing': 200,
  'GET /orders/{id}': 200,
  'GET /docs': 200,
  'GET /docs/coming-from': 200,
  'GET /favicon.svg': 200,
  'GET /sw.js': 200,
  'GET /favicon.ico': 200,
  'GET /manifest.webmanifest': 200,
  'GET /robots.txt': 200,
  'GET /sitemap.xml': 200,
  // There are no files of these names, no policy for this host, and no account at Stripe.
  'GET /.well-known/mta-sts.txt': 404,
  'GET /assets/{name}': 404,
  'GET /icons/{name}': 404,
  'POST /api/stripe/webhook': 404,
  // The body is not JSON.
  'POST /mcp': 415,
}

/** Requests every route and returns the statuses; error responses are checked here. */
async function requestEveryRoute(params: Record<string, string>, headers: Record<string, string>) {
  const statuses = new Map<string, number>()
  for (const { method, path, input, renderProblem } of routes) {
    const id = /order|pay/.test(path) ? params['order'] : params['id']
    const target = path.replace('{id}', `${id}`).replace('{index}', '0')
    const url = `${server.url}${target}?${new URLSearchParams(params)}`
    // A password is not taken from the query.
    const body = 'password' in input.properties && { body: new URLSearchParams(params) }
    const response = await request(url, { method, headers, ...body })
    statuses.set(`${method} ${path}`, response.status)
    expect(response.status, path).not.toBe(500)
    if (response.status !== 503) continue
    expect(response.headers.get('retry-after') ?? '', path).toMatch(/^\d+$/)
    const isPage = response.headers.get('content-type')?.startsWith('text/html')
    // A route may have a form of its own.
    if (!isPage && !renderProblem) expect(problemFault(response), path).toBeUndefined()
  }
  return statuses
}

async function mailFor(email: string): Promise<Parameters<typeof receiveMail>[1]> {
  const address = email as Address
  const { session } = await mail.other.findRecipient(address)
  const envelope = { clientIp: '192.0.2.1', helo: 'a.test', mailFrom: '', protocol: 'ESMTP' }
  return {
    recipients: [{ address, mailbox: session?.id ?? OPERATOR }],
    envelope: { ...envelope, tls: undefined },
    raw: Buffer.from('Subject: from afar\r\n\r\nx\r\n'),
  }
}
