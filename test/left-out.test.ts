import { spawnSync } from 'node:child_process'
import { stripVTControlCharacters } from 'node:util'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { ROOT } from './kit/app/service-process.ts'
import { filesLeftOut } from './kit/left-out.ts'
import { PROGRAMS, type Program } from './kit/programs/programs.ts'
import { skipOrFail } from './kit/skip.ts'

describe('a missing program leaves out the tests that need it, and no others', () => {
  for (const [name, needs, doesWithout] of [
    [
      'dovecot',
      ['test/gmail.test.ts', 'src/gmail/imap/account.service.test.ts'],
      'test/gmail-contract.test.ts',
    ],
    ['chromium-headless-shell', ['test/page/reader.test.ts'], 'test/page/budget.test.ts'],
    ['postgres', ['test/nodes.test.ts', 'test/store-unavailable.test.ts'], 'test/privacy.test.ts'],
    [
      'redis-server',
      ['test/nodes.test.ts', 'src/bus/redis.service.test.ts'],
      'test/store-unavailable.test.ts',
    ],
    ['swaks', ['test/smtp-clients.test.ts', 'test/balancer.test.ts'], 'test/relay.test.ts'],
    ['strace', ['test/fsync.test.ts', 'test/backup.test.ts'], 'test/crash.test.ts'],
  ] as const) {
    test(name, () => {
      const files = filesLeftOut([name]).get(name) ?? []
      for (const file of needs) expect(files, file).toContain(file)
      expect(files, doesWithout).not.toContain(doesWithout)
    })
  }

  test('every program is needed by some test', () => {
    const names = Object.keys(PROGRAMS) as Program[]
    for (const [name, files] of filesLeftOut(names)) expect(files.length, name).toBeGreaterThan(0)
  })
})

describe('the run ends with a list of the files left out and the reason', () => {
  const LIST = /Left out:\n {2}dovecot is missing .*\n(.*\n)* {4}src\/gmail\/imap\/account/

  // Like root in a container.
  const unprivileged =
    process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-sys_admin', '--inh-caps=-all'] : []

  // Each project takes its time to start, so there is one in a run.
  function run(project: string, files: readonly string[], env: Record<string, string>) {
    const vitest = ['node_modules/.bin/vitest', 'run', `--project=${project}`, ...files]
    const [command = '', ...args] = [...unprivileged, ...vitest]
    const { status, stdout, stderr } = spawnSync(command, args, {
      cwd: ROOT,
      env: { ...process.env, MAYFLY_TEST_WITHOUT: 'dovecot', ...env },
      encoding: 'utf8',
      timeout: 120_000,
    })
    return { status, stderr, summary: stripVTControlCharacters(stdout) }
  }

  test('in CI, and fails', () => {
    const files = [
      'src/mail/sessions/configured-domains.service.test.ts',
      'src/gmail/imap/account.service.test.ts',
    ]
    const { status, stderr, summary } = run('service', files, { CI: 'true' })
    expect(summary).toMatch(/Test Files +1 passed/)
    expect(stderr).toMatch(LIST)
    expect(status, stderr).toBe(1)
  })

  test('elsewhere, and passes, also if the machine does not permit some tests', () => {
    const files = ['test/install-guide.test.ts', 'test/gmail.test.ts']
    const { status, stderr, summary } = run('e2e', files, { CI: '' })
    expect(summary).toMatch(/Tests +1 passed \| [1-9]\d* skipped/)
    expect(stderr).toMatch(LIST)
    expect(stderr).toMatch(/^ {2}unshare: .*: test\/install-guide\.test\.ts: .* a mail arrives$/m)
    expect(status, stderr).toBe(0)
  })
})

test('in CI, tests that the machine does not permit fail', () => {
  vi.stubEnv('CI', 'true')
  onTestFinished(() => void vi.unstubAllEnvs())
  const skip = () => expect.fail('it is skipped')
  expect(() => skipOrFail('not permitted', { skip })).toThrow(/^not permitted$/)
  expect(skipOrFail(undefined, { skip: () => expect.fail('it may run') })).toBeUndefined()
})
