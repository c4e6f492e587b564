import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { issueKey, runMayfly } from './kit/app/cli.ts'
import {
  freeServicePorts,
  ROOT,
  type ServiceProcess,
  spawnService,
} from './kit/app/service-process.ts'
import { openReceiver } from './kit/http/webhook-receiver.ts'
import { freePort } from './kit/programs/server-process.ts'
import { connectSmtp } from './kit/smtp/smtp-client.ts'
import { DISK, tempFolder } from './kit/store/stores.ts'
import { waitUntil } from './kit/wait-until.ts'

const folder = tempFolder(DISK)
const env = { MAYFLY_WEBHOOK_ALLOW: '127.0.0.1', MAYFLY_LOG_LEVEL: 'debug' }
let ports: Awaited<ReturnType<typeof freeServicePorts>>
let served: ServiceProcess
let output = ''

beforeAll(async () => {
  ports = await freeServicePorts()
  served = await spawnService({ folder: folder.path, ports, env })
}, 60_000)
afterAll(async () => {
  await served.kill('SIGTERM')
  folder.remove()
})

async function kill(): Promise<void> {
  await served.kill('SIGKILL')
  output += served.output()
  served = await spawnService({ folder: folder.path, ports, env })
}

async function mail(to: string, subjects: string[]): Promise<void> {
  const client = await connectSmtp(served.smtpPort)
  for (const subject of subjects) {
    const raw = `From: shop@shop.test\r\nSubject: ${subject}\r\n\r\nYour code is 493027.\r\n`
    expect((await client.send({ to: [to], raw })).code).toBe(250)
  }
  client.close()
}

async function createWebhook(key: string, params: Record<string, string>) {
  const response = await fetch(`${served.url}/webhooks`, {
    method: 'POST',
    headers: { apikey: key },
    body: new URLSearchParams(params),
  })
  const { webhook } = (await response.json()) as { webhook: { id: string; secret: string } }
  return webhook
}

async function usedOf(key: string): Promise<number> {
  const response = await fetch(`${served.url}/usage`, { headers: { apikey: key } })
  return ((await response.json()) as { used: number }).used
}

test('after SIGKILL during and between attempts, every message arrives in order and is charged once', async () => {
  const receiver = await openReceiver()
  const { key } = await issueKey(folder.path)
  const to = 'crash@pool.test'
  const { id, secret } = await createWebhook(key, { url: receiver.url, to })
  const subjects = Array.from({ length: 12 }, (_, at) => String(at))
  // During an attempt: the receiver has the message, and does not answer.
  receiver.state.behaviour = 'hang'
  await mail(to, subjects)
  await waitUntil(() => receiver.received.length === 1)
  expect(await usedOf(key)).toBe(1)
  receiver.state.behaviour = 'slow'
  await kill()
  // While messages are delivered one after the other.
  await waitUntil(() => receiver.subjects().includes('3'))
  expect(receiver.subjects()).not.toContain('11')
  await kill()
  receiver.state.behaviour = 200
  await waitUntil(() => receiver.subjects().includes('11'))
  const order = receiver.subjects().map(Number)
  expect(order).toStrictEqual(order.toSorted((one, next) => one - next))
  expect([...new Set(order)]).toStrictEqual(subjects.map(Number))
  await waitUntil(async () => (await usedOf(key)) === subjects.length)

  const { stdout } = await runMayfly(folder.path, 'webhook', 'list', '--json')
  expect(JSON.parse(stdout)).toEqual([expect.objectContaining({ id, state: 'active' })])
  await receiver.close()
  // The secret is neither stored nor logged.
  output += served.output()
  const raw = Buffer.from(secret.slice('whsec_'.length), 'base64')
  for (const name of readdirSync(folder.path)) {
    const bytes = readFileSync(join(folder.path, name))
    expect(!bytes.includes(secret.slice(6)) && !bytes.includes(raw), name).toBeTruthy()
  }
  expect(output).not.toContain(secret.slice(6))
}, 120_000)

test('the receiver in docs/webhooks.md runs as it stands', async () => {
  const text = readFileSync(join(ROOT, 'docs/webhooks.md'), 'utf8')
  const [, program = ''] = /```js\n(.*?)```/s.exec(text) ?? []
  const file = join(folder.path, 'receiver.mjs')
  writeFileSync(file, program)
  const { key } = await issueKey(folder.path)
  const port = await freePort()
  const to = 'docs@pool.test'
  const url = `http://127.0.0.1:${port}/mail`
  const { id, secret } = await createWebhook(key, { url, to })
  const child = spawn(process.execPath, [file], {
    env: { ...process.env, WEBHOOK_SECRET: secret, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  try {
    expect((await lines.next()).value).toBe(`listening on port ${port}`)
    const headers = { apikey: key }
    const tested = await fetch(`${served.url}/webhooks/${id}/test`, { method: 'POST', headers })
    expect(await tested.json()).toMatchObject({ delivery: { status: 204 } })
    const forged = await fetch(url, {
      method: 'POST',
      headers: { 'webhook-id': 'msg_1', 'webhook-timestamp': '0', 'webhook-signature': 'v1,x' },
      body: '{}',
    })
    expect(forged.status).toBe(401)
    await mail(to, ['Your code'])
    expect((await lines.next()).value).toBe('shop@shop.test: Your code (code 493027)')
  } finally {
    child.kill()
    await once(child, 'exit')
  }
}, 60_000)
