import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isExternal } from './server.ts'
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
  writeFileSync(join(folder, 'dist/runtime/embed.d.ts'), declarations())
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
      '.': { types: './dist/runtime/embed.d.ts', default: './dist/runtime/embed.js' },
      './package.json': './package.json',
    },
    publishConfig: { access: 'public' },
    dependencies: Object.fromEntries(
      Object.entries(dependencies).filter(([name]) => isExternal(name)),
    ),
  }
}

/** The types of src/runtime/embed.ts, which needs no types of other modules. */
function declarations(): string {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-types-'))
  try {
    const options =
      '--ignoreConfig --declaration --emitDeclarationOnly --noResolve --noCheck --module nodenext --target esnext --allowImportingTsExtensions'
    const source = `${ROOT}src/runtime/embed.ts`
    const args = [...options.split(' '), '--outDir', folder, source]
    execFileSync(`${ROOT}node_modules/.bin/tsc`, args, { cwd: ROOT })
    return readFileSync(join(folder, 'embed.d.ts'), 'utf8')
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
