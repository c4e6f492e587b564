import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** What the browser loads for our pages, as `npm run build` made it. Without a build there is none of it: then every page
 * is what it is without scripts. */
export interface BuiltPage {
  /** What the page of this entry loads; undefined when it was not built. */
  loads(entry: string): Loads | undefined
  /** The catalogue of this language; English is in the page. */
  words(language: string): string | undefined
  asset(name: string): Asset | undefined
}

export interface Loads {
  script: string
  /** What the script imports: asked for at once instead of one after the other. */
  modules: string[]
  styles: string[]
}

export interface Asset {
  type: string
  bytes: Uint8Array
  /** The same bytes, by the name of their coding. */
  smaller: Partial<Record<'br' | 'gzip', Uint8Array>>
}

/** One line of Vite's manifest. */
interface Chunk {
  file: string
  imports?: string[]
  css?: string[]
}

const TYPES: Record<string, string> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
}

/** Reads the build whole: it is small, and a new one starts with a new process. */
export function readBuiltPage(folder: string): BuiltPage {
  const manifest = join(folder, '.vite/manifest.json')
  if (!existsSync(manifest)) {
    return { loads: () => undefined, words: () => undefined, asset: () => undefined }
  }
  const chunks: Record<string, Chunk> = JSON.parse(readFileSync(manifest, 'utf8'))
  const assets = readAssets(join(folder, 'assets'))

  return {
    loads(entry) {
      const chunk = chunks[entry]
      if (!chunk) return undefined
      const all = [chunk, ...importsOf(chunks, chunk)]
      return {
        script: `/${chunk.file}`,
        modules: all.slice(1).map(({ file }) => `/${file}`),
        styles: [...new Set(all.flatMap(({ css = [] }) => css))].map((file) => `/${file}`),
      }
    },
    words(language) {
      const chunk = chunks[`words/${language}.ts`]
      return chunk && `/${chunk.file}`
    },
    asset: (name) => assets.get(name),
  }
}

function importsOf(chunks: Record<string, Chunk>, from: Chunk): Chunk[] {
  const found = new Set<Chunk>()
  const follow = ({ imports = [] }: Chunk) => {
    for (const name of imports) {
      const chunk = chunks[name]
      if (!chunk || found.has(chunk)) continue
      found.add(chunk)
      follow(chunk)
    }
  }
  follow(from)
  return [...found]
}

function readAssets(folder: string): Map<string, Asset> {
  const assets = new Map<string, Asset>()
  const bytes = (name: string) => readFileSync(join(folder, name))
  for (const name of readdirSync(folder)) {
    const type = TYPES[name.replace(/^.*\./, '')]
    if (!type) continue
    const smaller = { br: bytes(`${name}.br`), gzip: bytes(`${name}.gz`) }
    assets.set(name, { type, bytes: bytes(name), smaller })
  }
  return assets
}
