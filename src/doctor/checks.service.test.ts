import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../test/kit/programs/server-process.ts'
import { openSqliteTestMail, tempFolder } from '../../test/kit/store/stores.ts'
import { waitUntil } from '../../test/kit/wait-until.ts'
import type { Host } from '../base/address.ts'
import { openLog } from '../base/log/open-log.ts'
import { readConfig } from '../runtime/config.ts'
import { openChecks } from './checks.ts'
import { startChecks } from './daily-checks.ts'
import { evaluateStoreFault } from './rules/backend-rules.ts'
import { runChecks } from './run-checks.ts'

const NOON = new Date('2026-03-01T12:00:00Z')
const TIMING = {
  ttlMs: 600_000,
  renewMs: 50,
  stopMarginMs: 100,
  retryMs: 20,
  stopTimeoutMs: 60_000,
}

interface Settings {
  folder: string
  dnsPort: number
}

async function checkConfig({ folder, dnsPort }: Settings) {
  const env = {
    MAYFLY_DATA: join(folder, 'none'),
    MAYFLY_HOST: '127.0.0.1',
    MAYFLY_SMTP_PORT: String(await freePort()),
    MAYFLY_HTTP_PORT: String(await freePort()),
    MAYFLY_DNS: `127.0.0.1:${dnsPort}`,
  }
  return readConfig({ env, file: {} }).config
}

test('of two nodes one makes the checks, and a node that starts later does not', async () => {
  const mail = await openSqliteTestMail()
  const folder = tempFolder()
  onTestFinished(async () => {
    await mail.close()
    folder.remove()
  })
  const config = await checkConfig({ folder: folder.path, dnsPort: await freePort() })
  const lines: string[] = []
  const log = openLog(
    { level: 'info', thread: 'main' },
    { write: (line) => void lines.push(line), pretty: false },
  )
  let runs = 0
  const nodes = [mail.store, mail.other].map((store) => {
    const node = { looks: 0, stop: async () => {} }
    const deps = {
      store: {
        ...store,
        readCheckRun() {
          node.looks += 1
          return store.readCheckRun()
        },
      },
      log,
      now: () => NOON,
      timing: TIMING,
      openChecks() {
        runs += 1
        return openChecks(config, { store, log, settings: undefined, inspectServer: undefined })
      },
    }
    node.stop = startChecks(deps, { isDaily: true, firstMs: 0 }).stop
    return node
  })
  await waitUntil(() => mail.other.readCheckRun())
  await waitUntil(() => nodes.every(({ looks }) => looks > 0))
  for (const { stop } of nodes) await stop()
  // As after a restart.
  const store = { ...mail.store, readCheckRun: () => mail.store.readCheckRun().finally(looked) }
  const again = Promise.withResolvers<void>()
  const looked = () => again.resolve()
  const deps = { store, log, now: () => NOON, openChecks: async () => Promise.reject(new Error()) }
  const restarted = startChecks(deps, { isDaily: true, firstMs: 0 })
  await again.promise
  await restarted.stop()
  expect(runs).toBe(1)
  const run = await mail.store.readCheckRun()
  expect(run?.checks.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['settings', 'smtp', 'address', 'backup']),
  )
  const problems = lines.filter((line) => line.includes('"check":"smtp"'))
  expect(problems).toEqual([expect.stringContaining('nothing answers on port')])
})

test('a stop ends a requested run at once, and the earlier results stay', async () => {
  const mail = await openSqliteTestMail()
  const folder = tempFolder()
  const silent = createSocket('udp4').bind(0, '127.0.0.1')
  await once(silent, 'listening')
  onTestFinished(async () => {
    silent.close()
    await mail.close()
    folder.remove()
  })
  const domain = { sessions: true, reader: false, ttlSeconds: undefined }
  await mail.store.addDomain({ ...domain, name: 'box.test' as Host })
  const earlier = { finishedAt: NOON, checks: [] }
  await mail.store.saveCheckRun(earlier)
  const dnsPort = silent.address().port
  const config = await checkConfig({ folder: folder.path, dnsPort })
  const lines: string[] = []
  const log = openLog(
    { level: 'info', thread: 'main' },
    { write: (line) => void lines.push(line), pretty: false },
  )
  const { store } = mail
  const open = () =>
    openChecks(config, { store, log, settings: undefined, inspectServer: undefined })
  const deps = { store, log, now: () => NOON, openChecks: open }
  const { commands, stop } = startChecks(deps, { isDaily: false })
  const run = commands.runChecks()
  const refused = expect(run).rejects.toMatchObject({ code: 'shutting_down' })
  await expect(commands.runChecks()).rejects.toMatchObject({ code: 'already_running' })
  await waitUntil(() => commands.checkProgress())
  const stopped = stop()
  await refused
  await expect(commands.runChecks()).rejects.toMatchObject({ code: 'shutting_down' })
  await stopped
  expect(await mail.store.readCheckRun()).toEqual(earlier)
  expect(lines).toEqual([])
})

describe('a store at a database server', () => {
  const fault = 'PostgreSQL refuses us: permission denied for schema mail'
  const server = {
    ...{ version: 170_000, role: 'mayfly', usedConnections: 1, maxConnections: 100 },
    ...{ requiredStandbys: '', standbys: [], offsetMs: 0 },
  }
  for (const [name, found, storeFault, expected] of [
    ['works', server, undefined, { status: 'ok' }],
    ['cannot be opened although the server answers', server, fault, evaluateStoreFault(fault)],
    ['may lose mail', { durabilityFault: 'fsync is off' }, fault, { seen: 'fsync is off' }],
  ] as const) {
    test(name, async () => {
      const { config } = readConfig({ env: {}, file: {} })
      const log = openLog({ level: 'error', thread: 'main' })
      const inspectServer = async () => found
      const options = { store: undefined, log, settings: undefined, storeFault, inspectServer }
      const checks = (await openChecks(config, options)).filter((one) => one.name === 'postgres')
      expect(await runChecks(checks)).toEqual([expect.objectContaining(expected)])
    })
  }
})
