import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pathOf } from './programs.ts'

/** Builds the library that slows fsync down, to be given as LD_PRELOAD. Undefined where there is no compiler. */
export function buildSlowFsync(folder: string): string | undefined {
  const compiler = pathOf('cc')
  if (!compiler || process.platform !== 'linux') return undefined
  const source = fileURLToPath(new URL('slow-fsync.c', import.meta.url))
  const library = join(folder, 'slow-fsync.so')
  execFileSync(compiler, ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl'])
  return library
}
