import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type App, startApp } from './kit/app/app.ts'
import { openPebble, type Pebble } from './kit/programs/pebble.ts'
import { freePorts } from './kit/programs/server-process.ts'
import { openPostgres, type Postgres } from './kit/store/postgres.ts'
import { waitUntil } from './kit/wait-until.ts'

// Two nodes behind a balancer: the CA may reach either of them, whichever orders the certificate.

const DAY = 86_400

let postgres: Postgres
let pebble: Pebble
let apps: App[] = []
let servers: Server[] = []
let httpPorts: number[] = []
let httpsPorts: number[] = []
const reached = { http: new Set<number>(), https: new Set<number>() }

beforeAll(async () => {
  postgres = await openPostgres()
  const store = postgres.urlOf(await postgres.database())
  const ports = await freePorts(6)
  const [httpPort = 0, tlsPort = 0, ...own] = ports
  httpPorts = own.slice(0, 2)
  httpsPorts = own.slice(2)
  servers = [
    await openBalancer(httpPort, httpPorts, reached.http),
    await openBalancer(tlsPort, httpsPorts, reached.https),
  ]
  pebble = await openPebble({ httpPort, tlsPort })
  // Until both nodes can answer it.
  await pebble.stop()
  const start = (node: number) =>
    startApp({
      env: {
        MAYFLY_STORE: store,
        MAYFLY_HTTP_PORT: String(httpPorts[node]),
        MAYFLY_HTTPS_PORT: String(httpsPorts[node]),
        MAYFLY_BASE_URL: `https://box.test:${tlsPort}`,
        MAYFLY_SMTP_HOSTNAME: 'mx.box.test',
        MAYFLY_ACME: 'on',
        MAYFLY_ACME_EMAIL: 'ann@box.test',
        MAYFLY_ACME_DIRECTORY: pebble.directory,
        MAYFLY_ACME_CA_FILE: pebble.caFile,
      },
      acmeLookMs: 100,
    })
  apps = await Promise.all([start(0), start(1)])
  await pebble.restart()
  for (const app of apps) app.moveClock(600)
})
afterAll(async () => {
  for (const app of apps) await app.stop()
  for (const server of servers) server.close()
  await pebble.close()
  await postgres.close()
})

/** Passes each connection to the next port. */
async function openBalancer(port: number, targets: number[], used: Set<number>): Promise<Server> {
  let next = 0
  const server = createServer((client: Socket) => {
    const target = targets[next % targets.length] ?? 0
    next += 1
    used.add(target)
    const upstream = connect(target, '127.0.0.1')
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.on('error', () => to.destroy()).pipe(to)
    }
  })
  await once(server.listen(port, '127.0.0.1'), 'listening')
  return server
}

async function fingerprint(port: number | undefined, servername: string) {
  const socket = connectTls({ port: port ?? 0, servername, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const certificate = socket.getPeerX509Certificate()
  socket.destroy()
  const isIssued =
    certificate?.subjectAltName === `DNS:${servername}` && /Pebble/.test(certificate.issuer)
  return isIssued ? certificate.fingerprint256 : undefined
}

/** What both nodes serve, once it is the same and another one than before. */
async function servedByBoth(name: string, before?: string): Promise<string> {
  let found: string | undefined
  await waitUntil(async () => {
    const [first, second] = await Promise.all(httpsPorts.map((port) => fingerprint(port, name)))
    found = first
    return first !== undefined && first === second && first !== before
  })
  return String(found)
}

test('one node orders the certificates, either answers the CA, and both serve them', async () => {
  const first = await servedByBoth('box.test')
  await servedByBoth('mx.box.test')
  // The CA looks at a name three times; the attempt before failed, so this is the other challenge.
  expect([reached.https.size, reached.http.size]).toStrictEqual([2, 0])

  for (const app of apps) app.moveClock(61 * DAY)
  expect(await servedByBoth('box.test', first)).not.toBe(first)
})

test('after the node that renews has stopped, the other one does, by the port without TLS', async () => {
  const before = await servedByBoth('box.test')
  servers[1]?.close()
  await apps.shift()?.stop()
  httpPorts.shift()
  httpsPorts.shift()
  // tls-alpn-01 fails; http-01 is next.
  for (const app of apps) app.moveClock(61 * DAY)
  await waitUntil(async () => {
    for (const app of apps) app.moveClock(600)
    const found = await fingerprint(httpsPorts[0], 'box.test')
    return found !== undefined && found !== before
  })
  expect([...reached.http]).toStrictEqual(httpPorts)
})
