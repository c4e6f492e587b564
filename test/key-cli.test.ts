import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { issueKey, runMayfly } from './kit/app/cli.ts'
import { freeServicePorts, type ServiceProcess, spawnService } from './kit/app/service-process.ts'
import { tempFolder } from './kit/store/stores.ts'

const folder = tempFolder()
let served: ServiceProcess
const key = (...args: string[]) => runMayfly(folder.path, 'key', ...args)

beforeAll(async () => {
  served = await spawnService({ folder: folder.path, ports: await freeServicePorts() })
}, 60_000)
afterAll(async () => {
  expect(served.child.exitCode, served.output()).toBeNull()
  await served.kill('SIGTERM')
  folder.remove()
})

async function statusOf(secret: string): Promise<number> {
  const response = await fetch(`${served.url}/emails`, { headers: { APIKey: secret } })
  await response.body?.cancel()
  return response.status
}

describe('with a running service', () => {
  test('an issued key works at once, and no file or log contains it', async () => {
    const { key: secret } = await issueKey(folder.path)
    expect(await statusOf(secret)).toBe(200)
    const canary = secret.slice(12)
    for (const name of readdirSync(folder.path)) {
      expect(readFileSync(join(folder.path, name)).includes(canary), name).toBe(false)
    }
    expect(served.output()).not.toContain(canary)
  })

  // What the commands print: src/keys/commands.test.ts.
  test('a rotated key works with both secrets, both are charged, and neither works once it is revoked', async () => {
    const { id, key: oldSecret, prefix } = await issueKey(folder.path, 'business')
    const rolled = JSON.parse((await key('roll', prefix, '--json')).stdout)
    const statuses = async () => [await statusOf(oldSecret), await statusOf(rolled.key)]
    expect(await statuses()).toEqual([200, 200])
    expect((await key('label', id, 'the robot of Ann')).status).toBe(0)
    expect(JSON.parse((await key('show', prefix, '--json')).stdout)).toMatchObject({
      id,
      label: 'the robot of Ann',
      used: 2,
    })
    const { stdout } = await key('usage', id)
    expect(stdout).toMatch(/^Used +2 of 100,000 requests$/m)
    // Without a terminal no bars are printed.
    expect(stdout).not.toMatch(/[█░┤]/)
    expect((await key('revoke', id)).status).toBe(0)
    expect(await statuses()).toEqual([401, 401])
  })

  test('orders are listed even if there are none', async () => {
    expect(await runMayfly(folder.path, 'order', 'list', '--json')).toMatchObject({
      status: 0,
      stdout: '[]\n',
    })
  })
})

test('every command works without a running service', async () => {
  const alone = tempFolder()
  const { prefix } = await issueKey(join(alone.path, 'data'))
  const { stdout } = await runMayfly(join(alone.path, 'data'), 'key', 'list')
  expect(stdout).toMatch(new RegExp(`^${prefix} +starter +active `, 'm'))
  alone.remove()
})
