import { posix } from 'node:path'

/** One import statement. Only `import type` loads nothing at run time. */
interface Import {
  target: string
  typeOnly: boolean
  /** `new URL(…)`: the file of a thread or a child process. */
  startsProgram: boolean
}

const MAIL = ['base', 'shared', 'mime', 'http/server', 'cli/output']
const FEATURE = [...MAIL, 'mail', 'keys', 'http/pages']

/** They do not import each other: only the roots and lists know them all. */
const FEATURES = [
  ...['gmail', 'shop', 'webhooks', 'domains', 'blocks', 'doctor', 'admin', 'mcp'],
  'doors',
]

/** The folders that each folder may import besides itself; the same table is in ARCHITECTURE.md. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  base: [],
  shared: ['base'],
  sandbox: ['base'],
  redis: ['base'],
  codes: ['base', 'shared'],
  mime: ['base', 'shared', 'sandbox', 'codes', 'sender-auth'],
  'sender-auth': ['base', 'shared', 'sandbox'],
  bus: ['base', 'redis'],
  limit: ['base', 'redis'],
  'http/server': ['base', 'shared'],
  'cli/output': ['base', 'shared'],
  mail: MAIL,
  'http/docs': ['base', 'shared', 'http/server'],
  'http/pages': [...MAIL, 'mail', 'http/docs'],
  tls: ['base', 'shared', 'http/server'],
  smtp: ['base', 'shared', 'mail', 'tls'],
  store: ['base', 'shared'],
  keys: ['base', 'shared', 'http/server', 'cli/output', 'mail'],
  ...Object.fromEntries(FEATURES.map((feature) => [feature, FEATURE])),
}

/** Folders of which only types may be imported: the values are passed. */
const TYPES_ONLY: Record<string, readonly string[]> = {
  'http/server': ['limit', 'bus', 'keys'],
  mail: ['limit', 'bus', 'keys'],
  keys: ['limit', 'bus'],
  bus: ['mail'],
  ...Object.fromEntries(FEATURES.map((feature) => [feature, ['limit', 'bus', 'tls']])),
}

/** What the engines run inside their commits: the rules and the operations of all folders. */
const FOR_STORE = /^src\/[\w-]+\/(?:[\w-]+\/)?(?:rules|rules\/[\w-]+|deps|[\w-]*store[\w-]*)\.ts$/

/** Files outside src that the roots may import: our version, the built page, and the client, for the test kit. */
const CLIENT = 'clients/js/src/mayfly.ts'
const OUTSIDE = ['package.json', 'dist/page/', CLIENT]

/** The commands that talk to a service over HTTP, as programs of others do. */
const CLIENT_USERS = ['src/mail/commands/inbox.ts']

/** Rules of a folder: pure functions. They import other rules and types, and of Node what has no clock, chance, disk or network. */
const RULES = /^src\/[\w-]+\/(?:[\w-]+\/)?(?:rules\.ts|rules\/[\w-]+\.ts)$/
const PURE: Record<string, readonly string[]> = {
  'node:crypto': ['createHmac', 'hash'],
  'node:zlib': ['crc32'],
  'node:url': ['domainToASCII'],
  'node:net': ['BlockList', 'isIP'],
}

/** Parses mail, which may be crafted to break it: only in a child process. */
const SANDBOXED = 'src/mime/parse.ts'

/** Composition roots and lists: they may import everything, and nothing else may import them. */
const ROOT =
  /^src\/(?:main|runtime\/.*|cli\/(?!output|context|progress|prompt|banner).*|http\/[\w-]+)\.ts$/

/** Lists inside a feature of what the other features add to it: a line each. */
const LISTS = ['src/admin/figures.ts', 'src/doctor/checks.ts']

/** Tests and test helpers: they may import everything, and no other code may import them. */
const FOR_TESTS = /\.(test|contract)\.ts$|\/(fixtures|testing|contract)\//

/** The violations in a file of src, one sentence each. `path` starts with `src/`. */
export function importFaults(path: string, source: string): string[] {
  if (/(^|\/)index\.ts$/.test(path)) return [`${path}: no index files, import the file itself`]
  if (FOR_TESTS.test(path)) return []
  const part = partOf(path)
  if (!isRoot(path) && !MAY_IMPORT[part]) {
    return [
      `${path}: ${part} is not in the table of test/kit/import-table.ts; add its row and say why`,
    ]
  }
  return importsOf(source).flatMap(({ target, typeOnly }) => {
    const fault = target.startsWith('.')
      ? relativeFault(path, posix.join(posix.dirname(path), target), typeOnly)
      : packageFault(path, target, source)
    return fault ? [`${path}: ${fault}`] : []
  })
}

function relativeFault(path: string, target: string, typeOnly: boolean): string | undefined {
  const from = partOf(path)
  if (!target.startsWith('src/')) {
    const known = mayImportOutside(path, target)
    return known ? undefined : `what runs may not import ${target}, which is outside src`
  }
  if (FOR_TESTS.test(target)) return `what runs may not import ${target}, which is for tests`
  if (isRoot(target) && !mayImportRoot(path, target, typeOnly)) {
    return `nobody imports ${target}: it puts the parts together`
  }
  if (target === SANDBOXED && from !== 'mime') return `only a child process parses mail: ${target}`
  if (isRoot(path) || LISTS.includes(path)) return undefined
  if (!typeOnly && isImpure(path, target)) {
    return `rules may not import ${target}: they are pure functions`
  }
  return from === partOf(target) ? engineFault(path, target) : folderFault(from, target, typeOnly)
}

function mayImportOutside(path: string, target: string): boolean {
  if (isRoot(path)) return OUTSIDE.includes(target)
  return target === CLIENT && CLIENT_USERS.includes(path)
}

function isImpure(path: string, target: string): boolean {
  return RULES.test(path) && !RULES.test(target) && !['base', 'shared'].includes(partOf(target))
}

function folderFault(from: string, target: string, typeOnly: boolean): string | undefined {
  const to = partOf(target)
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

/** Only main.ts and runtime load what is in runtime; the commands know its types. */
function mayImportRoot(path: string, target: string, typeOnly: boolean): boolean {
  if (target === 'src/main.ts') return false
  const isLoaded = target.startsWith('src/runtime/') && !typeOnly
  return isLoaded ? /^src\/(?:main|runtime\/.*)\.ts$/.test(path) : isRoot(path)
}

function engineFault(path: string, target: string): string | undefined {
  const [from, to] = [path, target].map(
    (file) => /^src\/store\/(sqlite|postgres)\//.exec(file)?.[1],
  )
  return from && to && from !== to ? `no engine imports another: ${from}, ${to}` : undefined
}

function packageFault(path: string, target: string, source: string): string | undefined {
  if (partOf(path) === 'shared') return `shared may not import ${target}: browsers run it, too`
  if (!RULES.test(path)) return undefined
  const allowed = PURE[target]
  if (!allowed) return `rules may not import ${target}: no I/O, no clock, no chance, no packages`
  const names = [...source.matchAll(new RegExp(`import \\{([^}]*)\\} from '${target}'`, 'g'))]
    .flatMap(([, list = '']) => list.split(','))
    .map((name) => name.trim())
    .filter((name) => name !== '' && !allowed.includes(name))
  return names.length > 0 ? `rules may not import ${names} of ${target}` : undefined
}

/** Files of cli that commands of all folders use. */
const CLI_OUTPUT = /^src\/cli\/(?:output|context|progress|prompt|banner)\.ts$/

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
  const program = { typeOnly: false, startsProgram: true }
  return [
    ...[...fixed].map(([, type, target = '']) => {
      return { target, typeOnly: type !== undefined, startsProgram: false }
    }),
    ...[...dynamic].map(([, target = '']) => ({ target, typeOnly: false, startsProgram: false })),
    ...[...files].map(([, target = '']) => ({ target, ...program })),
  ]
}

/** The files of a cycle, the first one again at the end; empty if there is none. */
export function importCycle(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>()
  const path: string[] = []

  function visit(file: string): string[] {
    const start = path.indexOf(file)
    if (start >= 0) return [...path.slice(start), file]
    if (done.has(file)) return []
    done.add(file)
    path.push(file)
    for (const target of imports.get(file) ?? []) {
      const cycle = visit(target)
      if (cycle.length > 0) return cycle
    }
    path.pop()
    return []
  }

  for (const file of imports.keys()) {
    const cycle = visit(file)
    if (cycle.length > 0) return cycle
  }
  return []
}
