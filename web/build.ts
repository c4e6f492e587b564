import { hash } from 'node:crypto'
import { globSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, gzipSync } from 'node:zlib'

const here = fileURLToPath(new URL('.', import.meta.url))
const BUILT = 'dist'
const NEXT = 'dist-next' // as vite.config.ts says
const COMPRESSED = /\.(js|css)$/

/** Builds the page and compresses its files, unless it was already built from the same sources. */
async function build(): Promise<void> {
  const sources = hashOfSources()
  if (builtFrom() === sources) return
  const { build } = await import('vite')
  await build({ configFile: `${here}vite.config.ts`, logLevel: 'warn' })
  for (const name of globSync(`${NEXT}/**/*`, { cwd: here }).filter((one) =>
    COMPRESSED.test(one),
  )) {
    const bytes = readFileSync(`${here}${name}`)
    writeFileSync(`${here}${name}.br`, brotliCompressSync(bytes))
    writeFileSync(`${here}${name}.gz`, gzipSync(bytes, { level: 9 }))
  }
  writeFileSync(`${here}${NEXT}/sources`, sources)
  // Only a complete build replaces the last one.
  rmSync(`${here}${BUILT}`, { recursive: true, force: true })
  renameSync(`${here}${NEXT}`, `${here}${BUILT}`)
}

function hashOfSources(): string {
  const own = globSync('**/*.{ts,tsx,css}', { cwd: here, exclude: ['dist*/**'] })
  const shared = globSync('../src/{shared,core}/**/*.{ts,json}', { cwd: here })
  const names = [...own, ...shared].sort()
  const lock = readFileSync(`${here}../package-lock.json`, 'utf8')
  const texts = names.map((name) => `${name}\n${readFileSync(`${here}${name}`, 'utf8')}`)
  return hash('sha256', [lock, ...texts].join('\n'))
}

function builtFrom(): string | undefined {
  try {
    return readFileSync(`${here}${BUILT}/sources`, 'utf8')
  } catch {
    return undefined
  }
}

await build()
