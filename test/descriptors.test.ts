import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freeServicePorts, type ServiceProcess, spawnService } from './kit/app/service-process.ts'
import { connectSmtp } from './kit/smtp/smtp-client.ts'
import { tempFolder } from './kit/store/stores.ts'
import { waitUntil } from './kit/wait-until.ts'

// Sockets and files share one limit, which is low here, as on some systems.
const DESCRIPTORS = 512
const CONNECTIONS = 600
const ANSWER_MS = 60_000
const STABLE_POLLS = 50

const folder = tempFolder()
let served: ServiceProcess
const sockets: Socket[] = []
beforeAll(async () => {
  const under = ['sh', '-c', `ulimit -n ${DESCRIPTORS}; exec "$0" "$@"`]
  const env = { MAYFLY_HOST: '0.0.0.0' }
  served = await spawnService({ folder: folder.path, ports: await freeServicePorts(), env, under })
})
afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  await served.kill('SIGTERM')
  folder.remove()
})

/** Opens connections that send this and nothing else; resolves when the service accepts no more. */
async function flood(send: string): Promise<void> {
  for (let opened = 0; opened < CONNECTIONS; opened += 1) {
    const socket = connect(served.httpPort, '127.0.0.1', () => socket.write(send))
    socket.on('error', () => {})
    socket.resume()
    sockets.push(socket)
  }
  let before = 0
  let stablePolls = 0
  await waitUntil(() => {
    const now = readdirSync(`/proc/${served.pid}/fd`).length
    stablePolls = now === before ? stablePolls + 1 : 0
    before = now
    return stablePolls === STABLE_POLLS
  })
}

async function mail(to: string): Promise<number> {
  const client = await connectSmtp(served.smtpPort)
  const { code } = await client.send({ to: [to], raw: 'Subject: hi\r\n\r\nhello\r\n' })
  client.close()
  return code
}

async function withTimeout<T>(promise: Promise<T>, what: string): Promise<T> {
  const late = new Promise<never>((_resolve, reject) => {
    setTimeout(reject, ANSWER_MS, new Error(`${what}: no answer`)).unref()
  })
  return await Promise.race([promise, late])
}

const warnings = () =>
  [...served.output().matchAll(/"level":"warn".*?(MAYFLY_[A-Z_]+)/g)].map(([, setting]) => setting)

test('a publicly reachable service warns about each dangerous setting and about a low file limit', async () => {
  await waitUntil(() => warnings().length === 3)
  expect(warnings()).toStrictEqual([
    'MAYFLY_BASE_URL',
    'MAYFLY_ADMIN_TOKEN',
    'MAYFLY_HTTP_CONNECTIONS',
  ])
})

for (const [name, send] of [
  ['idle keep-alive connections', 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['connections that send nothing', ''],
] as const) {
  test(`mail is accepted while a client opens ${CONNECTIONS} ${name}`, async () => {
    await flood(send)
    for (let round = 0; round < 3; round += 1) {
      expect(await withTimeout(mail('postmaster@box.test'), 'SMTP')).toBe(250)
    }
    for (const socket of sockets.splice(0)) socket.destroy()
    // Once the connections are closed, HTTP requests are served again.
    await waitUntil(async () => (await fetch(`${served.url}/livez`).catch(() => undefined))?.ok)
  })
}
