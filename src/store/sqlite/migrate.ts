import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { senderNetwork } from '../../core/ip.ts'
import { type Kind, NewerSchema, OlderSchema } from '../schema.ts'
import { type Db, FolderInUse, lockFolder, openWritable } from './files.ts'

interface OpenOptions {
  /** For a command: an older schema is left as it is while a service, which is older too, runs in the folder. */
  besideService?: boolean
}

/** Opens a file for writing and brings it to the newest schema. */
export function openMigrated(
  folder: string,
  kind: Kind,
  { besideService = false }: OpenOptions = {},
): Db {
  try {
    const db = openWritable(join(folder, `${kind}.db`))
    const unlock = besideService && isOlder(db, kind) ? lockIdle(folder) : () => {}
    try {
      migrate(db, kind)
    } finally {
      unlock()
    }
    return db
  } catch (cause) {
    const damaged = cause instanceof Error && 'code' in cause && DAMAGE.test(String(cause.code))
    throw damaged ? new DamagedFile(kind, { cause }) : cause
  }
}

function isOlder(db: Db, kind: Kind): boolean {
  const at = Number(db.pragma('user_version', { simple: true }))
  return at > 0 && at < latestSchema(kind)
}

function lockIdle(folder: string): () => void {
  try {
    return lockFolder(folder)
  } catch (cause) {
    if (!(cause instanceof FolderInUse)) throw cause
    throw new OlderSchema('The running service is of an older version. Restart it first.', {
      cause,
    })
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
export function latestSchema(kind: Kind): number {
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
