import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { addEntries, removeEntries } from '../src/blocks/commands.ts'
import { changeDomain } from '../src/domains/domains.ts'
import { openPostgresMail } from '../src/store/postgres/mail-store.ts'
import type { Store } from '../src/store/store.ts'
import { startApp, WITHOUT_POLLING } from './kit/app/app.ts'
import {
  checkMail,
  createSession,
  type MessageSummary,
  openEventStream,
  waitForLongPolls,
} from './kit/http/api-client.ts'
import { post, request, requestFrom } from './kit/http/http-client.ts'
import { FAULTS, ROOMY_MAILBOXES, runFaults } from './kit/nodes/node-faults.ts'
import {
  assertSharedLimit,
  type Nodes,
  openNodes,
  raceForAddress,
  raceForRequests,
} from './kit/nodes/nodes.ts'
import { type KeyRing, openKeyRing } from './kit/shop/keys.ts'
import { connectSmtp, readGreeting, stuffed } from './kit/smtp/smtp-client.ts'
import { MAIL_OPTIONS } from './kit/store/postgres-stores.ts'
import { waitUntil } from './kit/wait-until.ts'

const LONG = process.env['MAYFLY_TEST_LONG'] !== undefined
const [ROUNDS, CLIENTS, REQUESTS] = LONG ? [20, 200, 300] : [1, 100, 150]
const PLAN = 1_000
const DAY_MS = 86_400_000
// Loopback has no rate limit, but the clients of a trusted proxy do.
const PROXY = '127.0.0.2'
const ADMIN_TOKEN = 'the-admin-token-of-nodes'
const BEARER = { authorization: `Bearer ${ADMIN_TOKEN}` }
const ENV = { MAYFLY_TRUST_PROXY: PROXY, MAYFLY_ADMIN_TOKEN: ADMIN_TOKEN, ...ROOMY_MAILBOXES }

let nodes: Nodes
let ring: KeyRing
let store: Store
beforeAll(async () => {
  // The drain outlasts the test that checks it.
  nodes = await openNodes({ env: (node) => (node === 0 ? { ...ENV, MAYFLY_DRAIN: '10m' } : ENV) })
  const config = { data: nodes.folder, store: nodes.store }
  ring = await openKeyRing({ config, now: () => new Date() })
  store = await openPostgresMail({ ...MAIL_OPTIONS, url: nodes.store })
})
afterAll(async () => {
  await store?.close()
  await ring?.close()
  await nodes?.close()
})

test(`of ${CLIENTS} concurrent requests for one address on three nodes, one succeeds`, async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const counts = await raceForAddress(nodes.urls, `round-${round}`, CLIENTS)
    expect(counts).toStrictEqual({ 200: 1, 409: CLIENTS - 1 })
  }
})

test('the limit of sixty sessions a minute is shared by all nodes', () =>
  assertSharedLimit(nodes, { count: 60, seconds: 1, passes: 200 }, (port, headers) =>
    requestFrom(port, PROXY, { method: 'POST', path: '/api/create-session', headers }),
  ))

test('wrong admin tokens on all nodes add up', () =>
  assertSharedLimit(nodes, { count: 20, seconds: 3, passes: 401 }, (port, headers) => {
    const wrong = { ...headers, authorization: 'Bearer wrong' }
    return requestFrom(port, PROXY, { path: '/metrics', headers: wrong })
  }))

test('a sign-in to the admin page counts on all nodes, and ends on all', async () => {
  const call = (node: number, path: string, headers: Record<string, string>, method = 'GET') =>
    request(`${nodes.urls[node]}/admin/api${path}`, { method, headers })
  const signIn = await call(0, '/sign-in', BEARER, 'POST')
  const [cookie = ''] = (signIn.headers.get('set-cookie') ?? '').split(';')
  expect((await call(1, '/overview', { cookie })).status).toBe(200)
  const origin = nodes.urls[2] ?? ''
  expect((await call(2, '/sign-out', { cookie, origin }, 'POST')).status).toBe(200)
  for (const node of [0, 1, 2]) expect((await call(node, '/sign-in', { cookie })).status).toBe(401)
})

describe('a key used on three nodes at once', () => {
  for (const [left, count] of [[1, REQUESTS], LONG ? [999, 1_200] : [99, REQUESTS]] as const) {
    test(`with ${left} requests left is served ${left} of ${count} times`, async () => {
      await useRemaining(left, count)
    })
  }

  test('is served exactly up to its daily limit', async () => {
    for (let day = 0; day !== today(); ) {
      day = today()
      const key = await ring.issue({ requests: 10 * PLAN, perDay: 100 })
      const counts = await raceForRequests(nodes.urls, key, REQUESTS)
      // At midnight a new day began for the key, so the result proves nothing.
      if (day !== today()) continue
      expect(counts).toStrictEqual({ 200: 100, 429: REQUESTS - 100 })
      expect(await ring.used(key)).toBe(100)
    }
  })

  test('is served no extra requests while Redis is down', async () => {
    await nodes.redis().stop()
    await useRemaining(10, REQUESTS)
    await nodes.redis().start()
  })
})

/** Exactly the remaining requests are served, and the counter ends at the plan's limit. */
async function useRemaining(left: number, count: number): Promise<void> {
  const key = await ring.issue({ requests: PLAN })
  await nodes.query(`update shop.api_key set used = ${PLAN - left} where id = '${key.id}'`)
  const counts = await raceForRequests(nodes.urls, key, count)
  expect(counts).toStrictEqual({ 200: left, 402: count - left })
  expect(await ring.used(key)).toBe(PLAN)
}

function today(): number {
  return Math.trunc(Date.now() / DAY_MS)
}

describe('an operator command takes effect on every node', () => {
  test('adding, deactivating, activating and removing a domain', async () => {
    const domain = 'more.test'
    await done('domain', 'add', domain)
    await waitForEveryNode(async (url) => (await idOf(url, domain)) !== undefined)
    const id = String(await idOf(nodes.urls[0] ?? '', domain))
    const { email, token } = await createSession(nodes.urls[0] ?? '', { domain_id: id })
    const creates = async (url: string) =>
      (await post(`${url}/api/create-session`, { domain_id: id })).status === 200

    await changeDomain(store, domain, { active: false })
    await waitForEveryNode(async (url) => !(await creates(url)))
    await changeDomain(store, domain, { active: true })
    await waitForEveryNode(creates)
    await changeDomain(store, domain, { removed: true })
    await waitForEveryNode(async (url) => !(await creates(url)))

    // Existing sessions of the domain end normally.
    for (const number of nodes.up()) await mail(number, { to: email, subject: `at ${number}` })
    for (const url of nodes.urls) expect((await checkMail(url, token)).length).toBe(3)
  })

  test('blocking a sender', async () => {
    const refuses = async (port: number) => {
      const client = await connectSmtp(port)
      await client.command('EHLO sender.test')
      const { code } = await client.command('MAIL FROM:<a@mail.bad.test>')
      client.close()
      return code === 550
    }
    const everyNode = (is: boolean) =>
      waitUntil(async () => {
        const refused = await Promise.all(nodes.smtpPorts.map(refuses))
        return refused.every((one) => one === is)
      })
    const deps = { store, own: { networks: [], domains: [] }, now: () => new Date() }
    await addEntries(deps, ['bad.test'], {}, print)
    await everyNode(true)
    await removeEntries(deps, ['bad.test'], print)
    await everyNode(false)
  })

  test('issuing and revoking a key', async () => {
    const { stdout } = await done('key', 'issue', '--plan', 'starter', '--json')
    const { id, key } = JSON.parse(stdout) as { id: string; key: string }
    const opens = async (url: string) =>
      (await request(`${url}/emails`, { headers: { apikey: key } })).status === 200
    await waitForEveryNode(opens)
    await done('key', 'revoke', id)
    await waitForEveryNode(async (url) => !(await opens(url)))
    expect(nodes.output(), 'no log has the key').not.toContain(key)
  })
})

test('a token replaced at one node ends the streams and waits of the former one at another', async () => {
  const [here = '', there = ''] = nodes.urls
  const { headers } = await ring.issue()
  const created = await request(`${here}/api/create-session`, { method: 'POST', headers })
  const { email = '', token = '' } = created.body as { email?: string; token?: string }
  const stream = await openEventStream(there, token)
  await stream.waitFor(/^id: /m)
  const other = await createSession(there)
  const both = await openEventStream(there, [other.token, token])
  await both.waitFor(/^id: /m)
  const waiting = request(`${there}/api/check-mail?token=${token}&wait=55`)
  await waitForLongPolls(4, { url: there, headers: BEARER })
  expect((await post(`${here}/sessions/roll-token`, { email }, 'form', headers)).status).toBe(200)
  await stream.waitForEnd()
  expect(stream.received()).toMatch(/event: end/)
  expect((await waiting).status).toBe(401)
  await both.waitFor(/event: end\ndata: \{[^}]*"index":1/)
  await mail(0, { to: email, subject: 'for the new token' })
  await mail(0, { to: other.email, subject: 'for the other mailbox' })
  await both.waitFor(/for the other mailbox/)
  expect(both.received()).not.toMatch(/for the new token/)
  await both.end()
})

describe('a client waiting at one node gets mail received by another', () => {
  test('through Redis alone, even after a FLUSHALL', async () => {
    const env = { MAYFLY_STORE: nodes.store, MAYFLY_REDIS: nodes.redis().url }
    // This node does not poll the store.
    const near = await startApp({ env, intervals: WITHOUT_POLLING })
    onTestFinished(() => near.stop())
    const { email, token } = await near.session()
    for (const subject of ['first', 'second']) {
      const since = (await newest(near.url, token))?.id ?? 0
      const waiting = awaitMail(near.url, token, since)
      await waitForLongPolls(1, near)
      await mail(1, { to: email, subject })
      expect(await waiting).toBe(subject)
      await nodes.redis().run('FLUSHALL')
    }
  })

  test('by polling while Redis is down', async () => {
    const [url = ''] = nodes.urls
    const { email, token } = await createSession(url)
    const waiting = awaitMail(url, token)
    await waitForLongPolls(1, { url, headers: BEARER })
    await nodes.redis().stop()
    await mail(1, { to: email, subject: 'unheard' })
    expect(await waiting).toBe('unheard')
    await nodes.redis().start()
  })
})

// More of them, again and again: nodes-chaos.test.ts.
test('mail acknowledged with 250 is stored unchanged and exactly once, visible on every node, whatever crashes', async () => {
  await runFaults({ nodes, ring }, FAULTS)
}, 560_000)

describe('a node that is shutting down', () => {
  test('completes work in progress and moves its clients and senders to the other nodes', async () => {
    const [url = '', second = '', third = ''] = nodes.urls
    const { email, token } = await createSession(url)
    const client = await connectSmtp(nodes.smtpPorts[0] ?? 0)
    for (const line of ['EHLO a.test', 'MAIL FROM:<a@a.test>', `RCPT TO:<${email}>`, 'DATA'])
      await client.command(line)
    const stream = await openEventStream(url, token)
    await mail(1, { to: email, subject: 'before' })
    await stream.waitFor(/"subject":"before"/)

    const { child } = nodes.node(0)
    child.kill('SIGTERM')
    await stream.waitForEnd()
    expect(stream.received()).toMatch(/: shutting_down\nretry: \d+\n\n$/)
    expect((await request(`${url}/readyz`)).status).toBe(503)
    expect((await request(`${second}/readyz`)).status).toBe(200)
    expect((await newest(url, token))?.subject).toBe('before')
    expect(await readGreeting(nodes.smtpPorts[0] ?? 0)).toMatch(/^421 /)
    client.write(stuffed('Subject: in flight\r\n\r\nx\r\n'))
    expect((await client.readReply()).code).toBe(250)
    expect((await client.readReply()).code).toBe(421)

    const lastId = /(?:.*\nid: (\d+)\n)/s.exec(stream.received())?.[1] ?? ''
    const again = await openEventStream(third, token, { 'last-event-id': lastId })
    await again.waitFor(/"subject":"in flight"/)
    await mail(1, { to: email, subject: 'after' })
    await again.waitFor(/"subject":"after"/)
    // `before` may come again, as an update with its preview.
    const message = /^event: message\nid: \d+\ndata: .*"subject":"([^"]*)"/gm
    const result = [...again.received().matchAll(message)].map(([, subject]) => subject)
    expect(result).toStrictEqual(['in flight', 'after'])
    await again.end()
    expect(child.exitCode).toBe(null)
  })

  test('ends with status 0', async () => {
    const ended = [1, 2].map((number) => nodes.kill(number, 'SIGTERM'))
    expect(await Promise.all(ended)).toStrictEqual([0, 0])
  })
})

const print = () => {}

async function done(...args: string[]) {
  const result = await nodes.command(...args)
  expect(result.status, result.stderr).toBe(0)
  return result
}

async function waitForEveryNode(holds: (url: string) => Promise<boolean>): Promise<void> {
  for (const url of nodes.urls) await waitUntil(() => holds(url))
}

async function idOf(url: string, domain: string): Promise<number | undefined> {
  const { body } = await request(`${url}/api/domains`)
  const domains = body['domains'] as { id: number; domain: string }[]
  return domains.find((one) => one.domain === domain)?.id
}

async function mail(node: number, { to, subject }: { to: string; subject: string }): Promise<void> {
  const client = await connectSmtp(nodes.smtpPorts[node] ?? 0)
  const { code } = await client.send({ to: [to], raw: `Subject: ${subject}\r\n\r\nx\r\n` })
  client.close()
  expect(code).toBe(250)
}

/** The mail received during a long poll. The timeout is shorter than the poll, which would read the store at its end. */
async function awaitMail(url: string, token: string, since = 0): Promise<unknown> {
  const query = `token=${token}&since_id=${since}&wait=55`
  const init = { signal: AbortSignal.timeout(40_000) }
  const { body } = await request(`${url}/api/check-mail?${query}`, init)
  return (body['messages'] as MessageSummary[])[0]?.subject
}

async function newest(url: string, token: string) {
  return (await checkMail(url, token))[0]
}
