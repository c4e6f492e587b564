import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { tempFolder } from '../../../test/kit/store/stores.ts'
import { OperatorError } from '../../base/problem.ts'
import { fileValue, isJson, parseSettings } from '../../base/settings/settings.ts'
import type { Ask } from '../../cli/prompt.ts'
import { readConfig } from '../../runtime/config.ts'
import { setupActions } from './machine.ts'
import { setUp } from './setup.ts'

let folder: ReturnType<typeof tempFolder>
beforeEach(() => {
  folder = tempFolder()
})
afterEach(() => folder.remove())

const inFolder = (name: string) => join(folder.path, name)
// Nothing answers there.
const DNS = { MAYFLY_DNS: '127.0.0.1:1' }

/** Settings of an installation that has been set up, without those of its token. */
const SETTINGS = {
  MAYFLY_DOMAINS: 'a.test',
  MAYFLY_SMTP_HOSTNAME: 'mx.a.test',
  MAYFLY_BASE_URL: 'https://www.a.test',
  MAYFLY_TRUST_PROXY: '10.0.0.1',
  MAYFLY_MTA_STS: 'enforce',
  MAYFLY_SESSION_TTL: '12h',
}

const lines = (settings: object) =>
  Object.entries(settings)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')

interface SettingsFile {
  name: string
  text(): string
  /** What the command has in its environment with such a file. */
  env?(text: string): Record<string, string>
}

const FILES: Record<string, SettingsFile> = {
  JSON: {
    name: 'mayfly.config.json',
    text: () =>
      JSON.stringify(
        {
          MAYFLY_SESSION_MAX_MESSAGES: 50,
          ...SETTINGS,
          MAYFLY_DOMAINS: ['a.test'],
          MAYFLY_ADMIN_TOKEN: 'secret of the file',
        },
        null,
        4,
      ),
  },
  'NAME=value with comments': {
    name: 'settings.env',
    text: () => `# MAYFLY_DOMAINS and the rest; do not touch
; of another kind
MAYFLY_DOMAINS=old.test
export MAYFLY_DOMAINS = "a.test" # ours

\tMAYFLY_SMTP_HOSTNAME='mx.a.test'
#MAYFLY_SMTP_HOSTNAME=mx.old.test
MAYFLY_BASE_URL=https://www.a.test/
MAYFLY_TRUST_PROXY=10.0.0.1
MAYFLY_MTA_STS=enforce
MAYFLY_ADMIN_TOKEN="secret # of the file"
OTHER_PROGRAM=\`x y\``,
  },
  Debian: {
    name: 'mayfly.env',
    text: () => {
      const template = readFileSync(
        new URL('../../../deploy/mayfly.env', import.meta.url),
        'utf8',
      ).replace(/^MAYFLY_.*\n/gm, '')
      return `${template}${lines(SETTINGS)}MAYFLY_ADMIN_TOKEN_FILE=${inFolder('token')}\n`
    },
    // deploy/debian/mayfly
    env: (text) => ({
      MAYFLY_SMTP_PORT: '25',
      MAYFLY_DATA: '/var/lib/mayfly',
      ...(parseSettings('mayfly.env', text) as Record<string, string>),
    }),
  },
  'a clone under systemd': {
    name: 'mayfly.env',
    text: () => `${lines(SETTINGS)}MAYFLY_ADMIN_TOKEN_FILE=${inFolder('token')}\n`,
  },
}

const ENVIRONMENTS: Record<string, Record<string, string>> = {
  empty: {},
  set: {
    MAYFLY_DOMAINS: 'now.test',
    MAYFLY_SMTP_HOSTNAME: 'mx.now.test',
    MAYFLY_SMTP_PORT: '26',
    MAYFLY_BASE_URL: 'https://now.test',
    MAYFLY_TRUST_PROXY: '192.0.2.1',
    MAYFLY_MTA_STS: 'testing',
    MAYFLY_ADMIN_TOKEN: 'secret of the environment',
  },
}

const RERUNS: [string, Parameters<typeof setUp>[1], Record<string, string>][] = [
  ['without options', {}, {}],
  [
    'with what it has',
    { domain: ['a.test'], hostname: 'mx.a.test', url: 'https://www.a.test', mtaSts: true },
    {},
  ],
  ['to add a domain', { domain: ['b.test'] }, { MAYFLY_DOMAINS: 'a.test,b.test' }],
  [
    'to change its names',
    { hostname: 'mx2.a.test', url: 'https://b.test/box/' },
    { MAYFLY_SMTP_HOSTNAME: 'mx2.a.test', MAYFLY_BASE_URL: 'https://b.test/box' },
  ],
]

const valuesOf = (path: string) =>
  Object.entries(parseSettings(path, readFileSync(path, 'utf8'))).map(([name, value]) => [
    name,
    fileValue(value),
  ])

/** The lines that set none of these. */
const otherLines = (text: string, names: readonly string[]) =>
  text
    .trimEnd()
    .split('\n')
    .filter((line) => !names.some((name) => new RegExp(`${name} ?= ?["'[]?(?!old)`).test(line)))

/** Without `ask` as without a terminal. */
async function run(
  options: Parameters<typeof setUp>[1],
  env: Record<string, string> = {},
  ask?: Ask,
) {
  const printed: string[] = []
  await setUp(
    setupActions({ command: 'mayfly', cwd: folder.path, env: { ...env, ...DNS }, readConfig }),
    { address: ['203.0.113.7'], ...options },
    { print: (line) => printed.push(line), ask },
  )
  return printed.join('\n')
}

/** As the service reads it with nothing else in its environment. */
function readByService(path: string) {
  const file = parseSettings(path, readFileSync(path, 'utf8'))
  if (isJson(path)) return readConfig({ env: {}, file }).config
  return readConfig({ env: file as Record<string, string>, file: {} }).config
}

describe('run again, it changes only what was asked for', () => {
  for (const [kind, { name, text, env: loaded }] of Object.entries(FILES)) {
    for (const [state, env] of Object.entries(ENVIRONMENTS)) {
      test.each(RERUNS)(`${kind}, environment ${state}: %s`, async (_, options, changes) => {
        const path = inFolder(name)
        const before = text()
        writeFileSync(inFolder('token'), 'secret token', { mode: 0o600 })
        writeFileSync(path, before)
        chmodSync(path, 0o640)
        const values = valuesOf(path)
        const printed = await run({ ...options, file: path }, { ...loaded?.(before), ...env })
        const after = readFileSync(path, 'utf8')
        expect(valuesOf(path)).toEqual(values.map(([key = '', old]) => [key, changes[key] ?? old]))
        const names = Object.keys(changes)
        if (names.length === 0) expect(after).toBe(before)
        expect(printed.includes(`${path} is up to date.`)).toBe(names.length === 0)
        if (kind !== 'JSON') expect(otherLines(after, names)).toEqual(otherLines(before, names))
        expect(statSync(path).mode & 0o777).toBe(0o640)
        expect(readFileSync(inFolder('token'), 'utf8')).toBe('secret token')
        expect(readdirSync(folder.path).sort()).toEqual([name, 'token'])
        expect(printed).not.toContain('secret')
        expect(readByService(path).adminToken).toContain('secret')
      })
    }
  }
})

describe('run again with few settings, it adds no other', () => {
  const FEW = { MAYFLY_DOMAINS: 'a.test', MAYFLY_ADMIN_TOKEN: 'secret of the file' }
  const accept: Ask = async (_, proposal) => proposal
  for (const [state, env] of Object.entries(ENVIRONMENTS)) {
    test.each<[string, Parameters<typeof setUp>[1], Ask | undefined, object]>([
      ['without options', {}, undefined, {}],
      ['to add a domain', { domain: ['b.test'] }, undefined, { MAYFLY_DOMAINS: 'a.test,b.test' }],
      [
        'to change its names',
        { hostname: 'mx.now.test', url: 'http://now.test' },
        undefined,
        { MAYFLY_SMTP_HOSTNAME: 'mx.now.test', MAYFLY_BASE_URL: 'http://now.test' },
      ],
      [
        'on a terminal',
        { domain: ['b.test'], hostname: 'mx.a.test' },
        accept,
        { MAYFLY_DOMAINS: 'a.test,b.test', MAYFLY_SMTP_HOSTNAME: 'mx.a.test' },
      ],
    ])(`environment ${state}: %s`, async (_, options, ask, changes) => {
      const path = inFolder('mayfly.env')
      writeFileSync(path, lines(FEW))
      await run({ ...options, file: path }, env, ask)
      expect(Object.fromEntries(valuesOf(path))).toEqual({ ...FEW, ...changes })
    })
  }
})

test('where root writes the first settings, a step says who must read the token', async () => {
  const printed = await run({ file: inFolder('mayfly.env'), domain: ['a.test'] })
  const isRoot = process.getuid?.() === 0
  expect(printed.includes('Let the service read the admin token')).toBe(isRoot)
})

describe('what the service would not accept is not written', () => {
  for (const [name, text, wanted, message] of [
    ['mayfly.env', lines(SETTINGS), { MAYFLY_SMTP_PORT: '25x' }, /MAYFLY_SMTP_PORT: "25x"/],
    ['mayfly.env', lines(SETTINGS), { MAYFLY_BASE_URL: 'https://a.test/?b' }, /MAYFLY_BASE_URL/],
    ['mayfly.config.json', '{}', { MAYFLY_DOMAIN: 'a.test' }, /MAYFLY_DOMAIN: unknown setting/],
    ['mayfly.config.json', '{}', { MAYFLY_ADMIN_TOKEN_FILE: '/none' }, /\/none .* does not exist/],
    ['mayfly.env', 'MAYFLY_ADMIN_TOKEN=x\n', { MAYFLY_ADMIN_TOKEN_FILE: '/x' }, /not both/],
  ] as const) {
    test(`${name}: ${JSON.stringify(wanted)}`, () => {
      const path = inFolder(name)
      writeFileSync(path, text)
      const actions = setupActions({ command: 'mayfly', cwd: folder.path, env: {}, readConfig })
      expect(() => actions.editFile(path, wanted)).toThrow(OperatorError)
      expect(() => actions.editFile(path, wanted)).toThrow(message)
      expect(readFileSync(path, 'utf8')).toBe(text)
      expect(readdirSync(folder.path)).toEqual([name])
    })
  }
})

describe('a file that is not valid is left as it is', () => {
  for (const [name, text, message] of [
    ['mayfly.config.json', '{"MAYFLY_DOMAINS": "a.test"', /mayfly\.config\.json: /],
    ['mayfly.config.json', '["a.test"]', /must contain one object/],
    ['mayfly.env', 'MAYFLY_DOMAINS=a.test,localhost\n', /"localhost" is not a domain name/],
  ] as const) {
    test(`${name}: ${text.trim()}`, async () => {
      writeFileSync(inFolder(name), text)
      const attempt = run({ file: inFolder(name), domain: ['b.test'] })
      await expect(attempt).rejects.toThrow(OperatorError)
      await expect(attempt).rejects.toThrow(message)
      expect(readFileSync(inFolder(name), 'utf8')).toBe(text)
      expect(readdirSync(folder.path)).toEqual([name])
    })
  }
})

test('a symbolic link stays one', async () => {
  writeFileSync(inFolder('real.env'), lines(SETTINGS))
  symlinkSync('real.env', inFolder('mayfly.env'))
  await run({ file: inFolder('mayfly.env'), domain: ['b.test'] })
  expect(lstatSync(inFolder('mayfly.env')).isSymbolicLink()).toBe(true)
  expect(readFileSync(inFolder('real.env'), 'utf8')).toContain('MAYFLY_DOMAINS=a.test,b.test\n')
})

test('nothing is written where the settings cannot be', async () => {
  const options = { file: inFolder('missing/mayfly.env'), domain: ['a.test'] }
  await expect(run(options)).rejects.toThrow(/^The directory \/.*missing does not exist\.$/)
  expect(readdirSync(folder.path)).toEqual([])
})

test('after the token was written, but not the settings, the next run completes it', async () => {
  symlinkSync('missing/real.env', inFolder('mayfly.env'))
  const options = { file: inFolder('mayfly.env'), domain: ['a.test'] }
  await expect(run(options)).rejects.toThrow(/ENOENT: .*mayfly\.env/)
  expect(readdirSync(folder.path).sort()).toEqual(['admin-token', 'mayfly.env'])
  const token = readFileSync(inFolder('admin-token'), 'utf8').trim()
  mkdirSync(inFolder('missing'))
  writeFileSync(inFolder('missing/real.env'), '', { mode: 0o640 })
  await run(options)
  expect(readByService(inFolder('missing/real.env'))).toMatchObject({
    domains: ['a.test'],
    adminToken: token,
  })
})

for (const [name, content] of [
  ['an empty token file is filled', ''],
  ['a token file that only its owner may read is opened to the readers of the settings', 'abc'],
] as const) {
  test(name, async () => {
    writeFileSync(inFolder('mayfly.env'), '')
    chmodSync(inFolder('mayfly.env'), 0o640)
    writeFileSync(inFolder('admin-token'), content, { mode: 0o600 })
    await run({ file: inFolder('mayfly.env'), domain: ['a.test'] })
    const { adminToken } = readByService(inFolder('mayfly.env'))
    expect(adminToken).toEqual(content === '' ? expect.stringMatching(/^.{44}$/) : content)
    expect(statSync(inFolder('admin-token')).mode & 0o777).toBe(0o640)
  })
}
