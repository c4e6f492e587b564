import { globSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { importCycle, importFaults, importsOf } from './kit/import-table.ts'

const root = new URL('../', import.meta.url)
const files = globSync('src/**/*.ts', { cwd: fileURLToPath(root) })

test('every file of src imports only what the table allows', () => {
  const faults = files.flatMap((path) =>
    importFaults(path, readFileSync(new URL(path, root), 'utf8')),
  )
  expect(faults).toEqual([])
})

/** All packages that reach the browser. */
const PAGE_PACKAGES = [
  'preact',
  'preact/hooks',
  '@preact/signals',
  'dompurify',
  'uplot',
  'uplot/dist/uPlot.min.css',
  'uqr',
]

const pageFiles = globSync('web/*/**/*.{ts,tsx}', { cwd: fileURLToPath(root) }).filter(
  (path) => !/\.test\.ts$/.test(path),
)

test('the page imports only shared and base of src, and only the listed packages', () => {
  const forbidden = pageFiles.flatMap((path) =>
    importsOf(readFileSync(new URL(path, root), 'utf8'))
      .map(({ target }) => target)
      .filter((target) =>
        target.startsWith('.')
          ? !/^(web|src\/(?:shared|base))\//.test(posix.join(posix.dirname(path), target))
          : !PAGE_PACKAGES.includes(target),
      )
      .map((target) => `${path}: the page may not import ${target}`),
  )
  expect(forbidden).toEqual([])
})

test('the extension imports only shared of src, types of the client, and preact', () => {
  const extensionFiles = globSync('clients/extension/src/**/*.{ts,tsx}', {
    cwd: fileURLToPath(root),
  }).filter((path) => !/\.test\.ts$/.test(path))
  expect(extensionFiles.length).toBeGreaterThan(10)
  const forbidden = extensionFiles.flatMap((path) =>
    importsOf(readFileSync(new URL(path, root), 'utf8'))
      .filter(({ target, typeOnly }) => {
        const file = posix.join(posix.dirname(path), target)
        if (!target.startsWith('.')) return !/^preact(\/hooks)?$/.test(target)
        if (file === 'clients/js/src/api.ts') return !typeOnly
        return !/^(clients\/extension|src\/shared)\//.test(file)
      })
      .map(({ target }) => `${path}: the extension may not import ${target}`),
  )
  expect(forbidden).toEqual([])
})

test('code shared by the page and the server imports nothing of Node', () => {
  const imported = pageFiles.flatMap((path) =>
    importsOf(readFileSync(new URL(path, root), 'utf8'))
      .map(({ target }) => posix.join(posix.dirname(path), target))
      .filter((target) => target.startsWith('src/')),
  )
  const shared = files.filter((path) => /^src\/shared\/.*(?<!\.test)\.ts$/.test(path))
  const reached = new Set([...shared, ...imported])
  expect(reached).toContain('src/base/time.ts')
  // The set grows while it is iterated; each file is visited once.
  for (const path of reached) {
    for (const { target } of importsOf(readFileSync(new URL(path, root), 'utf8'))) {
      expect(target, path).toMatch(/^\./)
      reached.add(posix.join(posix.dirname(path), target))
    }
  }
})

test('no files import each other, not even types', () => {
  const all = globSync('{src,web,clients/js,clients/extension,build,bench}/**/*.{ts,tsx}', {
    cwd: fileURLToPath(root),
    exclude: (name) => name === 'node_modules' || name === 'dist',
  })
  const imports = new Map(
    all.map((path) => [
      path,
      importsOf(readFileSync(new URL(path, root), 'utf8'))
        .filter(({ startsProgram }) => !startsProgram)
        .map(({ target }) => posix.join(posix.dirname(path), target)),
    ]),
  )
  expect(importCycle(imports)).toEqual([])
})

test('a cycle of imports is found', () => {
  const imports = new Map([
    ['a', ['b']],
    ['b', ['c', 'd']],
    ['c', []],
    ['d', ['b']],
  ])
  expect(importCycle(imports)).toEqual(['b', 'd', 'b'])
})

test('the table covers every folder of src', () => {
  expect(files.length).toBeGreaterThan(50)
  expect(pageFiles.length).toBeGreaterThan(10)
  for (const path of [
    'src/main.ts',
    'src/runtime/config.ts',
    'src/base/address.ts',
    'src/runtime/smtp.ts',
  ]) {
    expect(files).toContain(path)
  }
})

describe('allowed', () => {
  for (const [path, source] of [
    ['src/base/text.ts', "import { Problem } from './problem.ts'"],
    ['src/base/log/open-log.ts', "import { pino } from 'pino'"],
    ['src/shared/plan-text.ts', "import { toMonths } from '../base/time.ts'"],
    ['src/mail/receive-mail.ts', "import type { Bus } from '../bus/bus.ts'"],
    ['src/mail/receive-mail.ts', "import { readHead } from '../mime/header-summary.ts'"],
    ['src/mail/api/x.ts', "import { route } from '../../http/server/route.ts'"],
    ['src/webhooks/deliver.ts', "import { keyScope } from '../keys/emails/emails.ts'"],
    ['src/blocks/commands.ts', "import { table } from '../cli/output.ts'"],
    ['src/shop/pages.ts', "import { html } from '../http/pages/html.ts'"],
    ['src/keys/rules.ts', "import { hash } from 'node:crypto'"],
    ['src/gmail/rules.ts', "import { isLive } from '../mail/rules/session.ts'"],
    ['src/gmail/rules.ts', "import type { A } from '../mail/store.ts'"],
    ['src/http/routes.ts', "import { blockRoutes } from '../blocks/admin.ts'"],
    ['src/main.ts', "import { startService } from './runtime/start.ts'"],
    ['src/main.ts', "const file = new URL('../package.json', import.meta.url)"],
    ['src/runtime/smtp.ts', "import { openSmtp } from '../smtp/server.ts'"],
    ['src/store/sqlite/shop-store.ts', "import { keyReads } from '../../keys/store.ts'"],
    ['src/store/sqlite.test.ts', "import { scratchMail } from '../../test/kit/store/stores.ts'"],
    ['src/mime/parse.ts', "import PostalMime from 'postal-mime'"],
    ['src/sender-auth/checker.ts', "import { openPool } from '../sandbox/pool.ts'"],
  ] as const) {
    test(`${path}: ${source}`, () => expect(importFaults(path, source)).toEqual([]))
  }
})

describe('rejected', () => {
  for (const [path, source, sentence] of [
    ['src/base/x.ts', "import { a } from '../mail/a.ts'", 'base may not import mail'],
    ['src/base/x.ts', "import { a } from '../shared/a.ts'", 'base may not import shared'],
    ['src/shared/x.ts', "import { a } from '../mail/a.ts'", 'shared may not import mail'],
    ['src/shared/x.ts', "import { isIP } from 'node:net'", 'shared may not import node:net'],
    ['src/store/x.ts', "import { a } from '../bus/bus.ts'", 'store may not import bus'],
    ['src/store/x.ts', "import { a } from '../blocks/blocks.ts'", 'store may not import blocks'],
    ['src/sandbox/x.ts', "import { a } from '../mime/parser.ts'", 'sandbox may not import mime'],
    ['src/mime/x.ts', "import type { A } from '../mail/a.ts'", 'mime may not import mail'],
    ['src/mail/x.ts', "import { a } from '../bus/bus.ts'", 'mail may import only types of bus'],
    [
      'src/mail/x.ts',
      "import { type A } from '../bus/bus.ts'",
      'mail may import only types of bus',
    ],
    ['src/mail/x.ts', "import { a } from '../gmail/a.ts'", 'mail may not import gmail'],
    ['src/mail/x.ts', "import { a } from '../store/store.ts'", 'mail may not import store'],
    ['src/shop/x.ts', "import type { A } from '../webhooks/a.ts'", 'shop may not import webhooks'],
    ['src/keys/x.ts', "import type { A } from '../shop/a.ts'", 'keys may not import shop'],
    [
      'src/http/server/x.ts',
      "import { a } from '../../mail/a.ts'",
      'http/server may not import mail',
    ],
    [
      'src/http/pages/x.ts',
      "import { a } from '../../shop/a.ts'",
      'http/pages may not import shop',
    ],
    ['src/smtp/x.ts', "import {\n  a,\n  b,\n} from '../limit/a.ts'", 'smtp may not import limit'],
    ['src/smtp/x.ts', "const a = await import('../store/a.ts')", 'smtp may not import store'],
    ['src/smtp/x.ts', "new Worker(new URL('../store/a.ts', x))", 'smtp may not import store'],
    ['src/smtp/x.ts', "import '../store/a.ts'", 'smtp may not import store'],
    ['src/smtp/x.ts', "export { a } from '../store/a.ts'", 'smtp may not import store'],
    [
      'src/mail/x.ts',
      "import { a } from '../runtime/start.ts'",
      'nobody imports src/runtime/start.ts',
    ],
    ['src/keys/x.ts', "import { a } from '../http/routes.ts'", 'nobody imports src/http/routes.ts'],
    ['src/runtime/x.ts', "import { a } from '../main.ts'", 'nobody imports src/main.ts'],
    ['src/http/health.ts', "import { a } from '../runtime/start.ts'", 'nobody imports src/runtime'],
    ['src/mail/x.ts', "import { a } from '../mime/parse.ts'", 'only a child process parses mail'],
    [
      'src/mail/rules/x.ts',
      "import { readFileSync } from 'node:fs'",
      'rules may not import node:fs',
    ],
    ['src/keys/rules.ts', "import { pino } from 'pino'", 'rules may not import pino'],
    [
      'src/keys/rules.ts',
      "import { hash, randomBytes } from 'node:crypto'",
      'rules may not import randomBytes of node:crypto',
    ],
    [
      'src/mail/rules/x.ts',
      "import { a } from '../sessions/create-session.ts'",
      'rules may not import src/mail/sessions/create-session.ts',
    ],
    ['src/mail/x.ts', "import { a } from '../../test/kit/app/app.ts'", 'outside src'],
    ['src/smtp/x.ts', "import { a } from './testing/dialogue.ts'", 'which is for tests'],
    ['src/store/sqlite/x.ts', "import { a } from '../postgres/a.ts'", 'no engine imports another'],
    ['src/helpers/x.ts', '', 'helpers is not in the table'],
    ['src/base/index.ts', '', 'no index files'],
  ] as const) {
    test(`${path}: ${source || 'the file itself'}`, () => {
      expect(importFaults(path, source)).toEqual([expect.stringContaining(sentence)])
    })
  }
})
