import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../app/service-process.ts'

/** A folder with these packages (`name@version`) of npm; kept with our own packages. */
export function installed(name: string, packages: readonly string[]): string {
  const folder = join(ROOT, 'node_modules/.cache', name)
  const done = join(folder, packages.join(' ').replaceAll('/', '+'))
  if (existsSync(done)) return folder
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{}')
  const quiet = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error']
  execFileSync('npm', ['install', '--ignore-scripts', ...quiet, ...packages], { cwd: folder })
  writeFileSync(done, '')
  return folder
}
