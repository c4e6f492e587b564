import { execFileSync } from 'node:child_process'
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EXPORTS, isExternal } from './server.ts'
import { ROOT } from './sources.ts'

/** `mayfly` itself belongs to somebody else. */
const NAME = '@mayfly-mail/mayfly'
const CONTENTS = ['bin', 'dist', 'LICENSE', 'README.md', 'CHANGELOG.md']

interface Manifest extends Record<string, unknown> {
  dependencies: Record<string, string>
}

/** Writes the folder that `npm pack` and `npm publish` take: the build, with a manifest of its own. */
export function stagePackage(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const name of CONTENTS) cpSync(`${ROOT}${name}`, join(folder, name), { recursive: true })
  cpSync(`${ROOT}docs`, join(folder, 'docs'), {
    recursive: true,
    filter: (path) => path === `${ROOT}docs` || path.endsWith('.md'),
  })
  writeDeclarations(join(folder, 'dist'))
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest(), undefined, 2)}\n`)
}

/** Without the pinned Node.js of a clone, and without what is part of the bundle. */
export function manifest(): object {
  const { version, description, license, type, bin, dependencies }: Manifest = JSON.parse(
    readFileSync(`${ROOT}package.json`, 'utf8'),
  )
  return {
    name: NAME,
    version,
    description,
    license,
    keywords: ['smtp', 'email', 'disposable-email', 'temporary-email', 'mail-testing'],
    type,
    engines: { node: '>=24' },
    bin,
    exports: {
      '.': exported('embed'),
      './test': exported('test-kit'),
      './playwright': exported('playwright'),
      './package.json': './package.json',
    },
    peerDependencies: { '@playwright/test': '>=1.50' },
    peerDependenciesMeta: { '@playwright/test': { optional: true } },
    publishConfig: { access: 'public' },
    dependencies: Object.fromEntries(
      Object.entries(dependencies).filter(([name]) => isExternal(name)),
    ),
  }
}

function exported(name: string) {
  return { types: `./dist/runtime/${name}.d.ts`, default: `./dist/runtime/${name}.js` }
}

/** The types of what is exported: of these modules, and of the client that they use. */
function writeDeclarations(dist: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-types-'))
  try {
    const options =
      '--ignoreConfig --declaration --emitDeclarationOnly --noResolve --noCheck --module nodenext --target esnext --allowImportingTsExtensions'
    const sources = [
      ...EXPORTS.map((name) => `src/runtime/${name}.ts`),
      ...globSync('clients/js/src/*.ts', { cwd: ROOT }),
    ]
    const args = [...options.split(' '), '--rootDir', ROOT, '--outDir', folder, ...sources]
    execFileSync(`${ROOT}node_modules/.bin/tsc`, args, { cwd: ROOT })
    cpSync(join(folder, 'clients/js/src'), join(dist, 'client'), { recursive: true })
    for (const name of EXPORTS) {
      const types = readFileSync(join(folder, `src/runtime/${name}.d.ts`), 'utf8')
      const moved = types.replaceAll('../../clients/js/src/', '../client/')
      writeFileSync(join(dist, `runtime/${name}.d.ts`), moved)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Packs a folder, or fetches a package, into `target`. */
export function pack(what: string, target: string): { path: string; integrity: string } {
  const args = ['pack', what, '--json', '--pack-destination', target]
  const [{ filename = '', integrity = '' } = {}] = JSON.parse(
    execFileSync('npm', args, { encoding: 'utf8' }),
  ) as { filename?: string; integrity?: string }[]
  return { path: join(target, filename), integrity }
}
