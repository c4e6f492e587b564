import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { stageClient } from '../build/client-packages.ts'
import { OTHER_SERVICES } from '../src/http/docs/coming-from.ts'
import {
  type ExampleLanguage,
  exampleOf,
  firstSteps,
  PLACEHOLDER,
} from '../src/http/docs/examples.ts'
import { documentedRoutes } from '../src/http/routes.ts'
import { ROOT } from './kit/app/service-process.ts'
import { openDnsServer } from './kit/dns/dns-server.ts'
import { waitForLongPolls } from './kit/http/api-client.ts'
import { startExample } from './kit/programs/example.ts'
import { program } from './kit/programs/programs.ts'
import { type AppWithKeys, startAppWithKeys } from './kit/shop/keys.ts'
import { FAKE_SHOP } from './kit/shop/shop-client.ts'
import { tempFolder } from './kit/store/stores.ts'
import { waitUntil } from './kit/wait-until.ts'

// The examples of /docs and docs/tour.md as they stand there, with the clients, and the calls that docs/coming-from.md names.

const folder = tempFolder()
let app: AppWithKeys
let dns: Awaited<ReturnType<typeof openDnsServer>>

beforeAll(async () => {
  stageClient(join(folder.path, 'node_modules/@mayfly-mail/client'))
  dns = await openDnsServer({ 'A ns.test': ['127.0.0.1'] })
  app = await startAppWithKeys({
    env: {
      ...FAKE_SHOP,
      MAYFLY_DOMAINS: 'mayfly.example',
      MAYFLY_READER_DOMAINS: 'mayfly.example',
      MAYFLY_WEBHOOK_ALLOW: '127.0.0.1',
      MAYFLY_OWN_DOMAINS: 'keys',
      MAYFLY_OWN_DOMAIN_DNS: dns.server,
      MAYFLY_DNS: dns.server,
    },
  })
}, 120_000)
afterAll(async () => {
  await app.stop()
  await dns.close()
  folder.remove()
})

const start = (...args: [command: string, args: string[], env?: Record<string, string>]) =>
  startExample(folder.path, ...args)
const run = (...args: Parameters<typeof start>) => start(...args).ended

test('the program of docs/clients.md prints what arrives and stops at the first code', async () => {
  const text = readFileSync(join(ROOT, 'docs/clients.md'), 'utf8')
  const [, code = ''] = /`watch\.mjs`:\n\n```js\n(.*?)```\n/s.exec(text) ?? []
  writeFileSync(join(folder.path, 'watch.mjs'), code)
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
const PYTHON = {
  PYTHONPATH: join(ROOT, 'clients/python'),
  PYTHONDONTWRITEBYTECODE: '1',
  PYTHONUNBUFFERED: '1',
}

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
    const { curl = '' } = firstSteps(app.url)
    const more = language === 'curl' ? [{ call: 'first steps', example: curl }] : []
    const files = await Promise.all(
      [...more, ...examplesByCall].map(async ({ call, example }) => {
        const name = `${call.replace(/\W+/g, '-')}${runner.replace('run', '')}`
        const code = await withOwnValues(example, call)
        writeFileSync(join(folder.path, name), code.replace(/^curl /gm, `${program('curl')} -fsS `))
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

/** A mailbox with a mail, a key that may read it, and a webhook or a domain of the key. */
async function withOwnValues(example: string, call: string): Promise<string> {
  const key = await app.ring.issue()
  const { email, token } = await app.session({}, key.headers)
  expect(await app.mail(email, MAIL)).toBe(250)
  const listed = await fetch(`${app.url}/api/check-mail?token=${token}`)
  const { messages } = (await listed.json()) as { messages: { id: number }[] }
  const values: Record<string, string> = {
    TOKEN: token,
    ADDRESS: email,
    KEY: key.secret,
    ID: await idFor(call, key.headers, String(messages[0]?.id)),
  }
  return example
    .replaceAll(RegExp(PLACEHOLDER, 'g'), (name) => values[name] ?? name)
    .replace('https://example.com/hook', NO_RECEIVER)
}

async function idFor(call: string, headers: Record<string, string>, messageId: string) {
  if (call.includes('/webhooks')) return await createWebhook(headers)
  return call.includes('/domains/') ? await addDomain(headers) : messageId
}

let domains = 0
/** A domain that no other example uses, with its record. */
async function addDomain(headers: Record<string, string>): Promise<string> {
  domains += 1
  const domain = `corp${domains}.test`
  const body = new URLSearchParams({ domain })
  const added = await fetch(`${app.url}/domains`, { method: 'POST', headers, body })
  const { id, records } = (await added.json()) as { id: string; records: { value: string }[] }
  Object.assign(dns.zone, {
    [`NS ${domain}`]: ['ns.test'],
    [`SOA ${domain}`]: ['ns.test'],
    [`TXT _mayfly.${domain}`]: records.map(({ value }) => value),
  })
  return id
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

for (const [language, file, name] of [
  ['js', 'tour.mjs', 'javascript'],
  ['python', 'tour.py', 'python'],
] as const) {
  const command = language === 'js' ? process.execPath : program('python3')

  /** Sends two mails to the address that the program prints first. */
  async function runWithMail(code: string) {
    writeFileSync(join(folder.path, file), code)
    const { ended, output: printed } = start(command, [file], PYTHON)
    await waitUntil(() => printed().includes('\n'))
    const [email = ''] = printed().split(' ')
    await app.mail(email, 'From: ann@sender.test\r\nSubject: Hello\r\n\r\nIt works.\r\n')
    await app.mail(email, MAIL)
    const { status, output } = await ended
    expect(status, output).toBe(0)
    return { email, output }
  }

  test(`the tour in ${name} runs`, async () => {
    const { secret } = await app.ring.issue()
    // Each tour has an address of its own.
    const code = tour(language)
      .replace(/(["'])ann\1/, `$1${language}$1`)
      .replace('mf_test_…', secret)
    const { email, output } = await runWithMail(code)
    expect(email).toBe(`${language}@mayfly.example`)
    expect(output).toMatch(/It works\.[\s\S]*\b493027\b/)
  })

  test(`the first steps in ${name} run`, async () => {
    const { output } = await runWithMail(firstSteps(app.url)[name] ?? '')
    expect(output).toMatch(/^Hello It works\./m)
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

test('docs/coming-from.md names calls, parameters and methods that exist', async () => {
  const calls = OTHER_SERVICES.flatMap((service) => service.calls)
  for (const [, http] of calls) {
    for (const [, method, path, query] of http.matchAll(/`([A-Z]+) ([^`?]+)\??([^`]*)`/g)) {
      const route = documentedRoutes.find((one) => one.method === method && one.path === path)
      expect.assert(route, http)
      const named = [...new URLSearchParams(query).keys()]
      expect(Object.keys(route.input.properties), http).toEqual(expect.arrayContaining(named))
    }
  }
  const methods = (at: 2 | 3) =>
    calls.flatMap((call) =>
      [...call[at].matchAll(/\b(mayfly|mailbox)((?:\.\w+)+)\(/g)].map(
        ([, on = '', name = '']) => on + name,
      ),
    )
  const CHECKS = {
    'check.mjs': `import { Mayfly } from '@mayfly-mail/client'
const mayfly = new Mayfly({ url: '${app.url}' })
const objects = { mayfly, mailbox: await mayfly.createMailbox() }
for (const name of process.argv.slice(2)) {
  const found = name.split('.').reduce((value, key) => value[key], objects)
  if (typeof found !== 'function') throw new Error(name)
}`,
    'check.py': `import functools, sys
from mayfly_mail import Mayfly
mayfly = Mayfly("${app.url}")
objects = {"mayfly": mayfly, "mailbox": mayfly.create_mailbox()}
for name in sys.argv[1:]:
    first, *rest = name.split(".")
    assert callable(functools.reduce(getattr, rest, objects[first])), name`,
  }
  for (const [name, code] of Object.entries(CHECKS)) writeFileSync(join(folder.path, name), code)
  for (const [command, file, names] of [
    [process.execPath, 'check.mjs', methods(2)],
    [program('python3'), 'check.py', methods(3)],
  ] as const) {
    expect(names.length).toBeGreaterThanOrEqual(calls.length)
    const { status, output } = await run(command, [file, ...names], PYTHON)
    expect(status, output).toBe(0)
  }
})
