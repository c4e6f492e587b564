import { afterAll, beforeAll, expect, test } from 'vitest'
import type { SeriesName } from '../src/admin/series/rules.ts'
import { MAIL as RAW } from './kit/app/app.ts'
import {
  freeServicePorts,
  MAIN,
  type ServiceProcess,
  spawnService,
} from './kit/app/service-process.ts'
import { createSession } from './kit/http/api-client.ts'
import { request } from './kit/http/http-client.ts'
import { connectSmtp } from './kit/smtp/smtp-client.ts'
import { engine, storeFor } from './kit/store/engine.ts'
import { seriesSums } from './kit/store/series-sums.ts'
import { tempFolder } from './kit/store/stores.ts'
import { waitUntil } from './kit/wait-until.ts'

// Series of `mayfly serve`, in processes of its own.

// On PostgreSQL, two nodes with one store.
const NODES = engine === 'postgres' ? 2 : 1

/** The next minute begins, by the clock of the main thread. */
const NEXT_MINUTE = 'SIGUSR2'
const MOVE_CLOCK = `
  const real = Date.now
  let ahead = 0
  Date.now = () => real() + ahead
  process.on('${NEXT_MINUTE}', () => { ahead += 60_000 })`

const folder = tempFolder()
let nodes: ServiceProcess[]

async function start(): Promise<ServiceProcess> {
  const preload = `data:text/javascript,${encodeURIComponent(MOVE_CLOCK)}`
  return await spawnService({
    folder: folder.path,
    ports: await freeServicePorts(),
    command: [process.execPath, '--import', preload, MAIN, 'serve'],
    env: {
      MAYFLY_STORE: await storeFor(folder.path),
      MAYFLY_DRAIN: '0s',
      MAYFLY_LOG_LEVEL: 'error',
    },
  })
}

beforeAll(async () => {
  nodes = await Promise.all(Array.from({ length: NODES }, start))
})
async function stop(): Promise<void> {
  for (const node of nodes) expect(await node.kill('SIGTERM')).toBe(0)
}
afterAll(async () => {
  for (const node of nodes) await node.kill('SIGKILL')
  folder.remove()
})

/** What the clients counted themselves. */
const ledger = { mails: 0, unknown: 0, requests: 0 }

async function send({ smtpPort }: ServiceProcess, mails: number): Promise<void> {
  const client = await connectSmtp(smtpPort)
  for (let count = 0; count < mails; count += 1) {
    expect((await client.send({ to: ['anyone@pool.test'], raw: RAW })).code).toBe(250)
    ledger.mails += 1
  }
  await client.command('MAIL FROM:<a@a.test>')
  expect((await client.command('RCPT TO:<nobody@box.test>')).code).toBe(550)
  ledger.unknown += 1
  client.close()
}

const sums = (name: SeriesName) => seriesSums(folder.path, name)

test('after a clean stop, the sums of an hour equal what was sent to all nodes', async () => {
  for (const [index, node] of nodes.entries()) {
    await send(node, 5 + index)
    await createSession(node.url)
    expect((await request(`${node.url}/api/domains`)).status).toBe(200)
    ledger.requests += 2
  }
  // A node that recorded a minute just before reports the level of then for ten seconds.
  for (const { url } of nodes) {
    await waitUntil(async () =>
      /^mayfly_live_sessions [12]$/m.test((await request(`${url}/metrics`)).text),
    )
  }
  await stop()

  expect(await sums('mails')).toEqual({ stored: ledger.mails })
  expect(await sums('refusals')).toEqual({ unknown: ledger.unknown })
  expect(await sums('requests')).toEqual({ '2xx': ledger.requests })
  expect((await sums('sessions'))['']).toBeGreaterThanOrEqual(NODES)
  const { p50 = 0, p99 = 0 } = await sums('latency')
  expect(p50).toBeGreaterThan(0)
  expect(p99).toBeGreaterThanOrEqual(p50)
})

test('the service saves once a minute, and a SIGKILL loses at most the current minute', async () => {
  await stop()
  const node = await start()
  nodes = [node]
  await send(node, 5)
  const before = ledger.mails
  const saved = async () => (await sums('mails'))['stored'] ?? 0
  expect(await saved()).toBeLessThan(before)
  node.child.kill(NEXT_MINUTE)
  await waitUntil(async () => (await saved()) === before)
  await send(node, 3)
  await node.kill('SIGKILL')
  // A minute of the system's clock may have ended as well.
  expect(await saved()).toBeGreaterThanOrEqual(before)
  expect(await saved()).toBeLessThanOrEqual(ledger.mails)
})
