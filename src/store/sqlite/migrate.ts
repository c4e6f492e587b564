import { readdirSync, readFileSync } from 'node:fs'
import type { Db } from './files.ts'

/** Brings a file to the newest schema, one transaction per step, and refuses one that is newer than this program. */
export function migrate(db: Db, kind: 'mail' | 'shop'): void {
  const steps = readSteps(kind)
  // IMMEDIATE: of two that start at once, the second waits and then finds the work done.
  const step = db.transaction(() => {
    const at = Number(db.pragma('user_version', { simple: true }))
    if (at > steps.length) throw new NewerSchema(kind, at, steps.length)
    const sql = steps[at]
    if (sql === undefined) return false
    db.exec(sql)
    db.pragma(`user_version = ${at + 1}`)
    return true
  })
  while (step.immediate());
}

function readSteps(kind: string): string[] {
  const folder = new URL(`./migrations/${kind}/`, import.meta.url)
  const names = readdirSync(folder).filter((name) => name.endsWith('.sql'))
  return names.sort().map((name) => readFileSync(new URL(name, folder), 'utf8'))
}

export class NewerSchema extends Error {
  constructor(kind: string, at: number, known: number) {
    super(
      `${kind}.db has schema ${at}, this program knows ${known}. Start the newer program that made it, or restore a backup.`,
    )
  }
}
