import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { type App, MAIL, startApp } from './support/app.ts'
import { engine, storeFor } from './support/engine.ts'
import { request } from './support/http-client.ts'
import { seriesSums } from './support/series-sums.ts'
import { connectSmtp } from './support/smtp-client.ts'
import { tempFolder } from './support/stores.ts'
import { waitUntil } from './support/wait-until.ts'

// On PostgreSQL, two nodes with one store.
const NODES = engine === 'postgres' ? 2 : 1

/** What the clients counted themselves. */
const ledger = { mails: 0, unknown: 0, requests: 0 }

async function use(app: App, mails: number): Promise<void> {
  const { email } = await app.session()
  const client = await connectSmtp(app.smtpPort)
  for (let count = 0; count < mails; count += 1) {
    const reply = await client.send({ to: [email], raw: MAIL })
    assert.equal(reply.code, 250)
    ledger.mails += 1
  }
  await client.command('MAIL FROM:<a@a.test>')
  assert.equal((await client.command('RCPT TO:<nobody@box.test>')).code, 550)
  ledger.unknown += 1
  client.close()
  assert.equal((await request(`${app.url}/api/domains`)).status, 200)
  ledger.requests += 2
}

test('after a clean stop, the sums of an hour equal what was sent to all nodes', async () => {
  const folder = tempFolder()
  const shared = { path: folder.path, remove: () => {} }
  const apps = []
  for (let node = 0; node < NODES; node += 1) apps.push(await startApp({ folder: shared }))
  for (const [node, app] of apps.entries()) await use(app, 5 + node)
  const { text } = await request(`${apps[0]?.url}/metrics`)
  expect(text).toMatch(/^mayfly_live_sessions [12]$/m)
  for (const app of apps) await app.stop()

  const sums = (name: Parameters<typeof seriesSums>[1]) => seriesSums(folder.path, name)
  expect(await sums('mails')).toEqual({ stored: ledger.mails })
  expect(await sums('refusals')).toEqual({ unknown: ledger.unknown })
  expect(await sums('requests')).toEqual({ '2xx': ledger.requests })
  expect((await sums('sessions'))['']).toBeGreaterThanOrEqual(NODES)
  const { p50 = 0, p99 = 0 } = await sums('latency')
  expect(p50).toBeGreaterThan(0)
  expect(p99).toBeGreaterThanOrEqual(p50)
  folder.remove()
})

test('the service saves once a minute, and a SIGKILL loses the current minute only', async () => {
  const folder = tempFolder()
  const minute = new Date('2026-03-01T12:00:00Z')
  const script = fileURLToPath(new URL('support/app-process.ts', import.meta.url))
  const child = fork(script, [folder.path, await storeFor(folder.path), minute.toISOString()])
  onTestFinished(() => void child.kill('SIGKILL'))
  const [smtpPort] = await once(child, 'message')
  const client = await connectSmtp(smtpPort)
  const send = async (mails: number) => {
    for (let count = 0; count < mails; count += 1) {
      assert.equal((await client.send({ to: ['anyone@pool.test'], raw: MAIL })).code, 250)
    }
  }
  await send(5)
  child.send(60)
  const saved = () => seriesSums(folder.path, 'mails', minute)
  await waitUntil(async () => (await saved())['stored'] === 5)
  await send(3)
  client.close()
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(await saved()).toEqual({ stored: 5 })
  folder.remove()
})
