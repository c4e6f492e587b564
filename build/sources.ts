import { hash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

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
