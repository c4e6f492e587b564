import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Type } from 'typebox'
import { Problem } from '../../base/problem.ts'
import type { ServerDeps } from '../server/deps.ts'
import { contentResponse, type HttpResponse } from '../server/response.ts'
import { route } from '../server/route.ts'

/** The output of `npm run build`. Without a build it is empty, and pages have neither scripts nor styles. */
export interface BuiltPage {
  /** The files that the page of this entry loads; undefined if it was not built. */
  entry(entry: string): EntryFiles | undefined
  /** The texts of this language. */
  catalogue(language: string): string | undefined
  asset(name: string): Asset | undefined
}

export interface EntryFiles {
  script: string
  /** What the script imports: preloaded instead of loaded one after the other. */
  modules: string[]
  styles: string[]
}

interface Asset {
  type: string
  bytes: Uint8Array
  /** By content encoding. */
  compressed: Partial<Record<'br' | 'gzip', Uint8Array>>
}

/** An entry of Vite's manifest. */
interface Chunk {
  file: string
  isEntry?: boolean
  imports?: string[]
  dynamicImports?: string[]
  css?: string[]
}

const CONTENT_TYPES: Record<string, string> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
}

export const ADMIN_ENTRY = 'admin/admin.tsx'

/** Reads the build into memory: it is small, and changes only with a restart. Files of the admin page only if there is one. */
export function readBuiltPage(folder: string, { admin }: { admin: boolean }): BuiltPage {
  const manifest = join(folder, '.vite/manifest.json')
  if (!existsSync(manifest)) {
    return { entry: () => undefined, catalogue: () => undefined, asset: () => undefined }
  }
  const chunks: Record<string, Chunk> = JSON.parse(readFileSync(manifest, 'utf8'))
  const omitted = admin ? new Set() : adminFiles(chunks)
  const assets = readAssets(join(folder, 'assets'), (name) => !omitted.has(`assets/${name}`))

  return {
    entry(entry) {
      const chunk = chunks[entry]
      if (!chunk) return undefined
      const all = [chunk, ...importsOf(chunks, chunk)]
      return {
        script: `/${chunk.file}`,
        modules: all.slice(1).map(({ file }) => `/${file}`),
        styles: [...new Set(all.flatMap(({ css = [] }) => css))].map((file) => `/${file}`),
      }
    },
    catalogue(language) {
      const chunk = chunks[`../src/shared/locales/${language}.json`]
      return chunk && `/${chunk.file}`
    },
    asset: (name) => assets.get(name),
  }
}

/** The files that no other page loads. */
function adminFiles(chunks: Record<string, Chunk>): Set<string> {
  const filesOf = (entries: readonly Chunk[]) =>
    entries
      .flatMap((entry) => [entry, ...importsOf(chunks, entry, { dynamic: true })])
      .flatMap(({ file, css = [] }) => [file, ...css])
  const { [ADMIN_ENTRY]: admin, ...others } = chunks
  const shared = new Set(filesOf(Object.values(others).filter(({ isEntry }) => isEntry)))
  return new Set(admin ? filesOf([admin]).filter((file) => !shared.has(file)) : [])
}

function importsOf(chunks: Record<string, Chunk>, from: Chunk, { dynamic = false } = {}): Chunk[] {
  const found = new Set<Chunk>()
  const follow = ({ imports = [], dynamicImports = [] }: Chunk) => {
    for (const name of dynamic ? [...imports, ...dynamicImports] : imports) {
      const chunk = chunks[name]
      if (!chunk || found.has(chunk)) continue
      found.add(chunk)
      follow(chunk)
    }
  }
  follow(from)
  return [...found]
}

function readAssets(folder: string, isServed: (name: string) => boolean): Map<string, Asset> {
  const assets = new Map<string, Asset>()
  const bytes = (name: string) => readFileSync(join(folder, name))
  for (const name of readdirSync(folder)) {
    const type = CONTENT_TYPES[name.replace(/^.*\./, '')]
    if (!type || !isServed(name)) continue
    const smaller = { br: bytes(`${name}.br`), gzip: bytes(`${name}.gz`) }
    assets.set(name, { type, bytes: bytes(name), compressed: smaller })
  }
  return assets
}

// File names contain a hash of the content.
const IMMUTABLE = 'public, max-age=31536000, immutable'
const ICON = readFileSync(new URL('./favicon.svg', import.meta.url))

interface AssetDeps extends ServerDeps {
  builtPage: BuiltPage
}

export const assetRoutes = [
  route({
    method: 'GET',
    path: '/assets/{name}',
    input: Type.Object({ name: Type.String() }),
    async handle({ name }, { builtPage }: AssetDeps, { headers }) {
      const asset = builtPage.asset(name)
      if (!asset) throw new Problem('not_found', 'Not found.')
      return assetResponse(asset, headers['accept-encoding'])
    },
  }),
  route({
    method: 'GET',
    // Outside /assets/, because it may control only paths below its own.
    path: '/sw.js',
    async handle(_input, { builtPage }: AssetDeps, { headers }) {
      const name = builtPage.entry('site/service-worker.ts')?.script.replace('/assets/', '')
      const asset = name === undefined ? undefined : builtPage.asset(name)
      if (!asset) throw new Problem('not_found', 'Not found.')
      const response = assetResponse(asset, headers['accept-encoding'])
      return {
        ...response,
        headers: {
          ...response.headers,
          'cache-control': 'no-cache',
          'content-security-policy': "default-src 'none'; connect-src 'self'",
        },
      }
    },
  }),
  ...['/favicon.svg', '/favicon.ico'].map((path) =>
    route({
      method: 'GET',
      path,
      handle: async () =>
        contentResponse('image/svg+xml', ICON, {
          'cache-control': 'public, max-age=86400',
          'content-security-policy': "default-src 'none'",
        }),
    }),
  ),
]

function assetResponse(
  { type, bytes, compressed }: Asset,
  accepted: string | undefined,
): HttpResponse {
  const coding = encodingOf(accepted)
  const body = (coding && compressed[coding]) ?? bytes
  return contentResponse(type, body, {
    'cache-control': IMMUTABLE,
    vary: 'Accept-Encoding',
    ...(body === bytes ? {} : { 'content-encoding': coding ?? '' }),
  })
}

function encodingOf(accepted = ''): 'br' | 'gzip' | undefined {
  const wanted = accepted
    .split(',')
    .filter((coding) => !/;\s*q=0(\.0*)?\s*$/.test(coding))
    .map((coding) => coding.replace(/;.*/, '').trim().toLowerCase())
  if (wanted.includes('br')) return 'br'
  return wanted.includes('gzip') ? 'gzip' : undefined
}
