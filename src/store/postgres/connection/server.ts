import { StoreUnavailable, toError } from '../../../core/problem.ts'
import type { Kind } from '../../schema.ts'
import { migrate } from '../migrate.ts'
import {
  type ConnectionOptions,
  type Connections,
  type Db,
  openConnections,
} from './connections.ts'
import { NotDurable } from './durability.ts'
import { DatabaseFault, isUnavailable } from './errors.ts'

const OLDEST = 150_000

/** Refuses a server that we cannot work with. That its commits last is checked by the pool, on each connection. */
export async function checkServer(db: Db): Promise<void> {
  const [row] = await db.queryUnprepared<{ version: string; text: string }>(
    `select current_setting('server_version_num') as version,
       current_setting('server_encoding') as text`,
  )
  if (!row) throw new UnfitServer('PostgreSQL did not say which version it is.')
  const faults = [
    Number(row.version) < OLDEST && 'it is older than PostgreSQL 15',
    row.text !== 'UTF8' && `the database is encoded in ${row.text}, not in UTF8`,
  ].filter((fault) => fault !== false)
  if (faults.length > 0)
    throw new UnfitServer(`This PostgreSQL cannot be used: ${faults.join('; ')}.`)
}

/** What an operator has to mend before we can start. */
export class UnfitServer extends Error {}

/** A fault of the start, in words that tell where to look. */
function asUnfit(error: unknown): unknown {
  if (error instanceof StoreUnavailable) {
    const cause = toError(error.cause)
    if (cause instanceof NotDurable) {
      return new UnfitServer(`This PostgreSQL cannot be used: ${cause.message}.`, { cause: error })
    }
    const answered = 'severity' in cause && !isUnavailable(cause)
    const what = answered ? 'refuses us' : 'cannot be reached'
    return new UnfitServer(`PostgreSQL ${what}: ${cause.message}`, { cause: error })
  }
  if (error instanceof DatabaseFault) {
    return new UnfitServer(`PostgreSQL refuses us: ${error.message}`, { cause: error })
  }
  return error
}

export interface CheckedConnectionOptions extends ConnectionOptions {
  /** Whether an older schema is brought to the newest version or refused. */
  upgrade?: boolean
}

/** Connections to a server that keeps what it says, with the newest schema of this kind. */
export async function openCheckedConnections(
  options: CheckedConnectionOptions,
  kind: Kind,
): Promise<Connections> {
  const pool = openConnections(options)
  try {
    await checkServer(pool)
    await migrate(pool, kind, options.url, options)
    if ((await findMove(pool)) === 'unfinished') {
      throw new UnfitServer(
        'This database holds an unfinished move. Run `mayfly migrate` again to complete it.',
      )
    }
    return pool
  } catch (error) {
    await pool.close()
    throw asUnfit(error)
  }
}

/** Whether a data folder was moved into this database. The first move creates the table. */
export async function findMove(db: Db): Promise<'unfinished' | 'finished' | undefined> {
  const [table] = await db.queryUnprepared(
    `select 1 from pg_catalog.pg_tables where schemaname = 'mail' and tablename = 'move'`,
  )
  if (!table) return undefined
  const [unfinished] = await db.queryUnprepared('select 1 from mail.move where finished_at is null')
  return unfinished ? 'unfinished' : 'finished'
}
