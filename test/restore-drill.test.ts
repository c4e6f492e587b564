import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openKeyRing } from './support/keys.ts'
import { MAIN, ROOT } from './support/service-process.ts'
import { tempFolder } from './support/stores.ts'

test('the restore drill of docs/operations.md works as it stands', async () => {
  const folder = tempFolder()
  onTestFinished(folder.remove)
  const data = join(folder.path, 'data')
  const ring = await openKeyRing({ config: { data, store: 'sqlite:' }, now: () => new Date() })
  const keys = [await ring.issue(), await ring.issue()]
  await ring.close()

  const docs = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8')
  const script = /### Restore drill\n.*?```sh\n(.*?)```/s.exec(docs)?.[1] ?? ''
  const steps = script.trim().split('\n')
  const last = steps.pop() ?? ''
  expect([steps.length, last]).toEqual([6, 'rm -r drill'])
  const mayfly = join(folder.path, 'mayfly')
  writeFileSync(mayfly, `#!/bin/sh\nexec ${process.execPath} ${resolve(ROOT, MAIN)} "$@"\n`)
  chmodSync(mayfly, 0o755)
  const env = {
    ...process.env,
    PATH: `${folder.path}:${process.env['PATH']}`,
    MAYFLY_DATA: data,
  }
  const run = (text: string) =>
    execFileSync('sh', ['-ec', text], { cwd: folder.path, encoding: 'utf8', env })

  expect(run(steps.join('\n'))).toMatch(/Wrote drill.*: 2 keys .*Restored drill.*: 2 keys /s)
  const after = readFileSync(join(folder.path, 'drill/after'), 'utf8')
  for (const { secret } of keys) expect(after).toContain(secret.slice(0, 12))
  run(last)
  expect(existsSync(join(folder.path, 'drill'))).toBe(false)
})
