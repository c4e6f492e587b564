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
import { dirname, join } from 'node:path'
import { type Browser, manifest } from '../clients/extension/manifest.ts'
import { SHARED_TEXTS } from '../clients/extension/shared-texts.ts'
import { LANGUAGES, type Language, textDirection } from '../src/shared/languages.ts'
import { collectPackages, licencesOf } from './licences.ts'
import { bundle, ROOT } from './sources.ts'
import { zip } from './zip.ts'

// The browser extension: a folder for each browser, and the packages that their stores take.

const EXTENSION = `${ROOT}clients/extension/`
const BROWSERS: readonly Browser[] = ['chromium', 'firefox']
/** One file each: content scripts cannot import. */
const SCRIPTS = {
  background: 'background.ts',
  content: 'content.ts',
  popup: 'popup/popup.tsx',
  options: 'options/options.tsx',
}
const FILES = {
  'popup.html': `${EXTENSION}src/popup/popup.html`,
  'options.html': `${EXTENSION}src/options/options.html`,
  'style.css': `${EXTENSION}src/style.css`,
  // Of src/http/pages/favicon.svg.
  'icon-32.png': `${EXTENSION}icons/icon-32.png`,
  'icon-128.png': `${EXTENSION}icons/icon-128.png`,
  LICENSE: `${ROOT}LICENSE`,
}
const { version } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as { version: string }

/** Writes the folders `chromium` and `firefox`, which a browser can load. */
export async function buildExtension(folder: string): Promise<void> {
  const common = join(folder, 'common')
  rmSync(common, { recursive: true, force: true })
  mkdirSync(common, { recursive: true })
  const packages = new Set<string>()
  for (const [name, source] of Object.entries(SCRIPTS)) {
    await bundleScript(name, source, common, packages)
  }
  for (const [name, source] of Object.entries(FILES)) cpSync(source, join(common, name))
  writeFileSync(join(common, 'LICENSES.txt'), licencesOf(packages))
  for (const language of Object.keys(LANGUAGES) as Language[]) {
    writeJson(join(common, '_locales', language, 'messages.json'), messages(language))
  }
  for (const browser of BROWSERS) {
    const target = join(folder, browser)
    rmSync(target, { recursive: true, force: true })
    cpSync(common, target, { recursive: true })
    writeJson(join(target, 'manifest.json'), manifest(browser, version))
  }
  rmSync(common, { recursive: true })
}

async function bundleScript(
  name: string,
  source: string,
  outDir: string,
  packages: Set<string>,
): Promise<void> {
  await bundle({
    root: EXTENSION,
    configFile: false,
    logLevel: 'warn',
    publicDir: false,
    plugins: [collectPackages(packages)],
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    build: {
      outDir,
      emptyOutDir: false,
      target: ['chrome128', 'firefox128'],
      modulePreload: { polyfill: false },
      rolldownOptions: {
        input: `${EXTENSION}src/${source}`,
        output: { format: 'iife', entryFileNames: `${name}.js` },
      },
    },
  })
}

function writeJson(file: string, value: object): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${JSON.stringify(value, undefined, 1)}\n`)
}

interface BrowserMessage {
  message: string
  placeholders?: Record<string, { content: string }>
}

/** The texts of a language in the format of browsers: our own, and some of the page. */
function messages(language: Language): Record<string, BrowserMessage> {
  const texts = catalogue(language)
  const english = Object.entries(catalogue('en'))
  return {
    language: { message: language },
    direction: { message: textDirection(language) },
    ...Object.fromEntries(
      english.map(([name, model]) => [name, browserMessage(texts[name] ?? '', model)]),
    ),
  }
}

function catalogue(language: Language): Record<string, string> {
  const read = (file: string): Record<string, string> => JSON.parse(readFileSync(file, 'utf8'))
  const shared = read(`${ROOT}src/shared/locales/${language}.json`)
  return {
    ...read(`${EXTENSION}locales/${language}.json`),
    ...Object.fromEntries(SHARED_TEXTS.map((name) => [name, shared[name] ?? ''])),
  }
}

/** Placeholders are numbered in the order of the English text, `model`. */
function browserMessage(text: string, model: string): BrowserMessage {
  const names = [...model.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  if (names.length === 0) return { message: text }
  return {
    message: text.replace(/\{(\w+)\}/g, '$$$1$$'),
    placeholders: Object.fromEntries(names.map((name, at) => [name, { content: `$${at + 1}` }])),
  }
}

/** Adds a zip for each browser. The same sources give the same bytes. */
export async function packExtension(target: string): Promise<void> {
  mkdirSync(target, { recursive: true })
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-extension-'))
  try {
    await buildExtension(folder)
    for (const browser of BROWSERS) {
      const name = `mayfly-extension-${browser}-${version}.zip`
      writeFileSync(join(target, name), zip(filesIn(join(folder, browser))))
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function filesIn(folder: string): [name: string, content: Buffer][] {
  const entries = globSync('**/*', { cwd: folder, withFileTypes: true })
  const names = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
  return names.sort().map((name) => [name, readFileSync(join(folder, name))])
}

if (import.meta.main) await buildExtension(process.argv[2] ?? `${ROOT}dist-extension`)
