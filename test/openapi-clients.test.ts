import { spawnSync } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { build } from 'vite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ROOT } from './kit/app/service-process.ts'
import { fromNpm } from './kit/programs/npm.ts'
import { type AppWithKeys, startAppWithKeys } from './kit/shop/keys.ts'
import { DISK, tempFolder } from './kit/store/stores.ts'

// Clients that other tools generate from /openapi.json: compiled strictly, and run.

const REDOCLY = '2.77.0'
const HEY_API = '0.99.0'
const BESIDE = ['openapi-typescript@7.13.0', 'openapi-fetch@0.17.0', 'typescript@5.9.3']

const folder = tempFolder(DISK)
const inFolder = (name: string) => join(folder.path, name)
let app: AppWithKeys
beforeAll(async () => {
  app = await startAppWithKeys({ env: { MAYFLY_WEBHOOK_ALLOW: '127.0.0.1' } })
  const document = await fetch(`${app.url}/openapi.json`)
  writeFileSync(inFolder('openapi.json'), await document.text())
  writeFileSync(inFolder('common.ts'), COMMON)
  const packages = resolve(
    fromNpm('@hey-api/openapi-ts', HEY_API, 'bin/run.js', BESIDE),
    '../../../..',
  )
  symlinkSync(packages, inFolder('node_modules'))
})
afterAll(async () => {
  await app.stop()
  folder.remove()
})

const runNode = (args: string[]) =>
  spawnSync(process.execPath, args, { cwd: folder.path, encoding: 'utf8' })

test('redocly lint has no errors and no warnings', () => {
  const redocly = fromNpm('@redocly/cli', REDOCLY, 'bin/cli.js')
  const { stdout, stderr } = runNode([redocly, 'lint', 'openapi.json', '--format=json'])
  expect(JSON.parse(stdout), stderr).toMatchObject({ totals: { errors: 0, warnings: 0 } })
})

/** What both programs do with their client. */
const COMMON = `
export interface Setup {
  url: string
  key: string
  receiver: string
  mail(to: string): Promise<number>
}

export function found<T>({ data, error }: { data?: T; error?: unknown }): NonNullable<T> {
  if (data === undefined || data === null) throw new Error(JSON.stringify(error))
  return data
}
`

const OPENAPI_FETCH = `
import createClient from 'openapi-fetch'
import { found, type Setup } from './common'
import type { components, paths, webhooks } from './schema'

type Delivery = webhooks['message.received']['post']['requestBody']['content']['application/json']
export const codeOf = ({ data }: Delivery): string | null => data.code

export async function run({ url, key, receiver, mail }: Setup) {
  const anyone = createClient<paths>({ baseUrl: url })
  const { email, token } = found(await anyone.POST('/api/create-session', { body: { ttl: 600 } }))
  const holder = createClient<paths>({ baseUrl: url, headers: { Authorization: \`Bearer \${token}\` } })
  const waiting = holder.GET('/api/check-mail', { params: { query: { wait: 50 } } })
  await mail(email)
  const { messages } = found(await waiting)
  const id = messages[0]?.id ?? 0
  const { message } = found(await holder.GET('/api/read-mail', { params: { query: { id } } }))
  // @ts-expect-error: it must say what
  const refused: { error?: components['schemas']['Problem'] } = await holder.POST('/api/delete-mail', { body: {} })
  const { deleted } = found(await holder.POST('/api/delete-mail', { body: { ids: [id] } }))

  const { GET, POST, DELETE } = createClient<paths>({ baseUrl: url, headers: { APIKey: key } })
  const own = found(await POST('/api/create-session', { body: { label: 'mine' } }))
  await mail(own.email)
  const groups = found(await GET('/emails', { params: { query: { to: own.email } } }))
  const path = { id: groups[0]?.emails[0]?.id ?? 0 }
  const whole = found(await GET('/emails/{id}', { params: { path } }))
  const raw = found(await GET('/emails/{id}/raw', { params: { path }, parseAs: 'text' }))
  const { sessions } = found(await GET('/sessions'))
  const { webhook } = found(await POST('/webhooks', { body: { url: receiver, to: own.email } }))
  const named = { params: { path: { id: webhook.id } } }
  const changed = found(await POST('/webhooks/{id}', { ...named, body: { state: 'paused', clear: ['to'] } }))
  await DELETE('/webhooks/{id}', named)
  return {
    subject: message.subject,
    deleted,
    refused: refused.error?.code,
    body: whole.email.body.trim(),
    raw: raw.includes(own.email),
    labels: sessions.map(({ label }) => label),
    webhook: [webhook.state, changed.webhook.state, changed.webhook.to],
    left: found(await GET('/webhooks')).webhooks.length,
  }
}
`

const HEY_API_SDK = `
import { found, type Setup } from './common'
import { createClient } from './hey/client'
import * as api from './hey'

export const codeOf = ({ data }: api.MessageReceived): string | null => data.code

export async function run({ url, key, receiver, mail }: Setup) {
  const anyone = createClient({ baseUrl: url })
  const { email, token } = found(await api.createSession({ client: anyone, body: { ttl: 600 } }))
  const holder = { client: createClient({ baseUrl: url, auth: token }) }
  const waiting = api.checkMail({ ...holder, query: { wait: 50 } })
  await mail(email)
  const { messages } = found(await waiting)
  const id = messages[0]?.id ?? 0
  const { message } = found(await api.readMail({ ...holder, query: { id } }))
  // @ts-expect-error: it must say what
  const refused = await api.deleteMail({ ...holder, body: {} })
  const { deleted } = found(await api.deleteMail({ ...holder, body: { ids: [id] } }))

  const client = createClient({ baseUrl: url, auth: key })
  const own = found(await api.createSession({ client, body: { label: 'mine' } }))
  await mail(own.email)
  const groups = found(await api.listEmails({ client, query: { to: own.email } }))
  const path = { id: groups[0]?.emails[0]?.id ?? 0 }
  const whole = found(await api.readEmail({ client, path }))
  const raw = found(await api.downloadEmail({ client, path, parseAs: 'text' }))
  const { sessions } = found(await api.listSessions({ client }))
  const { webhook } = found(await api.createWebhook({ client, body: { url: receiver, to: own.email } }))
  const named = { client, path: { id: webhook.id } }
  const changed = found(await api.updateWebhook({ ...named, body: { state: 'paused', clear: ['to'] } }))
  await api.deleteWebhook(named)
  return {
    subject: message.subject,
    deleted,
    refused: refused.error?.code,
    body: whole.email.body.trim(),
    raw: raw.includes(own.email),
    labels: sessions.map(({ label }) => label),
    webhook: [webhook.state, changed.webhook.state, changed.webhook.to],
    left: found(await api.listWebhooks({ client })).webhooks.length,
  }
}
`

interface Program {
  run(setup: object): Promise<unknown>
}

/** Fails if the program does not compile. */
async function compile(name: string, source: string): Promise<Program> {
  const file = inFolder(`${name}.ts`)
  writeFileSync(file, source)
  const strict = ['--strict', '--noUncheckedIndexedAccess', '--noImplicitReturns', '--noEmit']
  const modules = ['--module', 'esnext', '--moduleResolution', 'bundler', '--lib', 'esnext,dom']
  const tsc = join(ROOT, 'node_modules/.bin/tsc')
  const args = [...strict, ...modules, '--types', '', '--target', 'esnext', file]
  expect(spawnSync(tsc, args, { cwd: folder.path, encoding: 'utf8' }).stdout).toBe('')
  await build({
    ...{ configFile: false, logLevel: 'error', root: folder.path, ssr: { noExternal: true } },
    build: { ssr: file, rolldownOptions: { output: { entryFileNames: `${name}.mjs` } } },
  })
  return await import(inFolder(`dist/${name}.mjs`))
}

test.each([
  [
    'openapi-typescript and openapi-fetch',
    OPENAPI_FETCH,
    ['node_modules/openapi-typescript/bin/cli.js', 'openapi.json', '-o', 'schema.ts'],
  ],
  [
    'hey-api',
    HEY_API_SDK,
    ['node_modules/@hey-api/openapi-ts/bin/run.js', '-i', 'openapi.json', '-o', 'hey', '--silent'],
  ],
])('a client generated by %s compiles strictly and works', async (tools, program, generator) => {
  const generated = runNode(generator)
  expect(generated.status, generated.stderr).toBe(0)
  const { run } = await compile(tools.replaceAll(' ', '-'), program)
  const { secret: key } = await app.ring.issue()
  const receiver = 'http://127.0.0.1:9/'
  expect(await run({ url: app.url, key, receiver, mail: app.mail })).toStrictEqual({
    subject: 'Hello',
    deleted: 1,
    refused: 'missing_parameter',
    body: 'Your code is 123456.',
    raw: true,
    labels: ['mine'],
    webhook: ['active', 'paused', null],
    left: 0,
  })
})
