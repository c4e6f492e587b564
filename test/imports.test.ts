import { globSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

/** One import statement. Only `import type` loads nothing at run time. */
interface Import {
  target: string
  typeOnly: boolean
}

/** The folders that each folder may import besides itself; the same table is in ARCHITECTURE.md. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  core: [],
  shared: ['core'],
  config: ['core', 'shared'],
  log: ['core', 'shared'],
  sandbox: ['core', 'shared'],
  extract: ['core', 'shared'],
  mime: ['core', 'shared', 'sandbox', 'extract'],
  'sender-auth': ['core', 'shared', 'sandbox'],
  store: ['core', 'shared'],
  redis: ['core', 'shared'],
  bus: ['core', 'redis'],
  limit: ['core', 'redis'],
  pay: ['core', 'shared'],
  service: ['core', 'shared', 'mime', 'extract'],
  mcp: ['core', 'shared'],
  smtp: ['core', 'shared', 'service'],
  imap: ['core', 'shared', 'service'],
  http: ['core', 'shared', 'service', 'mcp'],
  cli: ['core', 'shared', 'service', 'mcp'],
}

/** Folders of which a service may import types only: the values are passed to it. */
const TYPES_FOR_SERVICE = ['store', 'bus', 'limit', 'pay']

/** The only file of mime that adapters may import. */
const ADAPTERS = ['smtp', 'imap', 'http', 'cli']
const HEADER_READER = 'src/mime/header-fields.ts'

/** Files outside src that the roots may import: our version, the built page, and the client, for the test kit. */
const OUTSIDE = ['package.json', 'dist/page/', 'clients/js/src/mayfly.ts']

/** Composition roots: they may import everything, and nothing may import them. */
const ROOTS = ['main', 'runtime']

/** Parts of Node that core may import: pure functions without clock, randomness, disk or network. */
const PURE: Record<string, readonly string[]> = {
  'node:crypto': ['createHmac', 'hash'],
  'node:zlib': ['crc32'],
  'node:url': ['domainToASCII'],
  'node:net': ['BlockList', 'isIP'],
}

/** Tests and test helpers: they may import everything, and no other code may import them. */
const FOR_TESTS = /\.(test|contract)\.ts$|\/(fixtures|testing|contract)\//

/** The violations in a file of src, one sentence each. `path` starts with `src/`. */
export function importFaults(path: string, source: string): string[] {
  if (/(^|\/)index\.ts$/.test(path)) return [`${path}: no index files, import the file itself`]
  if (FOR_TESTS.test(path)) return []
  const part = partOf(path)
  if (!ROOTS.includes(part) && !MAY_IMPORT[part]) {
    return [`${path}: ${part} is not in the table of test/imports.test.ts; add its row and say why`]
  }
  return importsOf(source).flatMap(({ target, typeOnly }) => {
    const fault = target.startsWith('.')
      ? relativeFault(path, posix.join(posix.dirname(path), target), typeOnly)
      : packageFault(part, target, source)
    return fault ? [`${path}: ${fault}`] : []
  })
}

function relativeFault(path: string, target: string, typeOnly: boolean): string | undefined {
  const from = partOf(path)
  if (!target.startsWith('src/')) {
    const known = OUTSIDE.includes(target) && ROOTS.includes(from)
    return known ? undefined : `what runs may not import ${target}, which is outside src`
  }
  if (FOR_TESTS.test(target)) return `what runs may not import ${target}, which is for tests`
  const to = partOf(target)
  if (from === to) return engineFault(path, target)
  if (ROOTS.includes(to) && !(from === 'main' && to === 'runtime')) {
    return `nobody imports ${to}: it puts the parts together`
  }
  if (ROOTS.includes(from) || MAY_IMPORT[from]?.includes(to) || isHeaderReader(from, target)) {
    return undefined
  }
  if (from === 'service' && TYPES_FOR_SERVICE.includes(to)) {
    return typeOnly ? undefined : `service may import only types of ${to}: write import type`
  }
  return `${from} may not import ${to}`
}

function isHeaderReader(from: string, target: string): boolean {
  return ADAPTERS.includes(from) && target === HEADER_READER
}

function engineFault(path: string, target: string): string | undefined {
  const [from, to] = [path, target].map(
    (file) => /^src\/store\/(sqlite|postgres)\//.exec(file)?.[1],
  )
  return from && to && from !== to ? `no engine imports another: ${from}, ${to}` : undefined
}

function packageFault(part: string, target: string, source: string): string | undefined {
  if (part === 'shared') return `shared may not import ${target}: browsers run it, too`
  if (part !== 'core') return undefined
  const allowed = PURE[target]
  if (!allowed) return `core may not import ${target}: no I/O, no clock, no chance, no packages`
  const names = [...source.matchAll(new RegExp(`import \\{([^}]*)\\} from '${target}'`, 'g'))]
    .flatMap(([, list = '']) => list.split(','))
    .map((name) => name.trim())
    .filter((name) => name !== '' && !allowed.includes(name))
  return names.length > 0 ? `core may not import ${names} of ${target}` : undefined
}

/** The folder under src, or the file itself if it is directly in src. */
function partOf(path: string): string {
  const [, first = ''] = path.split('/')
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

test('the page imports only shared and core of src, and only the listed packages', () => {
  const forbidden = pageFiles.flatMap((path) =>
    importsOf(readFileSync(new URL(path, root), 'utf8'))
      .map(({ target }) => target)
      .filter((target) =>
        target.startsWith('.')
          ? !/^(web|src\/(?:shared|core))\//.test(posix.join(posix.dirname(path), target))
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
    ['src/mail/rules/prefix.ts', "import { Problem } from './problem.ts'"],
    ['src/base/id.ts', "import { hash } from 'node:crypto'"],
    ['src/shared/x.ts', "import { priceText } from '../core/plan.ts'"],
    ['src/http/x.ts', "import { displaySender } from '../shared/sender-display.ts'"],
    ['src/mail/receive-mail.ts', "import type { Bus } from '../bus/bus.ts'"],
    ['src/mail/receive-mail.ts', "import { readHead } from '../mime/header-summary.ts'"],
    ['src/http/api/x.ts', "import { receive } from '../../service/mail/receive.ts'"],
    ['src/gmail/imap/recipients.ts', "import { readHeader } from '../mime/header-fields.ts'"],
    ['src/runtime/config.ts', "import { flag } from './values.ts'"],
    ['src/main.ts', "import { startService } from './runtime/start.ts'"],
    ['src/main.ts', "const file = new URL('../package.json', import.meta.url)"],
    ['src/runtime/smtp.ts', "import { openSmtp } from '../smtp/server.ts'"],
    ['src/store/sqlite/shop/keys.ts', "import type { ApiKey } from '../store.ts'"],
    ['src/store/sqlite.test.ts', "import { scratchMail } from '../../test/support/stores.ts'"],
    ['src/mime/fixtures/child.ts', "const config = await import('../../config/config.ts')"],
    ['src/mime/parse.ts', "import PostalMime from 'postal-mime'"],
    ['src/mime/parser.ts', "import { openPool } from '../sandbox/pool.ts'"],
    ['src/sender-auth/checker.ts', "import { openPool } from '../sandbox/pool.ts'"],
  ] as const) {
    test(`${path}: ${source}`, () => expect(importFaults(path, source)).toEqual([]))
  }
})

describe('rejected', () => {
  for (const [path, source, sentence] of [
    ['src/core/x.ts', "import { a } from '../mime/header-summary.ts'", 'core may not import mime'],
    ['src/core/x.ts', "import { readFileSync } from 'node:fs'", 'core may not import node:fs'],
    ['src/core/x.ts', "import { pino } from 'pino'", 'core may not import pino'],
    [
      'src/core/x.ts',
      "import { hash, randomBytes } from 'node:crypto'",
      'core may not import randomBytes of node:crypto',
    ],
    ['src/core/x.ts', "import { a } from '../shared/a.ts'", 'core may not import shared'],
    ['src/shared/x.ts', "import { a } from '../service/a.ts'", 'shared may not import service'],
    ['src/shared/x.ts', "import { isIP } from 'node:net'", 'shared may not import node:net'],
    ['src/store/x.ts', "import { a } from '../bus/bus.ts'", 'store may not import bus'],
    [
      'src/sender-auth/x.ts',
      "import { a } from '../mime/header-summary.ts'",
      'sender-auth may not import mime',
    ],
    ['src/sandbox/x.ts', "import { a } from '../mime/parser.ts'", 'sandbox may not import mime'],
    [
      'src/gmail/imap/x.ts',
      "import { a } from '../mime/header-summary.ts'",
      'imap may not import mime',
    ],
    [
      'src/service/x.ts',
      "import { a } from '../sender-auth/a.ts'",
      'service may not import sender-auth',
    ],
    ['src/store/x.ts', "import type { A } from '../bus/bus.ts'", 'store may not import bus'],
    [
      'src/service/x.ts',
      "import { openSqlite } from '../store/sqlite/open.ts'",
      'service may import only types of store',
    ],
    [
      'src/service/x.ts',
      "import { type MailStore } from '../store/store.ts'",
      'service may import only types of store',
    ],
    ['src/service/x.ts', "import { a } from '../http/a.ts'", 'service may not import http'],
    ['src/http/x.ts', "import { a } from '../smtp/a.ts'", 'http may not import smtp'],
    ['src/http/x.ts', "import type { A } from '../store/store.ts'", 'http may not import store'],
    ['src/cli/x.ts', "import type { A } from '../config/config.ts'", 'cli may not import config'],
    ['src/smtp/x.ts', "import {\n  a,\n  b,\n} from '../limit/a.ts'", 'smtp may not import limit'],
    ['src/smtp/x.ts', "const a = await import('../store/a.ts')", 'smtp may not import store'],
    ['src/smtp/x.ts', "new Worker(new URL('../http/a.ts', x))", 'smtp may not import http'],
    ['src/smtp/x.ts', "import '../http/a.ts'", 'smtp may not import http'],
    ['src/smtp/x.ts', "export { a } from '../http/a.ts'", 'smtp may not import http'],
    ['src/http/x.ts', "import { a } from '../runtime/start.ts'", 'nobody imports runtime'],
    ['src/runtime/x.ts', "import { a } from '../main.ts'", 'nobody imports main'],
    ['src/http/x.ts', "import { a } from '../../test/support/app.ts'", 'outside src'],
    ['src/smtp/x.ts', "import { a } from './testing/dialogue.ts'", 'which is for tests'],
    ['src/store/sqlite/x.ts', "import { a } from '../postgres/a.ts'", 'no engine imports another'],
    [
      'src/runtime/config.ts',
      "import { openLog } from '../log/log.ts'",
      'config may not import log',
    ],
    ['src/helpers/x.ts', '', 'helpers is not in the table'],
    ['src/core/index.ts', '', 'no index files'],
  ] as const) {
    test(`${path}: ${source || 'the file itself'}`, () => {
      expect(importFaults(path, source)).toEqual([expect.stringContaining(sentence)])
    })
  }
})
