import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { issueKey, runMayfly } from './support/cli.ts'
import { freeServicePorts, type ServiceProcess, spawnService } from './support/service-process.ts'
import { tempFolder } from './support/stores.ts'

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

  test('a revoked key is rejected from the next request on', async () => {
    const { id, key: secret } = await issueKey(folder.path)
    expect(await statusOf(secret)).toBe(200)
    expect((await key('revoke', id)).status).toBe(0)
    expect(await statusOf(secret)).toBe(401)
  })

  test('a rotated key works with both secrets, and both are charged', async () => {
    const { key: oldSecret, prefix } = await issueKey(folder.path)
    const rolled = JSON.parse((await key('roll', prefix, '--json')).stdout)
    expect([await statusOf(oldSecret), await statusOf(rolled.key)]).toEqual([200, 200])
    expect(JSON.parse((await key('show', prefix, '--json')).stdout)).toMatchObject({ used: 2 })
  })

  test('usage counts the requests made', async () => {
    const { id, key: secret } = await issueKey(folder.path, 'business')
    for (let count = 0; count < 3; count += 1) expect(await statusOf(secret)).toBe(200)
    const { stdout } = await key('usage', id)
    expect(stdout).toMatch(/^Used +3 of 100,000 requests$/m)
    // Without a terminal no bars are printed. Midnight may have passed in between.
    expect(stdout).not.toMatch(/[█░┤]/)
    const { days } = JSON.parse((await key('usage', id, '--json')).stdout)
    const sum = days.reduce((sum: number, { requests }: { requests: number }) => sum + requests, 0)
    expect([days.length, sum]).toEqual([30, 3])
  })

  test('a label is stored and listed', async () => {
    const { id, prefix } = await issueKey(folder.path)
    expect((await key('label', id, 'the robot of Ann')).status).toBe(0)
    expect((await key('list')).stdout).toMatch(new RegExp(`^${prefix} .* the robot of Ann$`, 'm'))
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
  const { id } = await issueKey(join(alone.path, 'data'))
  const { stdout } = await runMayfly(join(alone.path, 'data'), 'key', 'show', id)
  expect(stdout).toMatch(/^State +active$/m)
  alone.remove()
})

describe('an invalid command line is rejected with one clear line', () => {
  for (const [args, status, line] of [
    [['key', 'issue'], 2, '--plan is missing. Available plans:'],
    [['key', 'show', 'key_nobody'], 1, 'No key matches "key_nobody". See: mayfly key list'],
  ] as const) {
    test(args.join(' '), async () => {
      const result = await runMayfly(folder.path, ...args)
      expect(result).toMatchObject({ status, stdout: '', stderr: expect.stringContaining(line) })
      expect(result.stderr).not.toMatch(/\n {4}at /)
    })
  }

  test('an unknown plan creates no data directory', async () => {
    const alone = tempFolder()
    await runMayfly(join(alone.path, 'data'), 'key', 'issue', '--plan', 'gold')
    expect(readdirSync(alone.path)).toEqual([])
    alone.remove()
  })
})
