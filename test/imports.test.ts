import { globSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

/** One import statement. Only `import type` loads nothing at run time. */
interface Import {
  target: string
  typeOnly: boolean
}

const MAIL = ['base', 'shared', 'mime', 'codes', 'http/server', 'cli/output']
const KEYS = [...MAIL, 'mail', 'http/pages']
const FEATURE = [...KEYS, 'keys']

/** Each of them can be deleted, with its lines in the lists. */
const FEATURES = ['gmail', 'shop', 'webhooks', 'domains', 'blocks', 'doctor', 'admin', 'mcp']

/** The folders that each folder may import besides itself; the same table is in ARCHITECTURE.md. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  base: [],
  shared: ['base'],
  sandbox: ['base', 'shared'],
  redis: ['base'],
  codes: ['base', 'shared', 'sandbox'],
  mime: ['base', 'shared', 'sandbox', 'codes'],
  'sender-auth': ['base', 'shared', 'sandbox', 'mime'],
  bus: ['base', 'redis'],
  limit: ['base', 'redis'],
  'http/server': ['base', 'shared'],
  'cli/output': ['base', 'shared'],
  mail: MAIL,
  'http/docs': ['base', 'shared', 'http/server'],
  'http/pages': [...MAIL, 'mail', 'http/docs'],
  smtp: ['base', 'shared', 'mail', 'mime'],
  store: ['base', 'shared'],
  keys: KEYS,
  ...Object.fromEntries(FEATURES.map((feature) => [feature, FEATURE])),
}

/** Folders of which only types may be imported: the values are passed. */
const TYPES_ONLY: Record<string, readonly string[]> = {
  'http/server': ['limit', 'bus', 'keys'],
  mail: ['limit', 'bus', 'keys'],
  keys: ['limit', 'bus'],
  bus: ['mail'],
  ...Object.fromEntries(FEATURES.map((feature) => [feature, ['limit', 'bus']])),
}

/** What the engines run inside their commits: the rules and the operations of all folders. */
const FOR_STORE = /^src\/[\w-]+\/(?:[\w-]+\/)?(?:rules|rules\/[\w-]+|deps|[\w-]*store[\w-]*)\.ts$/

/** Files outside src that the roots may import: our version, the built page, and the client, for the test kit. */
const OUTSIDE = ['package.json', 'dist/page/', 'clients/js/src/mayfly.ts']

/** Composition roots and lists: they may import everything, and nothing else may import them. */
const ROOT = /^src\/(?:main|runtime\/.*|cli\/(?!output|progress|prompt|banner).*|http\/[\w-]+)\.ts$/

/** Tests and test helpers: they may import everything, and no other code may import them. */
const FOR_TESTS = /\.(test|contract)\.ts$|\/(fixtures|testing|contract)\//

/** The violations in a file of src, one sentence each. `path` starts with `src/`. */
export function importFaults(path: string, source: string): string[] {
  if (/(^|\/)index\.ts$/.test(path)) return [`${path}: no index files, import the file itself`]
  if (FOR_TESTS.test(path)) return []
  const part = partOf(path)
  if (!isRoot(path) && !MAY_IMPORT[part]) {
    return [`${path}: ${part} is not in the table of test/imports.test.ts; add its row and say why`]
  }
  return importsOf(source).flatMap(({ target, typeOnly }) => {
    const fault = target.startsWith('.')
      ? relativeFault(path, posix.join(posix.dirname(path), target), typeOnly)
      : packageFault(part, target)
    return fault ? [`${path}: ${fault}`] : []
  })
}

function relativeFault(path: string, target: string, typeOnly: boolean): string | undefined {
  const from = partOf(path)
  if (!target.startsWith('src/')) {
    const known = OUTSIDE.includes(target) && isRoot(path)
    return known ? undefined : `what runs may not import ${target}, which is outside src`
  }
  if (FOR_TESTS.test(target)) return `what runs may not import ${target}, which is for tests`
  const to = partOf(target)
  if (isRoot(target) && !isRoot(path)) return `nobody imports ${target}: it puts the parts together`
  if (isRoot(path)) return undefined
  if (from === to) return engineFault(path, target)
  if (MAY_IMPORT[from]?.includes(to)) return undefined
  if (from === 'store' && FOR_STORE.test(target)) return undefined
  if (TYPES_ONLY[from]?.includes(to)) {
    return typeOnly ? undefined : `${from} may import only types of ${to}: write import type`
  }
  return `${from} may not import ${to}`
}

function isRoot(path: string): boolean {
  return ROOT.test(path)
}

function engineFault(path: string, target: string): string | undefined {
  const [from, to] = [path, target].map(
    (file) => /^src\/store\/(sqlite|postgres)\//.exec(file)?.[1],
  )
  return from && to && from !== to ? `no engine imports another: ${from}, ${to}` : undefined
}

function packageFault(part: string, target: string): string | undefined {
  return part === 'shared' ? `shared may not import ${target}: browsers run it, too` : undefined
}

/** Files of cli that commands of all folders use. */
const CLI_OUTPUT = /^src\/cli\/(?:output|progress|prompt|banner)\.ts$/

/** The folder under src, or the file itself if it is directly in src. */
function partOf(path: string): string {
  if (CLI_OUTPUT.test(path)) return 'cli/output'
  const [, first = '', second = ''] = path.split('/')
  if (first === 'http' && !second.endsWith('.ts')) return `http/${second}`
  return first.replace(/\.ts$/, '')
}

/** Static imports and exports, import() and new URL('./x.ts'). */
export function importsOf(source: string): Import[] {
  const fixed = source.matchAll(/^(?:import|export)\s(type\s)?(?:[^'";]*?\sfrom\s)?\s*'([^']+)'/gm)
  const dynamic = source.matchAll(/\bimport\(\s*['"`]([^'"`]+)['"`]/g)
  const files = source.matchAll(/new URL\(\s*['"`](\.[^'"`]+)['"`]/g)
  return [
    ...[...fixed].map(([, type, target = '']) => ({ target, typeOnly: type !== undefined })),
    ...[...dynamic, ...files].map(([, target = '']) => ({ target, typeOnly: false })),
  ]
}

const root = new URL('../', import.meta.url)
const files = globSync('src/**/*.ts', { cwd: fileURLToPath(root) })

test('every file of src imports only what the table allows', () => {
  const faults = files.flatMap((path) =>
    importFaults(path, readFileSync(new URL(path, root), 'utf8')),
  )
  expect(faults).toEqual([])
})

/** All packages that reach the browser. */
const PAGE_PACKAGES = ['preact', 'preact/hooks', '@preact/signals', 'dompurify', 'uqr']

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
    ['src/http/routes.ts', "import { blockRoutes } from '../blocks/admin.ts'"],
    ['src/main.ts', "import { startService } from './runtime/start.ts'"],
    ['src/main.ts', "const file = new URL('../package.json', import.meta.url)"],
    ['src/runtime/smtp.ts', "import { openSmtp } from '../smtp/server.ts'"],
    ['src/store/sqlite/shop-store.ts', "import { keyReads } from '../../keys/store.ts'"],
    ['src/store/sqlite.test.ts', "import { scratchMail } from '../../test/support/stores.ts'"],
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
    ['src/mail/x.ts', "import { a } from '../../test/support/app.ts'", 'outside src'],
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
