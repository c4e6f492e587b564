import { execFile } from 'node:child_process'
import { request } from 'node:http'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp } from './kit/app/app.ts'
import { checkMail, createSession, openEventStream } from './kit/http/api-client.ts'
import { openHaproxy } from './kit/http/haproxy.ts'
import { program } from './kit/programs/programs.ts'
import { connectSmtp, readGreeting } from './kit/smtp/smtp-client.ts'
import { openPostgres } from './kit/store/postgres.ts'

// Two nodes on one PostgreSQL behind a real HAProxy, with the configuration from deploy/.

let postgres: Awaited<ReturnType<typeof openPostgres>>
let one: Awaited<ReturnType<typeof node>>
let two: Awaited<ReturnType<typeof node>>
let balancer: Awaited<ReturnType<typeof openHaproxy>>
const stopped: Promise<void>[] = []

beforeAll(async () => {
  postgres = await openPostgres()
  const url = postgres.urlOf(await postgres.database())
  ;[one, two] = await Promise.all([node(url, 'one.test'), node(url, 'two.test')])
  balancer = await openHaproxy({ node1: one, node2: two })
  await balancer.waitForStates({ 'http_nodes/node1': 'UP', 'http_nodes/node3': 'DOWN' })
})

afterAll(async () => {
  await balancer?.close()
  await Promise.all(stopped)
  await postgres?.close()
})

async function node(store: string, hostname: string) {
  return await startApp({
    env: {
      MAYFLY_STORE: store,
      MAYFLY_SMTP_HOSTNAME: hostname,
      MAYFLY_SMTP_PROXY_FROM: '127.0.0.1',
      MAYFLY_TRUST_PROXY: '127.0.0.1',
      MAYFLY_DRAIN: '4s',
    },
  })
}

test('mail through the load balancer records the client’s own IP address', async () => {
  const { email, token } = await createSession(balancer.url)
  const from = ['--server', `127.0.0.1:${balancer.smtpPort}`, '--local-interface', '127.0.0.7']
  await promisify(execFile)(program('swaks'), [...from, '--to', email, '--hide-all'])
  const [message] = await checkMail(balancer.url, token)
  const raw = await fetch(`${balancer.url}/api/raw-mail?token=${token}&id=${message?.id}`)
  expect(await raw.text()).toMatch(/^Received: from [^\n]*\[127\.0\.0\.7\]/m)
})

test('rate limits apply to the client’s own IP address, whatever X-Forwarded-For it sends', async () => {
  const ask = (localAddress: string, forwarded: string) =>
    statusOf(`${balancer.url}/api/checkout`, {
      method: 'POST',
      localAddress,
      headers: { 'x-forwarded-for': forwarded },
    })
  // 30 per minute on each of two nodes: without Redis, every node counts on its own.
  const mine = await Promise.all(
    Array.from({ length: 80 }, (_, at) => ask('127.0.0.8', `192.0.2.${at}`)),
  )
  expect(mine, 'a made-up address had an allowance of its own').toContain(429)
  expect(await ask('127.0.0.9', '127.0.0.8')).not.toBe(429)
})

test('a stream through the load balancer delivers mail received by any node', async () => {
  const { email, token } = await createSession(balancer.url)
  const stream = await openEventStream(balancer.url, token)
  const nodes = new Set<string>()
  for (const subject of ['first', 'second']) {
    const client = await connectSmtp(balancer.smtpPort)
    nodes.add((await client.command('EHLO sender.test')).text.slice(4, 12))
    await client.send({ to: [email], raw: `Subject: ${subject}\r\n\r\nhello\r\n` })
    // The first connection stays open, so that the second one goes to the other node.
    await stream.waitFor(new RegExp(`"subject":"${subject}"`))
  }
  await stream.end()
  expect([...nodes].sort()).toStrictEqual(['one.test', 'two.test'])
})

test('metrics are not available through the load balancer', async () => {
  expect(await statusOf(`${one.url}/metrics`)).toBe(200)
  expect(await statusOf(`${balancer.url}/metrics`)).toBe(404)
  expect(await statusOf(`${balancer.url}/%6detrics`)).toBe(404)
})

test('a draining node gets no new connections, and no client is rejected', async () => {
  stopped.push(one.stop())
  await balancer.waitForStates({ 'http_nodes/node1': 'DOWN', 'smtp_nodes/node1': 'DOWN' })
  expect(await statusOf(`${one.url}/readyz`), 'it serves still, and says that it stops').toBe(503)
  for (let client = 0; client < 10; client += 1) {
    expect(await readGreeting(balancer.smtpPort)).toMatch(/^220 two\.test/)
    expect(await statusOf(`${balancer.url}/api/domains`)).toBe(200)
  }
})

test('if no node is ready, a live one answers senders with a temporary error', async () => {
  stopped.push(two.stop())
  await balancer.waitForStates({ 'smtp_nodes/node2': 'DOWN', 'http_unready/node2': 'UP' })
  expect(await readGreeting(balancer.smtpPort)).toMatch(/^421 /)
  expect(await statusOf(`${balancer.url}/readyz`)).toBe(503)
})

interface RequestSettings {
  method?: string
  localAddress?: string
  headers?: Record<string, string>
}

/** Uses a connection of its own: fetch reuses connections and cannot set the local address. */
function statusOf(url: string, options: RequestSettings = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { agent: false, ...options }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    outgoing.on('error', reject).end()
  })
}
