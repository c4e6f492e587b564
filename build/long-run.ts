import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

// Which commit passed `npm run test:long` in a checkout. Removed with node_modules by `npm ci`.

const recordIn = (root: string) => join(root, 'node_modules/.cache/test-long')

/** The commit that is checked out; undefined outside a repository, or if a file differs from it. */
export function cleanCommit(root: string): string | undefined {
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  try {
    return git('status', '--porcelain') === '' ? git('rev-parse', 'HEAD').trim() : undefined
  } catch {
    return undefined
  }
}

/** Saves that the long tests of this commit have passed; undefined: of none. */
export function recordLongRun(root: string, commit: string | undefined): void {
  const record = recordIn(root)
  mkdirSync(dirname(record), { recursive: true })
  if (commit === undefined) rmSync(record, { force: true })
  else writeFileSync(record, commit)
}

/** Throws unless the long tests have passed for exactly what would be released. */
export function requireLongRun(root: string): void {
  const commit = cleanCommit(root)
  const record = recordIn(root)
  const passed = existsSync(record) ? readFileSync(record, 'utf8') : undefined
  if (commit !== undefined && commit === passed) return
  const why =
    commit === undefined
      ? 'this is not a checkout, or it has changes that are not committed'
      : `the long tests have not passed for commit ${commit.slice(0, 12)}`
  throw new Error(
    `${why}: run \`npm run test:long\` first, or override this with \`-- --untested\``,
  )
}
