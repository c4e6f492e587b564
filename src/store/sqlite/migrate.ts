import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { senderNetwork } from '../../core/ip.ts'
import { type Kind, NewerSchema } from '../schema.ts'
import { type Db, openWritable } from './files.ts'

/** Opens a file for writing and brings it to the newest schema. */
export function openMigrated(folder: string, kind: Kind): Db {
  try {
    const db = openWritable(join(folder, `${kind}.db`))
    migrate(db, kind)
    return db
  } catch (cause) {
    const damaged = cause instanceof Error && 'code' in cause && DAMAGE.test(String(cause.code))
    throw damaged ? new DamagedFile(kind, { cause }) : cause
  }
}

const DAMAGE = /^SQLITE_(CORRUPT|NOTADB)/

/** One transaction per step; refuses a schema that is newer than this program. */
function migrate(db: Db, kind: Kind): void {
  const steps = readSteps(kind)
  db.function('sender_network', { deterministic: true }, senderNetwork)
  // IMMEDIATE: of two that start at once, the second waits and then finds the work done.
  const step = db.transaction(() => {
    const at = Number(db.pragma('user_version', { simple: true }))
    if (at > steps.length) throw new NewerSchema(`${kind}.db`, at, steps.length)
    const sql = steps[at]
    if (sql === undefined) return false
    db.exec(sql)
    db.pragma(`user_version = ${at + 1}`)
    return true
  })
  while (step.immediate());
}

/** The newest that this program knows. */
export function knownSchema(kind: Kind): number {
  return readSteps(kind).length
}

function readSteps(kind: string): string[] {
  const folder = new URL(`./migrations/${kind}/`, import.meta.url)
  const names = readdirSync(folder).filter((name) => name.endsWith('.sql'))
  return names.sort().map((name) => readFileSync(new URL(name, folder), 'utf8'))
}

export class DamagedFile extends Error {
  constructor(kind: string, options: ErrorOptions) {
    super(
      `${kind}.db is damaged and was left as it is. Move it away and start anew, or save what can be saved: sqlite3 ${kind}.db .recover`,
      options,
    )
  }
}
