import { join } from 'node:path'
import { senderNetwork } from '../../base/ip.ts'
import { OperatorError } from '../../base/problem.ts'
import {
  type Kind,
  latestSchema,
  type Migration,
  NewerSchema,
  nextMigration,
  OlderSchema,
  readMigrations,
} from '../schema.ts'
import { openCheckpoints, rewriteLog } from './checkpoints.ts'
import { type Db, isCorruption, lockFolder, openWritable } from './files.ts'

interface OpenOptions {
  /** For a command: an older schema is refused while a service, which is of the older version, is running. */
  besideService?: boolean
  /** Stops at this schema; default: the latest. */
  upTo?: number | undefined
}

/** Opens a file for writing and migrates it to the latest schema. */
export function openMigrated(
  folder: string,
  kind: Kind,
  { besideService = false, upTo }: OpenOptions = {},
): Db {
  const migrations = readMigrations('sqlite', kind)
  try {
    const db = openWritable(join(folder, `${kind}.db`))
    const at = schemaOf(db, kind)
    const isOlder = at > 0 && at < latestSchema(migrations)
    if (!besideService) rewriteLog(db)
    const unlock = besideService && isOlder ? lockIdle(folder) : () => {}
    try {
      migrate(db, kind, migrations, upTo)
    } finally {
      unlock()
    }
    return db
  } catch (cause) {
    throw isCorruption(cause) ? new DamagedFile(kind, { cause }) : cause
  }
}

function lockIdle(folder: string): () => void {
  const reason = 'The running service is an older version. Restart it first.'
  return lockFolder(folder, (options) => new OlderSchema(reason, options))
}

/** One transaction per migration. */
function migrate(db: Db, kind: Kind, migrations: readonly Migration[], upTo?: number): void {
  const latest = latestSchema(migrations)
  if (upTo !== undefined && upTo > latest) throw new NewerSchema(`${kind}.db`, upTo, latest)
  db.function('sender_network', { deterministic: true }, senderNetwork)
  // IMMEDIATE: of two processes that start at once, the second waits and then finds the work done.
  const migrateOnce = db.transaction(() => {
    const next = nextMigration(migrations, `${kind}.db`, schemaOf(db, kind))
    if (!next || (upTo !== undefined && next.number > upTo)) return false
    db.exec(next.sql)
    db.pragma(`user_version = ${next.number}`)
    db.pragma(`application_id = ${NUMBERED}`)
    return true
  })
  const checkpoints = openCheckpoints(db)
  while (migrateOnce.immediate()) checkpoints.shorten()
  checkpoints.stop()
}

// "mayf": user_version is the number of the last migration. Versions up to 0.3 counted them instead, and had no id.
const NUMBERED = 0x6d_61_79_66

/** The schema of a file; 0 if it is empty. `schema`: the name of an attached one. */
export function schemaOf(db: Db, kind: Kind, schema = 'main'): number {
  const version = Number(db.pragma(`${schema}.user_version`, { simple: true }))
  if (db.pragma(`${schema}.application_id`, { simple: true }) === NUMBERED) return version
  return readMigrations('sqlite', kind)[version - 1]?.number ?? version
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
