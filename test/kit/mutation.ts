import { cpSync, globSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

interface Mutation {
  from: string
  to: string
}

/** SQLite then commits without a sync. */
export const SYNCHRONOUS_NORMAL: Mutation = {
  from: 'synchronous = FULL',
  to: 'synchronous = NORMAL',
}

/** A PostgreSQL with fsync=off is then accepted. */
export const FSYNC_UNCHECKED: Mutation = {
  from: "current_setting('fsync')",
  to: "'on'::text",
}

/** A copy of the built program with texts replaced: the control of a test. */
export function copyWithMutations(copy: string, ...mutations: readonly Mutation[]): string {
  for (const name of ['bin', 'dist', 'package.json']) {
    cpSync(join(ROOT, name), join(copy, name), { recursive: true })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  const files = globSync('dist/**/*.js', { cwd: copy }).map((file) => join(copy, file))
  for (const { from, to } of mutations) {
    const changed = files.filter((file) => readFileSync(file, 'utf8').includes(from))
    for (const file of changed) {
      writeFileSync(file, readFileSync(file, 'utf8').replaceAll(from, to))
    }
    if (changed.length === 0) throw new Error(`no file of the build has ${from}`)
  }
  return copy
}
