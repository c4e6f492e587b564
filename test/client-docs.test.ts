import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { Script } from 'node:vm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { stagePackage } from '../build/npm-package.ts'
import { ROOT } from './kit/app/service-process.ts'
import { startExample } from './kit/programs/example.ts'
import { program } from './kit/programs/programs.ts'
import { freePort } from './kit/programs/server-process.ts'
import { DISK, tempFolder } from './kit/store/stores.ts'
import { waitUntil } from './kit/wait-until.ts'

// The tests in docs/clients.md as they stand there, in a folder with nothing else but the packages that they name. The one for pytest:
// client-python.test.ts; the other examples: docs-examples.test.ts.

const LONG = process.env['MAYFLY_TEST_LONG'] !== undefined

const folder = tempFolder(DISK)
const packages = join(folder.path, 'node_modules')
/** By the file name that the text before the example ends with. */
const text = readFileSync(join(ROOT, 'docs/clients.md'), 'utf8')
const examples = new Map(
  [...text.matchAll(/`([\w.-]+)`:\n\n```\w+\n(.*?)```\n/gs)].map(([, name = '', code = '']) => [
    name,
    code,
  ]),
)

beforeAll(() => {
  // The parser runs as another user.
  chmodSync(folder.path, 0o755)
  for (const [name, code] of examples) writeFileSync(join(folder.path, name), code)
  stagePackage(join(packages, '@mayfly-mail/mayfly'))
  for (const name of ['@playwright/test', 'better-sqlite3', 'nodemailer', 'vitest']) link(name)
}, 120_000)
afterAll(folder.remove)

function link(name: string): void {
  mkdirSync(dirname(join(packages, name)), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules', name), join(packages, name))
}

const run = (...args: [command: string, args: string[], env?: Record<string, string>]) =>
  startExample(folder.path, ...args).ended

/** What tests have left in the folder for temporary files. */
const leftBehind = () => readdirSync(folder.path).filter((name) => name.startsWith('mayfly-test-'))

test('the Playwright test signs up at the site with a code from its mail, in less than 15 lines', async () => {
  expect(examples.get('sign-up.spec.mjs')?.trim().split('\n').length).toBeLessThan(15)
  const launchOptions = {
    executablePath: program('chromium-headless-shell'),
    args: ['--headless', '--no-sandbox', '--disable-gpu'],
  }
  const config = { use: { launchOptions }, testMatch: '*.spec.mjs', timeout: 120_000 }
  writeFileSync(
    join(folder.path, 'playwright.config.mjs'),
    `export default ${JSON.stringify(config)}`,
  )
  const cli = join(packages, '@playwright/test/cli.js')
  const { status, output } = await run(process.execPath, [cli, 'test', '--reporter=line'])
  expect(status, output).toBe(0)
  expect(output).toMatch(/^ {2}1 passed/m)
  expect(leftBehind()).toStrictEqual([])
})

test('the Vitest test passes', async () => {
  const vitest = join(packages, 'vitest/vitest.mjs')
  const args = [vitest, 'run', '--root', '.', 'sign-up.test.mjs', '--testTimeout=120000']
  const { status, output } = await run(process.execPath, args, { NO_COLOR: '1' })
  expect(status, output).toBe(0)
  expect(output).toMatch(/^ +Tests +1 passed/m)
  expect(leftBehind()).toStrictEqual([])
})

test('the test for node:test passes, with a key and a webhook that is retried soon', async () => {
  const args = ['--test', '--test-reporter=tap', 'webhook.test.mjs']
  const { status, output } = await run(process.execPath, args)
  expect(status, output).toBe(0)
  expect(output).toMatch(/^# pass 1$/m)
  expect(leftBehind()).toStrictEqual([])
})

test('startMayfly refuses unknown settings, stops twice, and leaves nothing when it is killed', async () => {
  writeFileSync(
    join(folder.path, 'kit.mjs'),
    `import { startMayfly } from '@mayfly-mail/mayfly/test'
    for (const wrong of [{ MAYFLY_SMTP_PROT: '25' }, { smtpPort: 25 }])
      await startMayfly(wrong).catch((error) => console.log(error.message))
    const mayfly = await startMayfly()
    await mayfly.stop()
    await mayfly.stop()
    await startMayfly()
    console.log('started')
    process.kill(process.pid, 'SIGKILL')
    setInterval(() => {}, 1_000)`,
  )
  const { signal, output } = await run(process.execPath, ['kit.mjs'])
  const lines = [
    'Invalid settings:',
    '  MAYFLY_SMTP_PROT: unknown setting',
    'Unknown option: smtpPort',
    'started',
    '',
  ]
  expect([signal, output]).toStrictEqual(['SIGKILL', lines.join('\n')])
  await waitUntil(() => leftBehind().length === 0)
})

// Its browser is not on npm, so it is not run.
test('the Cypress test is valid JavaScript, and names tasks of the configuration', () => {
  const [, code = ''] = /\nIn a test, .*?```js\n(.*?)```/s.exec(text) ?? []
  expect(() => new Script(code)).not.toThrow()
  const tasks = [...code.matchAll(/cy\.task\('(\w+)'/g)].map(([, name = '']) => name)
  expect(tasks).toStrictEqual(['createMailbox', 'waitForCode'])
  for (const task of tasks)
    expect(examples.get('cypress.config.mjs') ?? '').toMatch(RegExp(`async ${task}\\(`))
})

if (LONG) {
  test('the tasks for Cypress create a mailbox and wait for its code', async () => {
    // Cypress itself is not on this machine: this calls the tasks in its place.
    mkdirSync(join(packages, 'cypress'))
    writeFileSync(
      join(packages, 'cypress/package.json'),
      '{"type":"module","exports":"./index.js"}',
    )
    writeFileSync(
      join(packages, 'cypress/index.js'),
      'export const defineConfig = (given) => given',
    )
    writeFileSync(
      join(folder.path, 'run-tasks.mjs'),
      `import config from './cypress.config.mjs'
      import { startSite } from './site.mjs'
      const handlers = {}
      await config.e2e.setupNodeEvents((name, handler) => { handlers[name] = handler })
      const { email, token } = await handlers.task.createMailbox()
      const site = await startSite({ smtpPort: Number(process.env.SMTP_PORT) })
      await fetch(site.url, { method: 'POST', body: new URLSearchParams({ email }) })
      console.log('code', await handlers.task.waitForCode(token))
      site.stop()
      await handlers['after:run']()`,
    )
    const smtpPort = String(await freePort())
    const { status, output } = await run(process.execPath, ['run-tasks.mjs'], {
      SMTP_PORT: smtpPort,
    })
    expect(status, output).toBe(0)
    expect(output).toMatch(/^code \d{6}$/m)
    expect(leftBehind()).toStrictEqual([])
  })
}
