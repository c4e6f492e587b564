import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildExtension } from '../../../../build/extension.ts'
import { tempFolder } from '../../store/stores.ts'
import type { Engine, StartEngine } from '../engines/driver.ts'

/** A browser that has the extension. */
export interface ExtensionEngine extends Engine {
  /** The address of a file of the extension. */
  fileUrl(path: string): string
}

export type StartExtensionEngine = StartEngine<ExtensionEngine>

let built: Promise<string> | undefined

/** Both versions of the extension as they are shipped, unpacked. Built once per process. */
function builtExtension(): Promise<string> {
  built ??= build()
  return built
}

async function build(): Promise<string> {
  const folder = tempFolder()
  process.once('exit', folder.remove)
  await buildExtension(folder.path)
  return folder.path
}

/**
 * A copy of the extension that may access these hosts from the start. It is otherwise what is shipped: `permissions.request` asks
 * nobody for what is already granted, and no test can click the prompt of Chromium, which is not part of any page. The texts are
 * those of another language, because Debian's browsers speak English.
 */
export async function unpackExtension(
  browser: 'chromium' | 'firefox',
  hosts: readonly string[],
  language = 'en',
): Promise<{ path: string; remove(): void }> {
  const folder = tempFolder()
  cpSync(join(await builtExtension(), browser), folder.path, { recursive: true })
  const texts = (name: string) => join(folder.path, '_locales', name, 'messages.json')
  if (language !== 'en') cpSync(texts(language), texts('en'))
  const file = join(folder.path, 'manifest.json')
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as object
  const granted = hosts.map((host) => `http://${host}/*`)
  if (hosts.length > 0)
    writeFileSync(file, JSON.stringify({ ...manifest, host_permissions: granted }))
  return folder
}
