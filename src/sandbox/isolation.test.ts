import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { childIsolation, type Isolation } from './isolation.ts'

const isRoot = process.getuid?.() === 0
const source = (path: string) => new URL(path, import.meta.url).href

/** What a program finds out that parses a mail as this user, and its child about signals. */
const program = `
  import { childIsolation } from ${JSON.stringify(source('./isolation.ts'))}
  import { openParser } from ${JSON.stringify(source('../mime/parser.ts'))}
  const script = new URL(${JSON.stringify(source('../mime/testing/misbehaving-child.ts'))})
  const log = { warn: console.error, error: console.error }
  const parser = openParser({ log, script, children: 1, limits: { cpuMs: 300 } })
  const { headers } = await parser.parse(Buffer.from('reach: 1 /nowhere'))
  const { value: signalled } = headers.find(({ name }) => name === 'signal the parent')
  const { text } = await parser.parse(Buffer.from('spin'))
  await parser.close()
  console.log(JSON.stringify({ kind: childIsolation().kind, signalled, text }))
`

test.runIf(isRoot)('children of root run as another user', () => {
  expect(childIsolation()).toEqual({ kind: 'user', uid: 65_534, gid: 65_534 })
})

test.runIf(isRoot)(
  'children of another user see no process but themselves, where that is permitted',
  () => {
    const run = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
      encoding: 'utf8',
      uid: 65_534,
      gid: 65_534,
      env: {},
    })
    expect(run.stderr).toMatch(/^(.*too slow.*\n?|\{[\s\S]*too slow[\s\S]*)$/)
    const { kind, signalled, text }: Record<string, string> = JSON.parse(run.stdout)
    expect([kind, signalled]).toEqual(PERMITTED.get(kind as Isolation['kind']))
    // Limits hold all the same.
    expect(text).toMatch(/took too long/)
  },
)

const PERMITTED = new Map<Isolation['kind'], [string, string]>([
  ['pid namespace', ['pid namespace', 'ESRCH']],
  ['none', ['none', 'reached']],
])
