import { posix } from 'node:path'

/** One import as it is written. Only `import type` leaves nothing to load at run time. */
interface Import {
  target: string
  typeOnly: boolean
}

/** Who may import whom, beside their own kind: ARCHITECTURE.md shows the same table. */
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
  smtp: ['core', 'shared', 'service'],
  imap: ['core', 'shared', 'service'],
  http: ['core', 'shared', 'service'],
  cli: ['core', 'shared', 'service'],
}

/** Of these a service may know the shape, never the thing: it is given one. */
const TYPES_FOR_SERVICE = ['store', 'bus', 'limit', 'pay']

/** What the roots may name outside src: our version, and the page as it was built. */
const OUTSIDE = ['package.json', 'web/dist/']

/** Composition roots: they import everything, nobody imports them. */
const ROOTS = ['main', 'runtime']

/** What the core may use of Node: functions of plain values that touch neither clock, chance, disk nor network. */
const PURE: Record<string, readonly string[]> = {
  'node:crypto': ['hash'],
  'node:zlib': ['crc32'],
  'node:url': ['domainToASCII'],
  'node:net': ['BlockList', 'isIP'],
}

/** Tests and what serves only them: they may look everywhere, and nothing that runs may look at them. */
const FOR_TESTS = /\.(test|contract)\.ts$|\/(fixtures|testing|contract)\//

/** What a file of src imports against the rules, each as the sentence to read. `path` starts with `src/`. */
export function importFaults(path: string, source: string): string[] {
  if (/(^|\/)index\.ts$/.test(path)) return [`${path}: no index files, import the file itself`]
  if (FOR_TESTS.test(path)) return []
  const part = partOf(path)
  if (!ROOTS.includes(part) && !MAY_IMPORT[part]) {
    return [`${path}: ${part} is not in the table of test/import-rules.ts; add its row and say why`]
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
  if (ROOTS.includes(from) || MAY_IMPORT[from]?.includes(to)) return undefined
  if (from === 'service' && TYPES_FOR_SERVICE.includes(to)) {
    return typeOnly ? undefined : `service may import only types of ${to}: write import type`
  }
  return `${from} may not import ${to}`
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

/** The folder under src, or the file itself where it lies directly in src. */
function partOf(path: string): string {
  const [, first = ''] = path.split('/')
  return first.replace(/\.ts$/, '')
}

/** Static imports and exports, import() and new URL('./x.ts') alike. */
export function importsOf(source: string): Import[] {
  const fixed = source.matchAll(/^(?:import|export)\s(type\s)?(?:[^'";]*?\sfrom\s)?\s*'([^']+)'/gm)
  const dynamic = source.matchAll(/\bimport\(\s*['"`]([^'"`]+)['"`]/g)
  const files = source.matchAll(/new URL\(\s*['"`](\.[^'"`]+)['"`]/g)
  return [
    ...[...fixed].map(([, type, target = '']) => ({ target, typeOnly: type !== undefined })),
    ...[...dynamic, ...files].map(([, target = '']) => ({ target, typeOnly: false })),
  ]
}
