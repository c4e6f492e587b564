import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { scratchFolder } from '../../test/scratch.ts'
import { atEnd } from './at-end.ts'

/** A folder that is gone when the program ends, and ways to make folders in it. */
export function benchFolder(): { path: string; inside(name: string): string } {
  const folder = scratchFolder()
  atEnd(folder.remove)
  // Postfix works in it under a user of its own.
  chmodSync(folder.path, 0o755)
  return {
    path: folder.path,
    inside(name) {
      const path = join(folder.path, name)
      mkdirSync(path, { recursive: true })
      return path
    },
  }
}
