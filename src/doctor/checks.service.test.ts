import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../test/support/server-process.ts'
import { openSqliteTestMail, tempFolder } from '../../test/support/stores.ts'
import { waitUntil } from '../../test/support/wait-until.ts'
import type { Host } from '../base/address.ts'
import { openLog } from '../base/log/open-log.ts'
import { readConfig } from './config.ts'
import { startChecks } from './daily-checks.ts'

const NOON = new Date('2026-03-01T12:00:00Z')
const TIMING = { ttlMs: 3_000, renewMs: 50, stopMarginMs: 100, retryMs: 20, stopTimeoutMs: 3_000 }

interface Settings {
  folder: string
  dnsPort: number
  daily?: 'off'
}

async function checkConfig({ folder, dnsPort, daily }: Settings) {
  const env = {
    MAYFLY_DATA: join(folder, 'none'),
    MAYFLY_HOST: '127.0.0.1',
    MAYFLY_SMTP_PORT: String(await freePort()),
    MAYFLY_HTTP_PORT: String(await freePort()),
    MAYFLY_DNS: `127.0.0.1:${dnsPort}`,
    ...(daily ? { MAYFLY_DAILY_CHECKS: daily } : {}),
  }
  return readConfig({ env, file: {} }).config
}

test('of two nodes one makes the checks, and the other not again when it takes over', async () => {
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
  const nodes = [mail.store, mail.other].map((store) => {
    const node = { looks: 0, stop: async () => {} }
    const readCheckRun = () => {
      node.looks += 1
      return store.readCheckRun()
    }
    const deps = { store: { ...store, readCheckRun }, log, now: () => NOON }
    node.stop = startChecks(config, { ...deps, firstMs: 0, timing: TIMING }).stop
    return node
  })
  await waitUntil(() => mail.other.readCheckRun())
  expect(nodes.map(({ looks }) => looks > 0).sort()).toEqual([false, true])
  const [holder, other] = nodes.toSorted((a, b) => b.looks - a.looks)
  await holder?.stop()
  await waitUntil(() => other?.looks === 1)
  await other?.stop()
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
  const config = await checkConfig({ folder: folder.path, dnsPort, daily: 'off' })
  const lines: string[] = []
  const log = openLog(
    { level: 'info', thread: 'main' },
    { write: (line) => void lines.push(line), pretty: false },
  )
  const { commands, stop } = startChecks(config, { store: mail.store, log, now: () => NOON })
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
