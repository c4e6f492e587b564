import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { cleanCommit, recordLongRun, requireLongRun } from '../build/long-run.ts'
import { tempFolder } from './kit/store/stores.ts'

/** A repository with one commit. */
function makeRepository() {
  const folder = tempFolder()
  onTestFinished(folder.remove)
  const { path } = folder
  const author = ['-c', 'user.name=Ann', '-c', 'user.email=ann@sender.test']
  const git = (...args: string[]) => execFileSync('git', [...author, ...args], { cwd: path })
  const write = (text: string) => writeFileSync(join(path, 'file'), text)
  const commit = () => {
    git('add', '.')
    git('commit', '-qm', 'change')
  }
  git('init', '-q')
  writeFileSync(join(path, '.gitignore'), 'node_modules/\n')
  commit()
  return { path, write, commit }
}

test('a release needs a green long run of the same commit, without other changes', () => {
  const { path, write, commit } = makeRepository()
  const release = () => requireLongRun(path)
  expect(release).toThrow(/have not passed for commit [0-9a-f]{12}: run `npm run test:long` first/)
  recordLongRun(path, cleanCommit(path))
  expect(release).not.toThrow()
  write('changed')
  expect(release).toThrow(/not committed.*override this with `-- --untested`/)
  commit()
  expect(release).toThrow(/have not passed/)
  recordLongRun(path, cleanCommit(path))
  expect(release).not.toThrow()
  // A new run begins.
  recordLongRun(path, undefined)
  expect(release).toThrow(/have not passed/)
})

test('a run of changed files is a run of no commit', () => {
  const { path, write } = makeRepository()
  write('changed')
  expect(cleanCommit(path)).toBeUndefined()
  expect(cleanCommit('/')).toBeUndefined()
})
