import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../app/service-process.ts'

export function npm(cwd: string, args: string[]): string {
  const quiet = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error']
  return execFileSync('npm', [...args, ...quiet], { cwd, encoding: 'utf8' })
}

/** A file of a package from npm, and other packages beside it; kept with the packages of the project. */
export function fromNpm(
  name: string,
  version: string,
  file: string,
  others: string[] = [],
): string {
  const cache = join(ROOT, `node_modules/.cache/${[`${name}-${version}`, ...others].join('-')}`)
  const path = join(cache, `node_modules/${name}/${file}`)
  if (!existsSync(path)) {
    mkdirSync(cache, { recursive: true })
    writeFileSync(join(cache, 'package.json'), '{}')
    npm(cache, ['install', `${name}@${version}`, ...others])
  }
  return path
}
