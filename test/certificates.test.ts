import type { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { expectReply, openClient } from '../src/smtp/testing/dialogue.ts'
import { type App, startApp } from './kit/app/app.ts'
import { openPebble, type Pebble } from './kit/programs/pebble.ts'
import { freePorts } from './kit/programs/server-process.ts'
import { tempFolder } from './kit/store/stores.ts'
import { waitUntil } from './kit/wait-until.ts'

const DAY = 86_400
const LONG = process.env['MAYFLY_TEST_LONG'] !== undefined

let pebble: Pebble | undefined
let app: App | undefined
let ports = { http: 0, https: 0 }
let folder: ReturnType<typeof tempFolder>

beforeEach(async () => {
  const [http = 0, https = 0] = await freePorts(2)
  ports = { http, https }
  folder = tempFolder()
})
afterEach(async () => {
  await app?.stop()
  await pebble?.close()
  folder.remove()
  app = undefined
  pebble = undefined
})

type PebbleOptions = Partial<Parameters<typeof openPebble>[0]>

async function openCa(options: PebbleOptions = {}): Promise<Pebble> {
  pebble = await openPebble({ httpPort: ports.http, tlsPort: ports.https, ...options })
  return pebble
}

async function start(ca: Pick<Pebble, 'directory' | 'caFile'>, env = {}): Promise<App> {
  app = await startApp({
    // Removed at the end of each test.
    folder: { path: folder.path, remove: () => {} },
    env: {
      MAYFLY_HTTP_PORT: String(ports.http),
      MAYFLY_HTTPS_PORT: String(ports.https),
      MAYFLY_BASE_URL: `https://box.test:${ports.https}`,
      MAYFLY_SMTP_HOSTNAME: 'mx.box.test',
      MAYFLY_ACME: 'on',
      MAYFLY_ACME_EMAIL: 'ann@box.test',
      MAYFLY_ACME_DIRECTORY: ca.directory,
      MAYFLY_ACME_CA_FILE: ca.caFile,
      ...env,
    },
    acmeLookMs: 100,
  })
  return app
}

async function handshake(servername: string, options = {}): Promise<TLSSocket> {
  const target = { port: ports.https, host: '127.0.0.1', servername, rejectUnauthorized: false }
  const socket = connect({ ...target, ...options })
  await once(socket, 'secureConnect')
  return socket
}

/** The certificate that HTTPS serves for a name. */
async function served(name: string): Promise<X509Certificate> {
  const socket = await handshake(name)
  const certificate = socket.getPeerX509Certificate()
  socket.destroy()
  if (!certificate) throw new Error('no certificate')
  return certificate
}
const isIssued = async (name: string) => {
  const { issuer, subjectAltName } = await served(name)
  return /Pebble/.test(issuer) && subjectAltName === `DNS:${name}`
}

async function startTls(port: number) {
  const client = openClient(port)
  await expectReply(client, 'the greeting', 220)
  client.send('STARTTLS\r\n')
  await expectReply(client, 'STARTTLS', 220)
  return { client, socket: await client.secure() }
}

/** What is remembered about a name. */
function attempts(name: string): { failures: number; nextAt: number; error: string } {
  const file = join(folder.path, 'tls', `${name}.attempts.json`)
  const none = { failures: 0, nextAt: 0, error: '' }
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : none
}

describe('with MAYFLY_ACME=on', () => {
  test('every name gets a certificate, for HTTPS and STARTTLS, and keeps it in the data directory', async () => {
    const ca = await openCa()
    const { smtpPort } = await start(ca, { MAYFLY_MTA_STS: 'testing' })
    const names = ['box.test', 'mx.box.test', 'mta-sts.box.test', 'mta-sts.pool.test']
    for (const name of names) await waitUntil(() => isIssued(name))
    const root = await ca.root()
    for (const servername of names) {
      const socket = await handshake(servername, { rejectUnauthorized: true, ca: root })
      expect(socket.authorized).toBe(true)
      socket.destroy()
    }
    const { client, socket } = await startTls(smtpPort)
    expect(socket.getPeerX509Certificate()?.subjectAltName).toBe('DNS:mx.box.test')
    client.socket.destroy()

    const tls = join(folder.path, 'tls')
    const files = readdirSync(tls)
    expect(files.filter((file) => file.endsWith('.pem')).sort()).toStrictEqual(
      names.map((name) => `${name}.pem`).sort(),
    )
    for (const file of files) expect(statSync(join(tls, file)).mode & 0o777).toBe(0o600)

    const policy = await get('mta-sts.box.test', '/.well-known/mta-sts.txt', root)
    expect(policy.body).toMatch(/^mx: mx\.box\.test\r?$/m)
    expect(policy.headers['strict-transport-security']).toMatch(/^max-age=/)
    const metrics = await get('box.test', '/metrics', root)
    for (const name of names) {
      expect(metrics.body).toMatch(
        new RegExp(`^mayfly_certificate_expiry_timestamp_seconds\\{name="${name}"\\} \\d+$`, 'm'),
      )
    }
  })

  test('a certificate is renewed with the same key before it expires; connections stay open', async () => {
    const ca = await openCa()
    const { smtpPort, moveClock } = await start(ca)
    await waitUntil(() => isIssued('box.test'))
    await waitUntil(() => isIssued('mx.box.test'))
    const before = await served('box.test')
    const socket = await handshake('box.test')
    const { client } = await startTls(smtpPort)
    moveClock(61 * DAY)
    await waitUntil(async () => (await served('box.test')).fingerprint256 !== before.fingerprint256)
    const after = await served('box.test')
    expect(after.publicKey.equals(before.publicKey)).toBe(true)
    socket.write('GET /livez HTTP/1.1\r\nHost: box.test\r\n\r\n')
    expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 200/)
    socket.destroy()
    client.send('NOOP\r\n')
    await expectReply(client, 'NOOP', 250)
    client.socket.destroy()
    // Once: the clock is wrong now, and the next certificate looks as old.
    await waitUntil(async () => (await served('mx.box.test')).validFromDate >= before.validFromDate)
    expect((await served('box.test')).fingerprint256).toBe(after.fingerprint256)
  })

  test('a name that the CA refuses does not affect the others, and waits for its next attempt', async () => {
    const ca = await openCa({ blocked: ['pool.test'] })
    await start(ca, { MAYFLY_MTA_STS: 'testing' })
    for (const name of ['box.test', 'mx.box.test', 'mta-sts.box.test']) {
      await waitUntil(() => isIssued(name))
    }
    await waitUntil(() => /rejectedIdentifier/.test(attempts('mta-sts.pool.test').error))
    const { failures, nextAt } = attempts('mta-sts.pool.test')
    expect(failures).toBe(1)
    expect(nextAt).toBeGreaterThan(Date.now())
    expect((await served('mta-sts.pool.test')).subjectAltName).toBe('DNS:box.test')
  })

  test('if port 80 cannot be reached, port 443 is used without a wait', async () => {
    const [closed = 0] = await freePorts(1)
    const ca = await openCa({ httpPort: closed })
    await start(ca)
    await waitUntil(() => isIssued('box.test'))
    await waitUntil(() => isIssued('mx.box.test'))
  })

  test('a start does not wait for the CA, nor does a restart repeat a failed attempt', async () => {
    const ca = await openCa()
    await ca.stop()
    const first = await start(ca)
    expect(await (await fetch(`${first.url}/livez`)).json()).toMatchObject({ status: 'success' })
    await waitUntil(() => /no response from 127\.0\.0\.1/.test(attempts('box.test').error))
    // The installation's own certificate is used meanwhile.
    expect((await served('box.test')).subject).toBe('CN=mx.box.test')
    const before = attempts('box.test')
    await first.stop()
    await ca.restart()
    const second = await start(ca)
    await fetch(`${second.url}/livez`)
    expect(attempts('box.test')).toStrictEqual(before)
    second.moveClock(180)
    await waitUntil(() => isIssued('box.test'))
  })

  test.runIf(LONG)('an account that the CA has forgotten is registered again', async () => {
    const ca = await openCa()
    const { moveClock } = await start(ca)
    await waitUntil(() => isIssued('box.test'))
    const { issuer } = await served('box.test')
    await ca.stop()
    await ca.restart()
    moveClock(61 * DAY)
    await waitUntil(async () => (await served('box.test')).issuer !== issuer)
  })

  test.runIf(LONG)("the operator's certificate stays that of STARTTLS", async () => {
    const ca = await openCa()
    const file = join(folder.path, 'operator.pem')
    const { certificateFor } = await import('./kit/http/https-proxy.ts')
    writeFileSync(file, certificateFor('operator.test'))
    const env = { MAYFLY_SMTP_TLS_CERT: file, MAYFLY_SMTP_TLS_KEY: file }
    const { smtpPort } = await start(ca, env)
    await waitUntil(() => isIssued('box.test'))
    const { client, socket } = await startTls(smtpPort)
    expect(socket.getPeerX509Certificate()?.subject).toBe('CN=operator.test')
    client.socket.destroy()
    expect(readdirSync(join(folder.path, 'tls'))).not.toContain('mx.box.test.pem')
  })
})

interface Answer {
  status: number | undefined
  headers: Record<string, unknown>
  body: string
}

function get(host: string, path: string, ca: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const target = {
      host: '127.0.0.1',
      port: ports.https,
      path,
      servername: host,
      ca,
      agent: false,
    }
    const sent = request({ ...target, headers: { host } }, async (response) => {
      const body = Buffer.concat(await response.toArray()).toString()
      resolve({ status: response.statusCode, headers: response.headers, body })
    })
    sent.on('error', reject).end()
  })
}
