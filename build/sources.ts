import { hash } from 'node:crypto'
import { existsSync, globSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { InlineConfig } from 'vite'

export const ROOT = fileURLToPath(new URL('..', import.meta.url))
export const DIST = `${ROOT}dist/`

/** Changes with the content of these files of the repository and with the versions of the packages. */
export function hashOfSources(patterns: string[]): string {
  const names = globSync([...patterns, 'package-lock.json'], { cwd: ROOT, exclude: isForTests })
  const texts = names.sort().map((name) => `${name}\n${readFileSync(`${ROOT}${name}`, 'utf8')}`)
  return hash('sha256', texts.join('\n'))
}

function isForTests(path: string): boolean {
  return /\.(test|contract)\.ts$|\/(testing|contract|fixtures)(\/|$)/.test(path)
}

/** What `stamp` says about the build it is in. */
export function builtFrom(stamp: string): string | undefined {
  try {
    return readFileSync(stamp, 'utf8')
  } catch {
    return undefined
  }
}

/**
 * Builds in a folder of its own, which replaces `target` only when complete, whatever is interrupted or built at the same time. The
 * folder is beside `near`, because it is renamed.
 */
export async function replaceFolder(
  target: string,
  build: (folder: string) => Promise<void>,
  near = target,
): Promise<void> {
  const scratch = mkdtempSync(`${near.replace(/\/$/, '')}-`)
  try {
    await build(`${scratch}/next/`)
    putInPlace(scratch, target)
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

const ATTEMPTS = 10

function putInPlace(scratch: string, target: string): void {
  let saved = ''
  for (let attempt = 1; ; attempt += 1) {
    try {
      if (existsSync(target)) {
        const last = `${scratch}/last-${attempt}`
        renameSync(target, last)
        saved = last
      }
      renameSync(`${scratch}/next`, target)
      return
    } catch (error) {
      // Another build did the same in between.
      if (attempt < ATTEMPTS) continue
      if (saved && !existsSync(target)) renameSync(saved, target)
      throw error
    }
  }
}

/** For production, although NODE_ENV may say `test`: a development build contains paths of this machine. */
export async function bundle(config: InlineConfig): Promise<void> {
  // Not needed to see that nothing has changed.
  const { build } = await import('vite')
  const { NODE_ENV: before } = process.env
  process.env['NODE_ENV'] = 'production'
  try {
    await build(config)
  } finally {
    if (before === undefined) delete process.env['NODE_ENV']
    else process.env['NODE_ENV'] = before
  }
}
