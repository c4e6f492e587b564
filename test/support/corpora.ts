import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const { MAYFLY_CORPORA, CI } = process.env
const root = MAYFLY_CORPORA ?? fileURLToPath(new URL('../../../shared/corpora', import.meta.url))

/**
 * The folder of one collection of other people's test cases; they are not ours to copy in here. Undefined where it is
 * missing: that is said aloud, and in CI it is a fault.
 */
export function corpus(name: string, cases: number): string | undefined {
  const folder = join(root, name)
  if (existsSync(folder)) return folder
  const line = `${cases} cases of the ${name} corpus were not run: set MAYFLY_CORPORA to its folder`
  if (CI) throw new Error(line)
  process.stderr.write(`${line}\n`)
  return undefined
}
