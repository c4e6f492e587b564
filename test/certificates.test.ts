import type { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import { describe, expect, type TestContext, test } from 'vitest'
import { expectReply, openClient } from '../src/smtp/testing/dialogue.ts'
import { type App, startApp } from './kit/app/app.ts'
import { openPebble } from './kit/programs/pebble.ts'
import { freePorts } from './kit/programs/server-process.ts'
import { tempFolder } from './kit/store/stores.ts'
import { waitUntil } from './kit/wait-until.ts'

const DAY = 86_400
const LONG = process.env['MAYFLY_TEST_LONG'] !== undefined

type PebbleOptions = Partial<Parameters<typeof openPebble>[0]>

/** What one test needs. They run at the same time: most of it is waiting for the CA. */
async function openStage({ onTestFinished }: TestContext, options: PebbleOptions = {}) {
  const [http = 0, https = 0] = await freePorts(2)
  const folder = tempFolder()
  onTestFinished(folder.remove)
  const ca = await openPebble({ httpPort: http, tlsPort: https, ...options })
  onTestFinished(ca.close)

  async function start(env = {}): Promise<App> {
    const app = await startApp({
      // Removed at the end of each test.
      folder: { path: folder.path, remove: () => {} },
      env: {
        MAYFLY_HTTP_PORT: String(http),
        MAYFLY_HTTPS_PORT: String(https),
        MAYFLY_BASE_URL: `https://box.test:${https}`,
        MAYFLY_SMTP_HOSTNAME: 'mx.box.test',
        MAYFLY_ACME: 'on',
        MAYFLY_ACME_EMAIL: 'ann@box.test',
        MAYFLY_ACME_DIRECTORY: ca.directory,
        MAYFLY_ACME_CA_FILE: ca.caFile,
        ...env,
      },
      acmeLookMs: 100,
    })
    onTestFinished(() => app.stop())
    return app
  }

  async function handshake(servername: string, more = {}): Promise<TLSSocket> {
    const target = { port: https, host: '127.0.0.1', servername, rejectUnauthorized: false }
    const socket = connect({ ...target, ...more })
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

  const untilIssued = (name: string) =>
    waitUntil(async () => {
      const { issuer, subjectAltName } = await served(name)
      return /Pebble/.test(issuer) && subjectAltName === `DNS:${name}`
    })

  /** What is remembered about a name. */
  function attempts(name: string): { failures: number; nextAt: number; error: string } {
    const file = join(folder.path, 'tls', `${name}.attempts.json`)
    const none = { failures: 0, nextAt: 0, error: '' }
    return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : none
  }

  return { ca, path: folder.path, https, start, handshake, served, untilIssued, attempts }
}

async function startTls(port: number) {
  const client = openClient(port)
  await expectReply(client, 'the greeting', 220)
  client.send('STARTTLS\r\n')
  await expectReply(client, 'STARTTLS', 220)
  return { client, socket: await client.secure() }
}

describe.concurrent('with MAYFLY_ACME=on', () => {
  // Alone: services of one process share their metrics.
  test('every name gets a certificate, for HTTPS and STARTTLS, and keeps it in the data directory', {
    concurrent: false,
  }, async (context) => {
    const { ca, path, https, start, handshake, untilIssued } = await openStage(context)
    const { smtpPort } = await start({ MAYFLY_MTA_STS: 'testing' })
    const names = ['box.test', 'mx.box.test', 'mta-sts.box.test', 'mta-sts.pool.test']
    for (const name of names) await untilIssued(name)
    const root = await ca.root()
    for (const servername of names) {
      const socket = await handshake(servername, { rejectUnauthorized: true, ca: root })
      expect(socket.authorized).toBe(true)
      socket.destroy()
    }
    const { client, socket } = await startTls(smtpPort)
    expect(socket.getPeerX509Certificate()?.subjectAltName).toBe('DNS:mx.box.test')
    client.socket.destroy()

    const tls = join(path, 'tls')
    const files = readdirSync(tls)
    expect(files.filter((file) => file.endsWith('.pem')).sort()).toStrictEqual(
      names.map((name) => `${name}.pem`).sort(),
    )
    for (const file of files) expect(statSync(join(tls, file)).mode & 0o777).toBe(0o600)

    const policy = await get(https, 'mta-sts.box.test', '/.well-known/mta-sts.txt', root)
    expect(policy.body).toMatch(/^mx: mx\.box\.test\r?$/m)
    expect(policy.headers['strict-transport-security']).toMatch(/^max-age=/)
    for (const name of names) {
      await expect
        .poll(async () => (await get(https, 'box.test', '/metrics', root)).body)
        .toMatch(
          new RegExp(`^mayfly_certificate_expiry_timestamp_seconds\\{name="${name}"\\} \\d+$`, 'm'),
        )
    }
  })

  test('a certificate is renewed with the same key before it expires; connections stay open', async (context) => {
    const { start, handshake, served, untilIssued } = await openStage(context)
    const { smtpPort, moveClock } = await start()
    await untilIssued('box.test')
    await untilIssued('mx.box.test')
    const before = await served('box.test')
    const socket = await handshake('box.test')
    const { client } = await startTls(smtpPort)
    moveClock(61 * DAY)
    await waitUntil(async () => {
      // Without requests it would be closed after a while.
      await expectLive(socket)
      return (await served('box.test')).fingerprint256 !== before.fingerprint256
    })
    const after = await served('box.test')
    expect(after.publicKey.equals(before.publicKey)).toBe(true)
    await expectLive(socket)
    socket.destroy()
    client.send('NOOP\r\n')
    await expectReply(client, 'NOOP', 250)
    client.socket.destroy()
    // Once: the clock is wrong now, and the next certificate looks as old.
    await waitUntil(async () => (await served('mx.box.test')).validFromDate >= before.validFromDate)
    expect((await served('box.test')).fingerprint256).toBe(after.fingerprint256)
  })

  test('a name that the CA refuses does not affect the others, and waits for its next attempt', async (context) => {
    const stage = await openStage(context, { blocked: ['pool.test'] })
    const { start, served, untilIssued, attempts } = stage
    await start({ MAYFLY_MTA_STS: 'testing' })
    for (const name of ['box.test', 'mx.box.test', 'mta-sts.box.test']) await untilIssued(name)
    await waitUntil(() => /rejectedIdentifier/.test(attempts('mta-sts.pool.test').error))
    const { failures, nextAt } = attempts('mta-sts.pool.test')
    expect(failures).toBe(1)
    expect(nextAt).toBeGreaterThan(Date.now())
    expect((await served('mta-sts.pool.test')).subjectAltName).toBe('DNS:box.test')
  })

  test('if port 80 cannot be reached, port 443 is used without a wait', async (context) => {
    const [closed = 0] = await freePorts(1)
    const { start, untilIssued } = await openStage(context, { httpPort: closed })
    await start()
    await untilIssued('box.test')
    await untilIssued('mx.box.test')
  })

  test('a start does not wait for the CA, nor does a restart repeat a failed attempt', async (context) => {
    const { ca, start, served, untilIssued, attempts } = await openStage(context)
    await ca.stop()
    const first = await start()
    expect(await (await fetch(`${first.url}/livez`)).json()).toMatchObject({ status: 'success' })
    await waitUntil(() => /no response from 127\.0\.0\.1/.test(attempts('box.test').error))
    // The installation's own certificate is used meanwhile.
    expect((await served('box.test')).subject).toBe('CN=mx.box.test')
    const before = attempts('box.test')
    await first.stop()
    await ca.restart()
    const second = await start()
    await fetch(`${second.url}/livez`)
    expect(attempts('box.test')).toStrictEqual(before)
    second.moveClock(180)
    await untilIssued('box.test')
  })

  test.runIf(LONG)('an account that the CA has forgotten is registered again', async (context) => {
    const { ca, start, served, untilIssued } = await openStage(context)
    const { moveClock } = await start()
    await untilIssued('box.test')
    const { issuer } = await served('box.test')
    await ca.stop()
    await ca.restart()
    moveClock(61 * DAY)
    await waitUntil(async () => (await served('box.test')).issuer !== issuer)
  })

  test.runIf(LONG)("the operator's certificate stays that of STARTTLS", async (context) => {
    const { path, start, untilIssued } = await openStage(context)
    const file = join(path, 'operator.pem')
    const { certificateFor } = await import('./kit/http/https-proxy.ts')
    writeFileSync(file, certificateFor('operator.test'))
    const env = { MAYFLY_SMTP_TLS_CERT: file, MAYFLY_SMTP_TLS_KEY: file }
    const { smtpPort } = await start(env)
    await untilIssued('box.test')
    const { client, socket } = await startTls(smtpPort)
    expect(socket.getPeerX509Certificate()?.subject).toBe('CN=operator.test')
    client.socket.destroy()
    expect(readdirSync(join(path, 'tls'))).not.toContain('mx.box.test.pem')
  })
})

async function expectLive(socket: TLSSocket): Promise<void> {
  socket.write('HEAD /livez HTTP/1.1\r\nHost: box.test\r\n\r\n')
  expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 200/)
}

interface Answer {
  status: number | undefined
  headers: Record<string, unknown>
  body: string
}

function get(port: number, host: string, path: string, ca: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const target = {
      host: '127.0.0.1',
      port,
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
