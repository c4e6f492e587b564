import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../test/support/server-process.ts'
import { openSqliteTestMail, tempFolder } from '../../test/support/stores.ts'
import { waitUntil } from '../../test/support/wait-until.ts'
import { readConfig } from '../config/config.ts'
import { openLog } from '../log/log.ts'
import { startChecks } from './daily-checks.ts'

const NOON = new Date('2026-03-01T12:00:00Z')
const TIMING = { ttlMs: 3_000, renewMs: 50, stopMarginMs: 100, retryMs: 20, stopTimeoutMs: 3_000 }

test('of two nodes one makes the checks, and the other not again when it takes over', async () => {
  const mail = await openSqliteTestMail()
  const folder = tempFolder()
  onTestFinished(async () => {
    await mail.close()
    folder.remove()
  })
  const { config } = readConfig({
    env: {
      MAYFLY_DATA: join(folder.path, 'none'),
      MAYFLY_HOST: '127.0.0.1',
      MAYFLY_SMTP_PORT: String(await freePort()),
      MAYFLY_HTTP_PORT: String(await freePort()),
      MAYFLY_DNS: `127.0.0.1:${await freePort()}`,
    },
    file: {},
  })
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
