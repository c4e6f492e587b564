import { spawn } from 'node:child_process'
import { once } from 'node:events'
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
import { stageClient } from '../build/client-packages.ts'
import { stagePackage } from '../build/npm-package.ts'
import { type ExampleLanguage, exampleOf, PLACEHOLDER } from '../src/http/docs/examples.ts'
import { documentedRoutes } from '../src/http/routes.ts'
import { ROOT } from './kit/app/service-process.ts'
import { waitForLongPolls } from './kit/http/api-client.ts'
import { program } from './kit/programs/programs.ts'
import { freePort } from './kit/programs/server-process.ts'
import { type AppWithKeys, startAppWithKeys } from './kit/shop/keys.ts'
import { FAKE_SHOP } from './kit/shop/shop-client.ts'
import { DISK, tempFolder } from './kit/store/stores.ts'
import { waitUntil } from './kit/wait-until.ts'

// The examples of docs/clients.md, docs/tour.md and /docs as they stand there, in a folder with nothing else but the packages that they
// name. The one for pytest: client-python.test.ts.

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
let app: AppWithKeys

beforeAll(async () => {
  // The parser runs as another user.
  chmodSync(folder.path, 0o755)
  for (const [name, code] of examples) writeFileSync(join(folder.path, name), code)
  stagePackage(join(packages, '@mayfly-mail/mayfly'))
  stageClient(join(packages, '@mayfly-mail/client'))
  for (const name of ['@playwright/test', 'better-sqlite3', 'nodemailer', 'vitest']) link(name)
  app = await startAppWithKeys({
    env: {
      ...FAKE_SHOP,
      MAYFLY_DOMAINS: 'mayfly.example',
      MAYFLY_READER_DOMAINS: 'mayfly.example',
      MAYFLY_WEBHOOK_ALLOW: '127.0.0.1',
    },
  })
}, 120_000)
afterAll(async () => {
  await app.stop()
  folder.remove()
})

function link(name: string): void {
  mkdirSync(dirname(join(packages, name)), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules', name), join(packages, name))
}

function start(command: string, args: string[], env: Record<string, string> = {}) {
  const { NODE_OPTIONS: _, VITEST: __, ...own } = process.env
  const child = spawn(command, args, {
    cwd: folder.path,
    env: { ...own, TMPDIR: folder.path, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk
    })
  }
  const ended = once(child, 'close').then(() => {
    const { exitCode: status, signalCode: signal } = child
    return { status, signal, output }
  })
  return { output: () => output, ended }
}

const run = (...args: Parameters<typeof start>) => start(...args).ended

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

test('the program prints what arrives and stops at the first code', async () => {
  const { ended, output: printed } = start(process.execPath, ['watch.mjs'], { MAYFLY_URL: app.url })
  await waitUntil(() => printed().includes('\n'))
  await waitForLongPolls(1, app)
  const email = printed().trim()
  await app.mail(email)
  const { status, output } = await ended
  expect([status, output]).toStrictEqual([0, `${email}\nann@sender.test: Hello\n`])
})

/** Runs all files that follow, one after the other; an example must not take the rest with it. */
const RUNNERS: Record<ExampleLanguage, { file: string; text: string; command: () => string[] }> = {
  curl: {
    file: 'run.sh',
    text: 'for file; do echo; echo "# $file"; bash -e "$file" || exit; done',
    command: () => ['bash'],
  },
  javascript: {
    file: 'run.mjs',
    text: `for (const file of process.argv.slice(2)) { console.log('#', file); await import(file) }`,
    command: () => [process.execPath],
  },
  python: {
    file: 'run.py',
    text: 'import runpy, sys\nfor file in sys.argv[1:]:\n    print("#", file, flush=True)\n    runpy.run_path(file)',
    command: () => [program('python3')],
  },
}

/** The client is not installed. */
const PYTHON = { PYTHONPATH: join(ROOT, 'clients/python'), PYTHONDONTWRITEBYTECODE: '1' }

const MAIL = `From: hello@shop.example\r
Subject: Your code\r
Content-Type: multipart/mixed; boundary=b\r
\r
--b\r
\r
Your code is 493027.\r
--b\r
Content-Disposition: attachment; filename=a.txt\r
\r
Attached.\r
--b--\r
`

for (const language of ['curl', 'javascript', 'python'] as const) {
  test(`the examples of /docs in ${language} run`, async () => {
    const { file: runner, text, command } = RUNNERS[language]
    writeFileSync(join(folder.path, runner), text)
    const examplesByCall = documentedRoutes.flatMap((route) => {
      const call = `${route.method} ${route.path}`
      const example = exampleOf(route, app.url)?.[language]
      // A stream that curl does not end.
      const isEndless = language === 'curl' && call === 'GET /api/events'
      return example && !isEndless ? [{ call, example }] : []
    })
    const files = await Promise.all(
      examplesByCall.map(async ({ call, example }) => {
        const name = `${call.replace(/\W+/g, '-')}${runner.replace('run', '')}`
        const code = await withOwnValues(example, call.includes('/webhooks'))
        writeFileSync(join(folder.path, name), code.replace('curl ', `${program('curl')} -fsS `))
        return join(folder.path, name)
      }),
    )
    const [executable = '', ...rest] = command()
    const { status, output } = await run(executable, [...rest, runner, ...files], PYTHON)
    expect(status, output).toBe(0)
    expect(output.match(/^# /gm)?.length, output).toBe(files.length)
  })
}

// A name would be looked up.
const NO_RECEIVER = 'http://127.0.0.1:9/hook'

/** A mailbox with a mail, a key that may read it, and a webhook of the key. */
async function withOwnValues(example: string, isOfWebhook: boolean): Promise<string> {
  const key = await app.ring.issue()
  const { email, token } = await app.session({}, key.headers)
  expect(await app.mail(email, MAIL)).toBe(250)
  const listed = await fetch(`${app.url}/api/check-mail?token=${token}`)
  const { messages } = (await listed.json()) as { messages: { id: number }[] }
  const values: Record<string, string> = {
    TOKEN: token,
    ADDRESS: email,
    KEY: key.secret,
    ID: isOfWebhook ? await createWebhook(key.headers) : String(messages[0]?.id),
  }
  return example
    .replaceAll(RegExp(PLACEHOLDER, 'g'), (name) => values[name] ?? name)
    .replace('https://example.com/hook', NO_RECEIVER)
}

async function createWebhook(headers: Record<string, string>): Promise<string> {
  const body = new URLSearchParams({ url: NO_RECEIVER })
  const created = await fetch(`${app.url}/webhooks`, { method: 'POST', headers, body })
  return ((await created.json()) as { webhook: { id: string } }).webhook.id
}

/** The examples of docs/tour.md in one language: a program. */
function tour(language: 'sh' | 'js' | 'python'): string {
  const all = readFileSync(join(ROOT, 'docs/tour.md'), 'utf8')
  const blocks = all.matchAll(RegExp(`\\n\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))
  return [...blocks]
    .map(([, code]) => code)
    .join('')
    .replaceAll('http://localhost:8080', app.url)
    .replaceAll('localhost:2525', `127.0.0.1:${app.smtpPort}`)
}

for (const [language, file] of [
  ['js', 'tour.mjs'],
  ['python', 'tour.py'],
] as const) {
  test(`the tour in ${language} runs`, async () => {
    const { secret } = await app.ring.issue()
    // Each tour has an address of its own.
    const code = tour(language)
      .replace(/(["'])ann\1/, `$1${language}$1`)
      .replace('mf_test_…', secret)
    writeFileSync(join(folder.path, file), code)
    const command = language === 'js' ? process.execPath : program('python3')
    const { ended, output: printed } = start(command, [file], PYTHON)
    await waitUntil(() => printed().includes('\n'))
    const [email = ''] = printed().split(' ')
    expect(email).toBe(`${language}@mayfly.example`)
    await app.mail(email, 'From: ann@sender.test\r\nSubject: Hello\r\n\r\nIt works.\r\n')
    await app.mail(email, MAIL)
    const { status, output } = await ended
    expect(status, output).toBe(0)
    expect(output).toMatch(/It works\.[\s\S]*\b493027\b/)
  })
}

test('the commands of the tour run', async () => {
  /** What the next commands need of the responses so far, by the name before the `…`. */
  const known: Record<string, string> = {}
  const bash = async (command: string) => {
    const { status, output } = await run('bash', ['-c', command], known)
    expect(status, `${command}\n${output}`).toBe(0)
    return output
  }
  const commands = tour('sh')
    .split('\n')
    .filter((line) => /^(?:curl|swaks) /.test(line) && !line.startsWith('curl -sN'))
  expect(commands.length).toBeGreaterThan(20)
  for (const line of commands) {
    const command = line
      .replace('curl ', `${program('curl')} -fS `)
      .replace('swaks ', `${program('swaks')} --from ann@sender.test `)
      .replace(/(\w+)=…/g, (_, name) => `${name}=${known[name]}`)
    const output = await bash(command)
    const response = /^[{[]/.test(output) ? JSON.parse(output) : {}
    const { token, messages, order_id: order, claim_secret: secret, key } = response
    if (token) known['TOKEN'] ??= token
    if (messages?.[0]) known['id'] = known['up_to_id'] = known['since_id'] = messages[0].id
    if (secret) Object.assign(known, { ORDER: order, SECRET: secret })
    if (key) known['KEY'] = key
  }
})
