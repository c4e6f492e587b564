import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { collectPackages, licencesOf } from './licences.ts'
import { builtFrom, bundle, DIST, hashOfSources, ROOT, replaceFolder } from './sources.ts'

const PAGE = `${DIST}page`
const COMPRESSED = /\.(js|css)$/

/** Builds the page and compresses its files, unless it was already built from the same sources. */
async function buildPage(): Promise<void> {
  const sources = hashOfSources([
    'web/**/*.{ts,tsx,css}',
    'src/{shared,base}/**/*.{ts,json}',
    'build/*.ts',
  ])
  if (builtFrom(`${PAGE}/sources`) === sources) return
  mkdirSync(DIST, { recursive: true })
  const build = async (folder: string) => {
    const packages = new Set<string>()
    await bundle({
      configFile: `${ROOT}web/vite.config.ts`,
      logLevel: 'warn',
      plugins: [collectPackages(packages)],
      build: { outDir: folder, emptyOutDir: false },
    })
    writeFileSync(`${folder}LICENSES.txt`, licencesOf(packages))
    const names = globSync('**/*', { cwd: folder }).filter((name) => COMPRESSED.test(name))
    for (const name of names) {
      const bytes = readFileSync(`${folder}${name}`)
      writeFileSync(`${folder}${name}.br`, brotliCompressSync(bytes))
      writeFileSync(`${folder}${name}.gz`, gzipSync(bytes, { level: 9 }))
    }
    writeFileSync(`${folder}sources`, sources)
  }
  // Not inside dist/, which may be replaced meanwhile.
  await replaceFolder(PAGE, build, DIST)
}

// On import: `npm run dev` does so at every restart.
await buildPage()
