import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../app/service-process.ts'
import { tempFolder } from '../store/stores.ts'

const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, maxBuffer: 2 ** 30 })

/** The commit of the last release; undefined in a copy without the history. */
export function lastRelease(): { version: string; commit: string } | undefined {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    version: string
  }
  try {
    const grep = `--grep=^release ${version.replaceAll('.', '\\.')}$`
    const commit = git('log', '-1', '--format=%H', grep).toString().trim()
    return commit === '' ? undefined : { version, commit }
  } catch {
    return undefined
  }
}

const built = new Map<string, string>()

/** The root folder of a build of this commit, with its packages. It is removed when the process ends. */
export function buildCommit(commit: string): string {
  const before = built.get(commit)
  if (before !== undefined) return before
  const { path: root, remove } = tempFolder()
  process.once('exit', remove)
  execFileSync('tar', ['-x', '-C', root], { input: git('archive', commit) })
  execFileSync('npm', ['ci'], { cwd: root, stdio: 'pipe' })
  execFileSync(process.execPath, ['build/all.ts'], { cwd: root, stdio: 'pipe' })
  built.set(commit, root)
  return root
}

/** The oldest commit of this version that knows its schema; undefined in a copy without the history. */
export function firstWithSchema(): string | undefined {
  try {
    return git('log', '-1', '--format=%H', '--', 'src/store/postgres/migrations').toString().trim()
  } catch {
    return undefined
  }
}

/** Whether the changelog allows nodes of the last release beside nodes of this version. */
export function canRunBesideLastRelease(): boolean {
  const [, unreleased = ''] = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8').split(/^## /m)
  return !/stop all nodes/.test(unreleased)
}
