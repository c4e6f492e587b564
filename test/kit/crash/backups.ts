import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { ROOT } from '../app/service-process.ts'
import { endWithParent } from '../programs/server-process.ts'

/** A process that writes a backup. */
export interface Backup {
  pid: number
  isOver(): boolean
  /** Why it has failed; undefined if it was reported as written. */
  failure: Promise<string | undefined>
}

/** The ids of its keys. */
export type RestoredBackup = readonly string[] | Error

export function startBackup(command: readonly string[], env: Record<string, string> = {}): Backup {
  const [program = '', ...args] = endWithParent(command)
  const child = spawn(program, args, {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let isOver = false
  const ended = once(child, 'exit').then(() => {
    isOver = true
    return child.exitCode
  })
  const failure = Promise.all([ended, text(child.stderr)]).then(([code, errors]) =>
    code === 0 ? undefined : `ended with ${code ?? child.signalCode}: ${errors}`,
  )
  return { pid: child.pid ?? 0, isOver: () => isOver, failure }
}

/** Applies this to every file of the folder that is not hidden, which would be one of an incomplete backup. Deletes the folder. */
export async function restoreEach(
  folder: string,
  restore: (file: string) => Promise<readonly string[]>,
): Promise<RestoredBackup[]> {
  const names = existsSync(folder) ? readdirSync(folder) : []
  const restored: RestoredBackup[] = []
  for (const name of names.filter((one) => !one.startsWith('.'))) {
    restored.push(await restore(join(folder, name)).catch((error: Error) => error))
  }
  rmSync(folder, { recursive: true, force: true })
  return restored
}
