import { globSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { collectPackages, licencesOf } from './licences.ts'
import { builtFrom, DIST, hashOfSources, ROOT } from './sources.ts'

const PAGE = `${DIST}page`
const NEXT = `${DIST}page-next` // as web/vite.config.ts says
const COMPRESSED = /\.(js|css)$/

/** Builds the page and compresses its files, unless it was already built from the same sources. */
async function buildPage(): Promise<void> {
  const sources = hashOfSources([
    'web/**/*.{ts,tsx,css}',
    'src/{shared,core}/**/*.{ts,json}',
    'build/*.ts',
  ])
  if (builtFrom(`${PAGE}/sources`) === sources) return
  const { build } = await import('vite')
  const packages = new Set<string>()
  await build({
    configFile: `${ROOT}web/vite.config.ts`,
    logLevel: 'warn',
    plugins: [collectPackages(packages)],
  })
  writeFileSync(`${NEXT}/LICENSES.txt`, licencesOf(packages))
  const names = globSync('**/*', { cwd: NEXT }).filter((name) => COMPRESSED.test(name))
  for (const name of names) {
    const bytes = readFileSync(`${NEXT}/${name}`)
    writeFileSync(`${NEXT}/${name}.br`, brotliCompressSync(bytes))
    writeFileSync(`${NEXT}/${name}.gz`, gzipSync(bytes, { level: 9 }))
  }
  writeFileSync(`${NEXT}/sources`, sources)
  // Only a complete build replaces the last one.
  rmSync(PAGE, { recursive: true, force: true })
  renameSync(NEXT, PAGE)
}

// On import: `npm run dev` does so at every restart.
await buildPage()
