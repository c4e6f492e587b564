import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { backupState } from '../src/store/backup/backup.ts'
import { writeDatedBackup } from '../src/store/backup/dated.ts'
import { MAIN, ROOT } from './kit/app/service-process.ts'
import { startAppWithKeys } from './kit/shop/keys.ts'
import { tempFolder } from './kit/store/stores.ts'

// With a service beside it and the command of the Debian package: test/debian.test.ts does the same in a Debian.

const DOCS = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8')
const WRAPPER = readFileSync(join(ROOT, 'deploy/debian/mayfly'), 'utf8')

test('the restore drill of docs/operations.md works as it stands, and changes nothing else', async () => {
  const folder = tempFolder()
  onTestFinished(folder.remove)
  const inFolder = (...names: string[]) => join(folder.path, ...names)
  const data = inFolder('var/lib/mayfly')
  const app = await startAppWithKeys({
    folder: { path: data, remove() {} },
    env: { MAYFLY_STORE: 'sqlite:' },
  })
  onTestFinished(app.stop)
  const keys = [await app.ring.issue(), await app.ring.issue()]
  const run = installWrapper(folder.path)
  mkdirSync(inFolder('var/backups/mayfly'), { recursive: true })
  for (const day of [1, 2]) {
    const options = { keep: undefined, now: new Date(Date.UTC(2026, 1, day)), tell() {} }
    writeDatedBackup(data, inFolder('var/backups/mayfly'), options)
  }
  const files = () => readdirSync(data).filter((name) => !/-(?:wal|shm)$/.test(name))
  const before = [files(), backupState(data).at]
  const script = /### Restore drill\n.*?```sh\n(.*?)```/s.exec(DOCS)?.[1] ?? ''
  const steps = script.replace('/var/backups', inFolder('var/backups')).trim().split('\n')
  expect(steps.pop()).toBe('rm -r "$drill"')
  const output = run(`${steps.join('\n')}\ncat "$drill/restored"\necho "$drill"\nrm -r "$drill"`)
  expect(output).toMatch(/^Restored \/\S*mayfly-2026-02-02T\S*\.db: 2 keys, /)
  for (const { secret } of keys) expect(output).toContain(secret.slice(0, 12))
  const drill = output.trimEnd().split('\n').at(-1) ?? ''
  expect([dirname(drill), existsSync(drill)]).toEqual([inFolder('tmp'), false])
  expect([files(), backupState(data).at]).toEqual(before)

  const [, importing = ''] = /^(mayfly block import - .*?) +#/m.exec(DOCS) ?? []
  writeFileSync(inFolder('list.txt'), 'spam.example\nbad.example ; SBL1\n')
  expect(run(importing)).toMatch(/^Added 2 blocks, changed 0\./)
}, 60_000)

/**
 * The command of the Debian package, with its directories in this folder, as if run by root. Users are those of the package, so
 * nothing is given to them.
 */
function installWrapper(folder: string) {
  const inFolder = (...names: string[]) => join(folder, ...names)
  const program = (name: string, text: string) =>
    writeFileSync(inFolder('bin', name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  for (const name of ['bin', 'tmp', 'usr/lib/mayfly/bin', 'usr/lib/mayfly/node_modules/.bin'])
    mkdirSync(inFolder(name), { recursive: true })
  const paths = WRAPPER.replaceAll(/(?<=[ =])\/(?=usr|etc|var)/g, `${folder}/`)
  program('mayfly', paths.replace('#!/bin/sh\n', ''))
  program('id', 'echo 0')
  // Without its options.
  program('setpriv', 'shift 6\nexec "$@"')
  program('chown', '[ "$1" = mayfly ]')
  writeFileSync(
    inFolder('usr/lib/mayfly/defaults.env'),
    `MAYFLY_DATA=${inFolder('var/lib/mayfly')}\n`,
  )
  mkdirSync(inFolder('etc/mayfly'), { recursive: true })
  writeFileSync(inFolder('etc/mayfly/mayfly.env'), '')
  symlinkSync(resolve(ROOT, MAIN), inFolder('usr/lib/mayfly/bin/mayfly.js'))
  symlinkSync(process.execPath, inFolder('usr/lib/mayfly/node_modules/.bin/node'))
  const { MAYFLY_DATA: _, ...rest } = process.env
  const env = { ...rest, PATH: `${inFolder('bin')}:${rest['PATH']}`, TMPDIR: inFolder('tmp') }
  return (text: string) => execFileSync('sh', ['-ec', text], { cwd: folder, encoding: 'utf8', env })
}
