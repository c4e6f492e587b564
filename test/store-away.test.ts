import assert from 'node:assert/strict'
import { afterAll, beforeAll, beforeEach, describe, test } from 'vitest'
import type { Address } from '../src/core/address.ts'
import { EMPTY_MAIL } from '../src/core/message.ts'
import { OPERATOR } from '../src/core/session.ts'
import { routes } from '../src/http/routes.ts'
import { longPollsGauge } from '../src/http/server/metrics.ts'
import { receiveMail } from '../src/service/mail/receive-mail.ts'
import { host } from '../src/store/contract/fixture.ts'
import { openPostgresShop } from '../src/store/postgres/shop-store.ts'
import type { ShopStore } from '../src/store/shop-store.ts'
import { checkMail, createSession, openEventStream } from './support/api-client.ts'
import { problemFault, request } from './support/http-client.ts'
import { openTestServer, type TestServer } from './support/http-server.ts'
import { keyRing } from './support/keys.ts'
import { openPostgres, type Postgres } from './support/postgres.ts'
import { openPostgresTestMail } from './support/postgres-stores.ts'
import { waitUntil } from './support/wait-until.ts'

// The mail store and the shop are on a real PostgreSQL, which is stopped abruptly.

let postgres: Postgres
let mail: Awaited<ReturnType<typeof openPostgresTestMail>>
let shop: ShopStore
let door: TestServer
let onParse = async () => {}

beforeAll(async () => {
  postgres = await openPostgres()
  mail = await openPostgresTestMail(postgres)
  shop = await openPostgresShop({ url: mail.url, connections: 3 })
  const box = { sessions: true, reader: false, ttlSeconds: undefined }
  await mail.store.addDomain({ name: host('box.test'), ...box })
  door = await openTestServer({
    storeOverrides: mail.store,
    shopOverrides: shop,
    env: { MAYFLY_PAYMENTS: 'fake' },
    intervals: { pollMs: 50, heartbeatMs: 50 },
    async parse() {
      await onParse()
      return { ...EMPTY_MAIL, text: '' }
    },
  })
})
beforeEach(() => {
  onParse = async () => {}
  door.logged.splice(0)
})
afterAll(async () => {
  await door.stop()
  await shop.close()
  await mail.close()
  await postgres.close()
})

const newKey = () => keyRing(shop, () => new Date()).issue()

describe('while the store is unreachable', () => {
  test('every route that needs it returns 503 with Retry-After, and recovers afterwards', async () => {
    const { email, token } = await createSession(door.url)
    const { headers } = await newKey()
    await door.mail(email)
    const before = await checkMail(door.url, token)
    await postgres.stop()
    // The state of the store is cached for half a second.
    await waitUntil(async () => (await request(`${door.url}/readyz`)).status === 503)

    const params = { token, id: String(before[0]?.id), index: '0', plan: 'starter' }
    const answers = await askEverywhere(params, { ...headers, cookie: `mayfly-plain=${token}` })
    for (const name of NEEDY) assert.equal(answers.get(name), 503, name)
    for (const name of ABLE) assert.equal(answers.get(name), 200, name)
    assert.deepEqual(
      door.logged.map(({ level }) => level),
      ['warn'],
      'the log hears of it once',
    )
    const ready = await request(`${door.url}/readyz`)
    assert.equal(ready.body['message'], 'PostgreSQL cannot be reached')

    await postgres.start()
    assert.deepEqual(await checkMail(door.url, token), before)
  })

  test('pending long polls are answered with 503', async () => {
    const { token } = await createSession(door.url)
    const waiting = request(`${door.url}/api/check-mail?wait=55&token=${token}`)
    await untilWaiting()
    await postgres.stop()
    const asked = await waiting
    assert.deepEqual([asked.status, asked.body['code']], [503, 'overloaded'])
    assert.equal(problemFault(asked), undefined)
    await postgres.start()
  })

  test('a stream stays open, and afterwards delivers mail received in the meantime', async () => {
    const { email, token } = await createSession(door.url)
    const stream = await openEventStream(door.url, token)
    await door.mail(email)
    await stream.waitFor(/event: message/)
    await postgres.stop()
    stream.clear()
    await stream.waitFor(/(:\n\n.*){3}/s)
    await postgres.start()
    // Received by another node, without a bus to announce it.
    const parts = { store: mail.other, bus: { wake: () => {} }, now: () => new Date() }
    await receiveMail(parts, await mailFor(email))
    await stream.waitFor(/event: message\nid: \d+\n/)
    assert.doesNotMatch(stream.heard(), /event: end|event: deleted/)
    const [newest] = await checkMail(door.url, token)
    assert.match(stream.heard(), new RegExp(`id: ${newest?.id}\n`))
    assert.deepEqual(door.logged, [])
    await stream.end()
  })

  test('a request that was charged and cannot be refunded is lost, and still answered with 503', async () => {
    const key = await newKey()
    const { body } = await request(`${door.url}/api/create-session`, {
      method: 'POST',
      headers: key.headers,
    })
    // Four mails are read at once: the fifth is read after the store has stopped.
    for (let sent = 0; sent < 5; sent += 1) await door.mail(String(body['email']))
    let stopped: Promise<void> | undefined
    onParse = () => {
      stopped ??= postgres.stop()
      return stopped
    }
    const asked = await request(`${door.url}/emails`, { headers: key.headers })
    assert.deepEqual([asked.status, asked.body['code']], [503, 'overloaded'])
    assert.equal(problemFault(asked), undefined)
    assert.deepEqual(
      door.logged.filter(({ level }) => level === 'error'),
      [],
    )
    await postgres.start()
    assert.equal(await keyRing(shop, () => new Date()).used(key), 1)
    assert.equal((await request(`${door.url}/emails`, { headers: key.headers })).status, 200)
    assert.equal(await keyRing(shop, () => new Date()).used(key), 2)
  })
})

const NEEDY = [
  'GET /api/domains',
  'POST /api/create-session',
  'GET /api/check-mail',
  'GET /api/read-mail',
  'POST /api/delete-mail',
  'POST /api/extend-session',
  'POST /api/delete-session',
  'GET /api/attachment',
  'GET /api/raw-mail',
  'GET /api/events',
  'GET /emails',
  'GET /usage',
  'POST /api/checkout',
  'GET /readyz',
  'GET /plain',
]
const ABLE = ['GET /livez', 'GET /metrics', 'GET /api/plans', 'GET /openapi.json', 'GET /']

/** Requests every route and returns the statuses; error responses are checked here. */
async function askEverywhere(params: Record<string, string>, headers: Record<string, string>) {
  const answers = new Map<string, number>()
  for (const { method, path } of routes) {
    const place = path.replace(/\{\w+\}/g, 'x'.repeat(22))
    const url = `${door.url}${place}?${new URLSearchParams(params)}`
    const asked = await request(url, { method, headers })
    answers.set(`${method} ${path}`, asked.status)
    assert.notEqual(asked.status, 500, path)
    if (asked.status !== 503) continue
    assert.match(asked.headers.get('retry-after') ?? '', /^\d+$/, path)
    const isPage = asked.headers.get('content-type')?.startsWith('text/html')
    if (!isPage) assert.equal(problemFault(asked), undefined, path)
  }
  return answers
}

async function untilWaiting(): Promise<void> {
  const count = async () => (await longPollsGauge.get()).values[0]?.value
  await waitUntil(async () => (await count()) === 1)
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
