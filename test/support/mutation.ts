import { cpSync, globSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

interface Mutation {
  part: string
  from: string
  to: string
}

/** SQLite then commits without a sync. */
export const SYNCHRONOUS_NORMAL: Mutation = {
  part: 'src/store/sqlite',
  from: "'synchronous = FULL'",
  to: "'synchronous = NORMAL'",
}

/** A PostgreSQL with fsync=off is then accepted. */
export const FSYNC_UNCHECKED: Mutation = {
  part: 'src/store/postgres',
  from: "current_setting('fsync')",
  to: "'on'::text",
}

/** A copy of the program with one text replaced in the sources under `part`: the control of a test. */
export function copyWithMutation(copy: string, { part, from, to }: Mutation): string {
  for (const name of ['src', 'bin', 'package.json']) {
    cpSync(join(ROOT, name), join(copy, name), { recursive: true })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  const files = globSync(`${part}/**/*.ts`, { cwd: copy }).map((file) => join(copy, file))
  const changed = files.filter((file) => {
    const source = readFileSync(file, 'utf8')
    if (source.includes(from)) writeFileSync(file, source.replaceAll(from, to))
    return source.includes(from) && !file.endsWith('.test.ts')
  })
  if (changed.length === 0) throw new Error(`no source under ${part} has ${from}`)
  return copy
}
