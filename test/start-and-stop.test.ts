import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { openMigrated } from '../src/store/sqlite/migrate.ts'
import {
  freeServicePorts,
  type ServiceProcess,
  SOURCE,
  type SpawnOptions,
  spawnService,
} from './kit/app/service-process.ts'
import { checkMail, createSession } from './kit/http/api-client.ts'
import { request } from './kit/http/http-client.ts'
import { connectSmtp, readGreeting, stuffed } from './kit/smtp/smtp-client.ts'
import { seriesSums } from './kit/store/series-sums.ts'
import { setSchemaVersion } from './kit/store/sql.ts'
import { tempFolder } from './kit/store/stores.ts'
import { waitUntil } from './kit/wait-until.ts'

const TRANSACTIONS = 50

let folder: ReturnType<typeof tempFolder>
let ports: { http: number; smtp: number }
const running: ServiceProcess[] = []
beforeEach(async () => {
  folder = tempFolder()
  ports = await freeServicePorts()
})
afterEach(async () => {
  for (const served of running.splice(0))
    if (served.child.exitCode === null) await served.kill('SIGKILL')
  folder.remove()
})
const serve = async (
  options: Partial<Pick<SpawnOptions, 'ports' | 'env' | 'eager' | 'command'>> = {},
) => {
  const served = await spawnService({ folder: folder.path, ports, ...options })
  running.push(served)
  return served
}

const MEMORY_FLAGS = /--max-semi-space-size=\d.* serve .*MALLOC_ARENA_MAX=\d/

/** The command and the environment that a process was started with. */
function started(pid: number): string {
  const parts = ['cmdline', 'environ'].map((name) => readFileSync(`/proc/${pid}/${name}`, 'utf8'))
  return parts.join('').replaceAll('\0', ' ')
}

test('a stop requested while the last ports are being opened is graceful', async () => {
  const served = await serve({
    command: [process.execPath, SOURCE, 'serve'],
    env: { MAYFLY_HTTP_THREADS: '4' },
    eager: true,
  })
  expect(started(served.pid)).toMatch(MEMORY_FLAGS)
  expect(await served.kill('SIGTERM')).toBe(0)
  expect(served.output()).not.toMatch(/parser process/)
})

test('the service stops if its launcher, which an older Node.js runs, is killed', async () => {
  const old =
    "Object.defineProperties(process, { versions: { value: { node: '20.1.0' } }, execPath: { value: '/bin/sh' } })"
  const launcher = await spawnService({
    folder: folder.path,
    ports,
    command: [process.execPath, '--import', `data:text/javascript,${old}`, SOURCE, 'serve'],
  })
  const service = Number(
    readFileSync(`/proc/${launcher.pid}/task/${launcher.pid}/children`, 'utf8'),
  )
  onTestFinished(() => {
    if (existsSync(`/proc/${service}`)) process.kill(service, 'SIGKILL')
  })
  expect(started(service)).toMatch(MEMORY_FLAGS)
  await launcher.kill('SIGKILL')
  await waitUntil(() => launcher.output().includes('"stopped"'))
})

describe('the service refuses to start, with a clear line', () => {
  test('when another process serves the same data directory, or uses the port', async () => {
    await serve()
    const other = { ...(await freeServicePorts()), http: ports.http }
    await expect(serve({ ports: await freeServicePorts() })).rejects.toThrow(
      /with 1 at once:\nThe data folder [^\n]* is in use by another mayfly[^\n]*\n$/,
    )
    const elsewhere = { MAYFLY_DATA: `${folder.path}/other`, MAYFLY_HTTP_THREADS: '2' }
    // /livez of the first service answers on this port, so the failure shows as an early exit.
    const second = await spawnService({ folder: folder.path, ports: other, env: elsewhere })
    expect(await second.exited).toBe(1)
    expect(second.output()).toMatch(/EADDRINUSE.*MAYFLY_HTTP_PORT/)
  })

  test('when the data directory is a file, or the certificate does not exist', async () => {
    const file = `${folder.path}/file`
    writeFileSync(file, '')
    await expect(serve({ env: { MAYFLY_DATA: file } })).rejects.toThrow(
      /at once:\n[^\n]*\/file[^\n]*\n$/,
    )
    const env = { MAYFLY_SMTP_TLS_CERT: '/no/cert.pem', MAYFLY_SMTP_TLS_KEY: '/no/key.pem' }
    for (const threads of ['1', '2']) {
      const cause = serve({ env: { ...env, MAYFLY_SMTP_THREADS: threads } })
      await expect(cause).rejects.toThrow(/at once:\n[^\n]*\/no\/[^\n]*\n$/)
    }
  })

  test('when the data is newer than the program', async () => {
    openMigrated(folder.path, 'mail').close()
    await setSchemaVersion({ store: 'sqlite:', data: folder.path }, 'mail', 999)
    await expect(serve()).rejects.toThrow(/mail\.db has schema 999/)
  })

  test('when PostgreSQL is unreachable, without printing its password', async () => {
    const env = { MAYFLY_STORE: 'postgres://mayfly:canary@127.0.0.1:1/mayfly' }
    await expect(serve({ env })).rejects.toSatisfy(({ message }: Error) => {
      expect(message).toMatch(
        /at once:\nPostgreSQL cannot be reached: [^\n]*127\.0\.0\.1:1\. Start PostgreSQL[^\n]*\n$/,
      )
      return !message.includes('canary')
    })
  })

  test('when settings are invalid, listing all of them', async () => {
    const env = { MAYFLY_SESSION_TTL: 'soon', MAYFLY_HTTP_THREADS: '0' }
    await expect(serve({ env })).rejects.toThrow(
      /with 1 at once:\nInvalid settings:\n {2}MAYFLY_HTTP_THREADS: .*\n {2}MAYFLY_SESSION_TTL: .*\n$/,
    )
  })
})

describe('a stop', () => {
  test('completes mail in progress, exits with 0, and loses none', async () => {
    const served = await serve()
    const box = await createSession(served.url)
    const clients = await Promise.all(
      Array.from({ length: TRANSACTIONS }, async (_, index) => {
        const client = await connectSmtp(served.smtpPort)
        await client.command('EHLO a.test')
        await client.command('MAIL FROM:<a@a.test>')
        await client.command(`RCPT TO:<${box.email}>`)
        expect((await client.command('DATA')).code).toBe(354)
        client.write(`Subject: mail ${index}\r\n`)
        return client
      }),
    )
    const idle = await connectSmtp(served.smtpPort)
    await idle.command('EHLO idle.test')

    const ended = served.kill('SIGTERM')
    expect((await idle.readReply()).code, 'an idle client is told to come back').toBe(421)
    const replies = await Promise.all(
      clients.map((client, index) => {
        client.write(stuffed(`X-Index: ${index}\r\n\r\nthe rest\r\n`))
        return client.readReply()
      }),
    )
    expect(await ended).toBe(0)
    const stored = replies.flatMap(({ code }, index) => (code === 250 ? [`mail ${index}`] : []))
    expect(stored.length, 'each of them was finished').toBe(TRANSACTIONS)

    const again = await serve()
    const subjects = (await checkMail(again.url, box.token, '&limit=500')).map((one) => one.subject)
    expect(subjects.sort()).toStrictEqual(stored.sort())
    expect(await seriesSums(folder.path), 'the last minute').toStrictEqual({ stored: TRANSACTIONS })
  })

  test('drains first: not ready, but serving, until load balancers have noticed', async () => {
    const silent = createSocket('udp4').bind(0, '127.0.0.1')
    await once(silent, 'listening')
    const served = await serve({
      env: {
        MAYFLY_DRAIN: '10m',
        MAYFLY_HTTP_THREADS: '2',
        MAYFLY_ADMIN_TOKEN: 'secret',
        MAYFLY_DNS: `127.0.0.1:${silent.address().port}`,
      },
    })
    const headers = { authorization: 'Bearer secret' }
    const checks = () => request(`${served.url}/admin/api/checks`, { headers })
    const runChecks = () =>
      request(`${served.url}/admin/api/checks/run`, { method: 'POST', headers })
    const run = runChecks()
    await waitUntil(async () => (await checks()).body['running'])
    const box = await createSession(served.url)
    const client = await connectSmtp(served.smtpPort)
    await client.command('EHLO a.test')
    for (const line of ['MAIL FROM:<a@a.test>', `RCPT TO:<${box.email}>`, 'DATA'])
      await client.command(line)
    const ended = served.kill('SIGTERM')
    const refuses = async () => (await readGreeting(served.smtpPort)).startsWith('421 4.3.2 ')
    await waitUntil(refuses)
    // Readiness changed first, whichever thread answers.
    for (let count = 0; count < 10; count += 1)
      expect((await fetch(`${served.url}/readyz`)).status).toBe(503)
    expect((await fetch(`${served.url}/livez`)).status).toBe(200)

    // They would find what is shutting down.
    for (const { status, body } of [await run, await runChecks()])
      expect([status, body['code']]).toStrictEqual([503, 'shutting_down'])
    expect((await checks()).body['finished_at']).toBe(null)
    silent.close()

    client.write(stuffed('Subject: in flight\r\n\r\nx\r\n'))
    expect((await client.readReply()).code).toBe(250)
    expect((await client.readReply()).code).toBe(421)
    const [stored] = await checkMail(served.url, box.token)
    expect(stored?.subject).toBe('in flight')
    served.child.kill('SIGTERM')
    expect(await ended, 'who asks twice does not want to wait').toBe(1)
  })

  test('is forced by a second signal', async () => {
    const served = await serve()
    const client = await connectSmtp(served.smtpPort)
    const box = await createSession(served.url)
    await client.command('EHLO a.test')
    for (const line of ['MAIL FROM:<a@a.test>', `RCPT TO:<${box.email}>`, 'DATA'])
      await client.command(line)
    const ended = served.kill('SIGTERM')
    await waitUntil(() => served.output().includes('shutting down'))
    served.child.kill('SIGTERM')
    expect(await ended).toBe(1)
    client.close()
  })
})
