import { chmodSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { tempFolder } from '../../../test/kit/store/stores.ts'
import { readConfig } from '../../runtime/config.ts'
import { setupActions } from './machine.ts'

let folder: ReturnType<typeof tempFolder>
beforeEach(() => {
  folder = tempFolder()
  chmodSync(folder.path, 0o1777)
})
afterEach(() => folder.remove())

const inFolder = (name: string) => join(folder.path, name)
const actions = () =>
  setupActions({
    command: 'mayfly',
    cwd: folder.path,
    env: { MAYFLY_DNS: '127.0.0.1:1' },
    readConfig,
  })

describe.runIf(process.getuid?.() === 0)('as root, in a folder that others can write', () => {
  test('setup neither reads nor writes settings there', async () => {
    symlinkSync('/etc/hostname', inFolder('admin-token'))
    await expect(actions().inspectMachine(undefined)).rejects.toThrow('is not used by root')
    writeFileSync(inFolder('mayfly.config.json'), '{ this is not read')
    await expect(actions().inspectMachine(undefined)).rejects.toThrow('is not used by root')
  })

  test('setup does not read mayfly.config.json for a file elsewhere', async () => {
    writeFileSync(inFolder('mayfly.config.json'), '{ this is not read')
    const safe = tempFolder()
    const inspected = actions().inspectMachine(join(safe.path, 'mayfly.env'))
    await expect(inspected).rejects.toThrow('mayfly.config.json is not used by root')
    safe.remove()
  })
})
