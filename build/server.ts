import { cpSync, globSync, utimesSync, writeFileSync } from 'node:fs'
import { posix } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Plugin } from 'vite'
import { hasErrorCode } from '../src/base/problem.ts'
import { collectPackages, licencesOf } from './licences.ts'
import { builtFrom, bundle, DIST, hashOfSources, ROOT, replaceFolder } from './sources.ts'

// The server as plain JavaScript: it starts in less than half the time, because each thread loads a few files instead of hundreds
// and no types are stripped. dist/ takes the place of src/: a module finds the files beside it (migrations, icons) at the
// same relative path.

/** `node` runs this instead of `bin/mayfly.js`. */
export const MAIN = `${DIST}main.js`

const STAMP = 'sources'

/** In src/runtime: what programs import from the npm package. */
export const EXPORTS = ['embed', 'test-kit', 'playwright']

/** The main program and its threads share code. */
const SERVICE = [
  'main',
  'store/backup/child',
  ...['http', 'job', 'mail-writer', 'smtp', ...EXPORTS].map((name) => `runtime/${name}`),
]
/** One file each: a child process may read nothing else. */
const ALONE = ['mime/child', 'base/settings/schema-errors']
const FILES = ['src/**/*.{sql,svg,png}', 'src/**/locales/**/*.json']

// better-sqlite3 is native; pg uses the other one only where it is installed; users of the fixtures have Playwright.
const EXTERNAL = ['better-sqlite3', 'pg-native', '@playwright/test']

/** Whether the build needs this package beside it. */
export const isExternal = (name: string) => EXTERNAL.includes(name)

/** Builds the server, unless it was already built from the same sources. */
export async function buildServer(): Promise<void> {
  // What is changed while this runs is newer than the build.
  const started = new Date()
  const sources = hashOfSources([
    'src/**/*.{ts,json,sql,svg,png}',
    'clients/js/src/*.ts',
    'build/*.ts',
  ])
  if (builtFrom(`${DIST}${STAMP}`) === sources) {
    confirmBuild(started)
    return
  }
  await replaceFolder(DIST, async (folder) => {
    const packages = new Set<string>()
    for (const entries of [SERVICE, ...ALONE.map((name) => [name])]) {
      await bundleServer(entries, packages, folder)
    }
    writeFileSync(`${folder}LICENSES.txt`, licencesOf(packages))
    for (const name of globSync(FILES, { cwd: ROOT })) {
      cpSync(`${ROOT}${name}`, `${folder}${posix.relative('src', name)}`)
    }
    cpSync(`${DIST}page`, `${folder}page`, { recursive: true })
    writeFileSync(`${folder}${STAMP}`, sources)
    utimesSync(`${folder}${STAMP}`, started, started)
  })
}

/** A checkout may have changed the times of the sources, which bin/mayfly.js compares. */
function confirmBuild(time: Date): void {
  try {
    utimesSync(`${DIST}${STAMP}`, time, time)
  } catch (error) {
    if (!hasErrorCode(error, 'EPERM', 'EACCES', 'EROFS')) throw error
    // Built by another user, or on a disk that is read-only.
  }
}

async function bundleServer(
  entries: string[],
  packages: Set<string>,
  folder: string,
): Promise<void> {
  await bundle({
    root: ROOT,
    configFile: false,
    logLevel: 'error',
    plugins: [keepModuleUrls, collectPackages(packages)],
    ssr: { noExternal: true },
    build: {
      ssr: true,
      outDir: folder,
      emptyOutDir: false,
      minify: false,
      sourcemap: true,
      target: 'node24',
      rolldownOptions: {
        input: Object.fromEntries(entries.map((name) => [name, `${ROOT}src/${name}.ts`])),
        external: EXTERNAL,
        output: {
          entryFileNames: '[name].js',
          chunkFileNames: 'chunks/[name]-[hash].js',
          sourcemapExcludeSources: true,
        },
      },
    },
  })
}

/** Where modules name the file of a program, as it is in src. */
const PROGRAMS: readonly [module: string, program: string][] = [
  ['runtime/thread.ts', 'new URL(file, import.meta.url)'],
  ['mime/parser.ts', "new URL('./child.ts', import.meta.url)"],
  ['store/backup/jobs.ts', "new URL('./child.ts', import.meta.url)"],
  ['base/settings/list-file.ts', "load('./schema-errors.ts')"],
]

function nameBuiltPrograms(code: string, module: string, moduleUrl: string): string {
  const [, program] = PROGRAMS.find(([path]) => path === module) ?? []
  if (!program) return code
  if (!code.includes(program)) throw new Error(`${module} starts its program in another way`)
  const built = program
    .replace('.ts', '.js')
    .replace('(file,', "(file.replace(/ts$/, 'js'),")
    .replace('import.meta.url', moduleUrl)
  return code.replace(program, built)
}

/** For tests: threads and child processes start from dist/, although the main thread is from src/. */
export const startBundledPrograms: Plugin = {
  name: 'start-bundled-programs',
  enforce: 'pre',
  transform(code, id) {
    const module = posix.relative(`${ROOT}src`, id)
    const url = JSON.stringify(pathToFileURL(`${DIST}${module}`).href)
    const changed =
      module === 'base/settings/list-file.ts' ? code : nameBuiltPrograms(code, module, url)
    return changed === code ? null : { code: changed, map: null }
  },
}

const STACK_TRACES = `import '${ROOT}build/stack-traces.ts'`
const MODULE_URL = /import\.meta\.module_(\w+)/g

/** `import.meta.url` of a module becomes the URL of the same path in dist/, whichever chunk the module is in. */
const keepModuleUrls: Plugin = {
  name: 'keep-module-urls',
  enforce: 'pre',
  transform(code, id) {
    if (!id.startsWith(`${ROOT}src/`)) return null
    const module = posix.relative(`${ROOT}src`, id)
    const url = `import.meta.module_${Buffer.from(module).toString('hex')}`
    const changed = nameBuiltPrograms(code, module, url).replaceAll('import.meta.url', url)
    // Not in a program that imports the package.
    const isExport = EXPORTS.some((name) => module === `runtime/${name}.ts`)
    const hasTraces = this.getModuleInfo(id)?.isEntry && !isExport
    // Without a map: the lines stay as they are.
    return { code: hasTraces ? `${STACK_TRACES}; ${changed}` : changed, map: null }
  },
  renderChunk(code, { fileName }) {
    const changed = code.replace(MODULE_URL, (_name, module: string) => {
      const path = Buffer.from(module, 'hex').toString()
      const relative = posix.relative(posix.dirname(fileName), path)
      return `new URL(${JSON.stringify(relative)}, import.meta.url).href`
    })
    return { code: changed, map: null }
  },
}
