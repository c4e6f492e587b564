import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { tempFolder } from '../../../test/kit/store/stores.ts'
import { loadSettings, SettingsError } from './settings.ts'
import { distrust, requireTrusted } from './trusted-file.ts'

// Whoever runs the tests stands for root.
const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0]
const OURS = { uids: [0, uid], gids: [0, gid] }

let temporary: ReturnType<typeof tempFolder>
let folder: string
let file: string
beforeEach(() => {
  temporary = tempFolder()
  folder = join(temporary.path, 'folder')
  mkdirSync(folder, { mode: 0o755 })
  file = join(folder, 'mayfly.config.json')
  writeFileSync(file, '{}', { mode: 0o640 })
})
afterEach(() => temporary.remove())

test('a file that only we can change is trusted, and so is the place of one that does not exist yet', () => {
  expect(distrust(file, OURS)).toBeUndefined()
  expect(distrust(join(folder, 'new.env'), OURS)).toBeUndefined()
})

describe('a file is not trusted', () => {
  for (const [name, change, reason, trusted = OURS] of [
    ['that everybody can write', () => chmodSync(file, 0o666), 'everybody can write to'],
    ['in a folder that everybody can write', () => chmodSync(folder, 0o777), 'everybody can write'],
    ['in a folder like /tmp', () => chmodSync(folder, 0o1777), 'everybody can write'],
    ['below such a folder', () => chmodSync(dirname(folder), 0o777), 'everybody can write'],
    [
      'that another group can write',
      () => chmodSync(file, 0o660),
      'group',
      { ...OURS, gids: [gid + 1] },
    ],
    ['of somebody else', () => {}, 'belongs to user', { ...OURS, uids: [uid + 1] }],
  ] satisfies [string, () => void, string, typeof OURS?][]) {
    test(name, () => {
      change()
      expect(distrust(file, trusted)).toContain(reason)
    })
  }

  test('that does not exist yet, in a folder that everybody can write', () => {
    chmodSync(folder, 0o1777)
    expect(distrust(join(folder, 'new.env'), OURS)).toContain('everybody can write')
  })

  test('if a link to it, or what a link points to, is in such a folder', () => {
    const open = join(temporary.path, 'open')
    mkdirSync(open)
    chmodSync(open, 0o1777)
    symlinkSync(file, join(open, 'link.json'))
    expect(distrust(join(open, 'link.json'), OURS)).toContain('everybody can write')
    writeFileSync(join(open, 'theirs.json'), '{}')
    symlinkSync(join(open, 'theirs.json'), join(folder, 'link.json'))
    expect(distrust(join(folder, 'link.json'), OURS)).toContain('everybody can write')
  })
})

test('a folder of ours in a folder like /tmp is trusted', () => {
  chmodSync(dirname(folder), 0o1777)
  expect(distrust(file, OURS)).toBeUndefined()
})

describe.runIf(uid === 0)('as root', () => {
  test('a command does not use the settings of somebody else', () => {
    chownSync(file, 12_345, 12_345)
    const load = () => loadSettings(folder, {}, requireTrusted)
    expect(load).toThrow(SettingsError)
    expect(load).toThrow(`${file} is not used by root: ${file} belongs to user 12345.`)
    chownSync(file, 0, 0)
    expect(load()).toEqual({ env: {}, file: {} })
  })

  test('whoever became root by sudo is trusted', () => {
    chownSync(file, 12_345, 12_345)
    process.env['SUDO_UID'] = '12345'
    try {
      expect(() => requireTrusted(file)).not.toThrow()
    } finally {
      delete process.env['SUDO_UID']
    }
  })
})
