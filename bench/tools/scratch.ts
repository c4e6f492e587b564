import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atEnd } from './at-end.ts'

/** A folder that is gone when the program ends, and ways to make folders in it. */
export function benchFolder(): { path: string; inside(name: string): string } {
  const path = mkdtempSync(join(tmpdir(), 'bench-'))
  atEnd(() => rmSync(path, { recursive: true, force: true, maxRetries: 10 }))
  // Postfix works in it under a user of its own.
  chmodSync(path, 0o755)
  return {
    path,
    inside(name) {
      const folder = join(path, name)
      mkdirSync(folder, { recursive: true })
      return folder
    },
  }
}
