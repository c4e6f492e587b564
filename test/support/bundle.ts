import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Plugin } from 'vite'

// Tests start the service a hundred times. From a bundle it starts in half the CPU time: a few files to load per thread
// instead of hundreds, and no types to strip. Other files (migrations, icons) are read from src.

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const BUNDLE = `${ROOT}node_modules/.cache/mayfly-service/`

/** `node` runs this instead of `bin/mayfly.js`. */
export const BUNDLED_MAIN = `${BUNDLE}main.js`

const ENTRIES = [
  'main',
  ...['http', 'imap', 'smtp', 'writer'].map((name) => `runtime/${name}`),
  'mime/child',
  'sender-auth/child',
]

// Native, or reads files of its own package.
const EXTERNAL = ['better-sqlite3', 'pino', /^nodemailer/, 'imapflow', 'mailauth', /^mailauth\//]

/** Built once per run, by vitest before the first test file. */
export async function bundleService(): Promise<void> {
  await build({
    root: ROOT,
    configFile: false,
    logLevel: 'error',
    plugins: [startBundledPrograms, keepSourceUrls],
    ssr: { noExternal: true },
    build: {
      ssr: true,
      outDir: BUNDLE,
      emptyOutDir: true,
      minify: false,
      target: 'esnext',
      rolldownOptions: {
        input: Object.fromEntries(ENTRIES.map((name) => [name, `${ROOT}src/${name}.ts`])),
        external: EXTERNAL,
        output: { entryFileNames: '[name].js', chunkFileNames: '[hash].js' },
      },
    },
  })
}

/** Threads and child processes start from the bundle. */
export const startBundledPrograms: Plugin = {
  name: 'start-bundled-programs',
  enforce: 'pre',
  transform(code, id) {
    const program = PROGRAMS.find(([file]) => id === `${ROOT}src/${file}`)
    if (!program) return null
    const [file, from, to] = program
    if (!code.includes(from)) throw new Error(`${file} starts its programs in another way`)
    return code.replace(from, to(pathToFileURL(`${BUNDLE}${file}`).href))
  },
}

const PROGRAMS: readonly [file: string, from: string, to: (url: string) => string][] = [
  [
    'runtime/thread.ts',
    'new URL(file, import.meta.url)',
    (url) => `new URL(file.replace(/ts$/, 'js'), '${url}')`,
  ],
  ...['mime/parser.ts', 'sender-auth/checker.ts'].map((file): (typeof PROGRAMS)[number] => [
    file,
    "new URL('./child.ts', import.meta.url)",
    (url) => `new URL('./child.js', '${url}')`,
  ]),
]

const keepSourceUrls: Plugin = {
  name: 'keep-source-urls',
  enforce: 'pre',
  transform(code, id) {
    if (!id.startsWith(`${ROOT}src/`)) return null
    return code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
  },
}
