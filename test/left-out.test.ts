import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { stripVTControlCharacters } from 'node:util'
import { describe, onTestFinished, test, vi } from 'vitest'
import { filesLeftOut, reportLeftOut } from './support/left-out.ts'
import { PROGRAMS, type Program } from './support/programs.ts'
import { ROOT } from './support/service-process.ts'

describe('a missing program leaves out the tests that need it, and no others', () => {
  for (const [name, needs, doesWithout] of [
    ['dovecot', ['test/gmail.test.ts', 'src/imap/account.test.ts'], 'test/gmail-contract.test.ts'],
    ['chromium-headless-shell', ['test/page/reader.test.ts'], 'test/page/budget.test.ts'],
    ['postgres', ['test/nodes.test.ts', 'test/store-unavailable.test.ts'], 'test/privacy.test.ts'],
    [
      'redis-server',
      ['test/nodes.test.ts', 'src/bus/redis.test.ts'],
      'test/store-unavailable.test.ts',
    ],
    ['swaks', ['test/smtp-clients.test.ts', 'test/balancer.test.ts'], 'test/relay.test.ts'],
    ['strace', ['test/fsync.test.ts', 'test/backup.test.ts'], 'test/crash.test.ts'],
  ] as const) {
    test(name, () => {
      const files = filesLeftOut([name]).get(name) ?? []
      for (const file of needs) assert.ok(files.includes(file), file)
      assert.ok(!files.includes(doesWithout), doesWithout)
    })
  }

  test('every program is needed by some test', () => {
    const names = Object.keys(PROGRAMS) as Program[]
    for (const [name, files] of filesLeftOut(names)) assert.ok(files.length > 0, name)
  })
})

describe('the run ends with a list of the files left out and the reason', () => {
  const LIST = /Left out:\n {2}dovecot is missing .*\n(.*\n)* {4}src\/imap\/account/

  test('in CI, and fails', () => {
    const env = { ...process.env, MAYFLY_TEST_WITHOUT: 'dovecot', CI: 'true' }
    const projects = ['--project', 'unit', '--project', 'service']
    const files = ['src/core/fair-queue.test.ts', 'src/imap/account.test.ts']
    const run = spawnSync('node_modules/.bin/vitest', ['run', ...projects, ...files], {
      cwd: ROOT,
      env,
      encoding: 'utf8',
      timeout: 60_000,
    })
    assert.match(stripVTControlCharacters(run.stdout), /Test Files +1 passed/)
    assert.match(run.stderr, LIST)
    assert.equal(run.status, 1, run.stderr)
  })

  test('on a developer’s machine, and passes', async () => {
    const { exitCode } = process
    vi.stubEnv('CI', '')
    const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    onTestFinished(() => {
      vi.unstubAllEnvs()
      written.mockRestore()
      process.exitCode = exitCode
    })
    process.exitCode = 0
    await reportLeftOut(filesLeftOut(['dovecot'])).onTestRunEnd?.([], [], 'passed')
    assert.match(written.mock.calls.join(''), LIST)
    assert.equal(process.exitCode, 0)
  })
})
