import { spawnSync } from 'node:child_process'
import process from 'node:process'
import { cleanCommit, recordLongRun } from '../build/long-run.ts'
import { ROOT } from '../build/sources.ts'

// npm run test:long [-- FILE …]: the tests with MAYFLY_TEST_LONG. A whole run that passes is recorded for `npm run release`;
// nothing may be left out of it, as in CI.

const selected = process.argv.slice(2)
const isWhole = selected.length === 0
const env = {
  ...process.env,
  MAYFLY_TEST_LONG: '1',
  ...(isWhole ? { CI: process.env['CI'] ?? 'true' } : {}),
}
const commit = cleanCommit(ROOT)
const steps = [
  // With the library for a file system that fails to sync.
  ['node', 'test/install.ts', '--campaign'],
  ['node', 'build/all.ts'],
  ['vitest', 'run', ...selected],
] as const
const run = ([command, ...args]: (typeof steps)[number]) =>
  spawnSync(command, args, { cwd: ROOT, env, stdio: 'inherit' }).status ?? 1
if (isWhole) recordLongRun(ROOT, undefined)
process.exitCode = steps.reduce((status, step) => status || run(step), 0)
if (isWhole && process.exitCode === 0 && commit !== undefined && commit === cleanCommit(ROOT)) {
  recordLongRun(ROOT, commit)
  process.stdout.write(`The long tests of ${commit.slice(0, 12)} have passed.\n`)
}
