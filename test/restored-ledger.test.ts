import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { MAIL } from './kit/app/app.ts'
import { runMayfly } from './kit/app/cli.ts'
import { freeServicePorts, type ServiceProcess, spawnService } from './kit/app/service-process.ts'
import { post, request } from './kit/http/http-client.ts'
import { connectSmtp } from './kit/smtp/smtp-client.ts'
import { tempFolder } from './kit/store/stores.ts'

// Other losses, and what a backup contains: src/runtime/ledger.test.ts, src/store/backup/mail-backup.test.ts.

let scratch: ReturnType<typeof tempFolder>
let served: ServiceProcess
beforeEach(() => {
  scratch = tempFolder()
})
afterEach(async () => {
  if (served?.child.exitCode === null) await served.kill('SIGKILL')
  scratch.remove()
})

async function start(folder: string): Promise<void> {
  served = await spawnService({ folder, ports: await freeServicePorts() })
}

/** Sends a mail; returns the code of the last reply. */
async function mail(to: string, raw = MAIL): Promise<number> {
  const client = await connectSmtp(served.smtpPort)
  const { code } = await client.send({ to: [to], raw })
  client.close()
  return code
}

const create = (params: Record<string, string>) =>
  post(`${served.url}/api/create-session`, { domain_id: '2', ...params })
const statusOf = async (prefix: string) => (await create({ prefix })).status
const warnings = async () =>
  String((await request(`${served.url}/readyz`)).body['warnings'] ?? 'none')

test('after a restore into an empty folder, mail for private addresses of before is refused', async () => {
  const inScratch = (name: string) => join(scratch.path, name)
  const [data, file, empty] = ['data', 'backup.db', 'empty'].map(inScratch) as [
    string,
    string,
    string,
  ]
  const run = async (...args: string[]) => {
    const result = await runMayfly(...(args as [string, ...string[]]))
    expect(result).toMatchObject({ status: 0, stderr: '' })
    return result.stdout
  }
  await start(data)
  expect(await warnings()).toBe('none')
  expect(await statusOf('private-person')).toBe(200)
  await run(data, 'block', 'add', 'spam.test')
  await run(data, 'domain', 'add', 'later.test')
  expect(await run(data, 'backup', file)).toMatch(/0 keys, 0 orders, 1 block and 1 address,/)
  expect(await statusOf('later-person')).toBe(200)
  await served.kill('SIGTERM')

  expect(await run(empty, 'restore', file)).toMatch(/1 address\b.*refuses mail for addresses/s)
  await start(empty)
  await expect
    .poll(() => served.output())
    .toMatch(/"level":"?warn.*the ledger of addresses is incomplete/)
  const warning = /ledger of addresses is incomplete \(it was lost, or restored from a backup\)/
  expect(await warnings()).toMatch(warning)
  expect(await run(empty, 'ledger', 'show')).toMatch(warning)
  expect((await runMayfly(empty, 'doctor')).stdout).toMatch(warning)
  for (const local of ['private-person', 'later-person', 'stranger']) {
    expect([local, await mail(`${local}@pool.test`), await statusOf(local)]).toEqual([
      local,
      550,
      409,
    ])
  }
  const random = await create({})
  expect([random.status, await mail(String(random.body['email']))]).toEqual([200, 250])
  const spam = MAIL.replace('ann@sender.test', 'ann@spam.test')
  expect(await mail('postmaster@later.test')).toBe(250)
  expect(await mail('postmaster@later.test', spam)).toBe(550)

  const untrusted = await runMayfly(empty, 'ledger', 'trust')
  expect(untrusted).toMatchObject({ status: 1, stderr: expect.stringContaining('--accept-risk') })
  await run(empty, 'ledger', 'trust', '--accept-risk')
  expect(await warnings()).toBe('none')
  expect([await mail('stranger@pool.test'), await mail('private-person@pool.test')]).toEqual([
    250, 550,
  ])
})
