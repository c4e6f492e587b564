import { join } from 'node:path'
import { senderNetwork } from '../../base/ip.ts'
import { OperatorError } from '../../base/problem.ts'
import { type Kind, NewerSchema, OlderSchema, readMigrations } from '../schema.ts'
import { type Db, isCorruption, lockFolder, openWritable } from './files.ts'

interface OpenOptions {
  /** For a command: an older schema is refused while a service, which is of the older version, is running. */
  besideService?: boolean
  /** Stops at this schema; default: the latest. */
  upTo?: number
}

/** Opens a file for writing and migrates it to the latest schema. */
export function openMigrated(
  folder: string,
  kind: Kind,
  { besideService = false, upTo = latestSchema(kind) }: OpenOptions = {},
): Db {
  try {
    const db = openWritable(join(folder, `${kind}.db`))
    const unlock = besideService && isOlder(db, kind) ? lockIdle(folder) : () => {}
    try {
      migrate(db, kind, upTo)
    } finally {
      unlock()
    }
    return db
  } catch (cause) {
    throw isCorruption(cause) ? new DamagedFile(kind, { cause }) : cause
  }
}

function isOlder(db: Db, kind: Kind): boolean {
  const at = Number(db.pragma('user_version', { simple: true }))
  return at > 0 && at < latestSchema(kind)
}

function lockIdle(folder: string): () => void {
  const reason = 'The running service is an older version. Restart it first.'
  return lockFolder(folder, (options) => new OlderSchema(reason, options))
}

/** One transaction per step; refuses a newer schema. */
function migrate(db: Db, kind: Kind, upTo: number): void {
  const steps = readSteps(kind)
  if (upTo > steps.length) throw new NewerSchema(`${kind}.db`, upTo, steps.length)
  db.function('sender_network', { deterministic: true }, senderNetwork)
  // IMMEDIATE: of two processes that start at once, the second waits and then finds the work done.
  const step = db.transaction(() => {
    const at = Number(db.pragma('user_version', { simple: true }))
    if (at > steps.length) throw new NewerSchema(`${kind}.db`, at, steps.length)
    const sql = steps[at]
    if (sql === undefined || at >= upTo) return false
    db.exec(sql)
    db.pragma(`user_version = ${at + 1}`)
    return true
  })
  while (step.immediate());
}

export function latestSchema(kind: Kind): number {
  return readSteps(kind).length
}

function readSteps(kind: Kind): string[] {
  const folder = new URL(`./migrations/${kind}/`, import.meta.url)
  return readMigrations(folder).map(({ sql }) => sql)
}

export class DamagedFile extends OperatorError {
  constructor(kind: string, options: ErrorOptions) {
    // What is recovered may lack addresses, which nothing shows.
    const next = kind === 'mail' ? ', and then: mayfly ledger distrust' : ''
    super(
      `${kind}.db is damaged and was left unchanged. Move it away to start with an empty one, or try to recover it: sqlite3 ${kind}.db .recover${next}`,
      options,
    )
  }
}
