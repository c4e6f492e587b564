import { OperatorError, StoreUnavailable, toError } from '../../../base/problem.ts'
import type { Kind } from '../../schema.ts'
import { type MigrateOptions, migrate } from '../migrate.ts'
import {
  type ConnectionOptions,
  type Connections,
  type Db,
  openConnections,
} from './connections.ts'
import { NotDurable } from './durability.ts'
import { connectionFault, DatabaseFault } from './errors.ts'

const OLDEST = 150_000

/** Refuses an unsuitable server. Durability is checked by the connections themselves. */
export async function checkServer(db: Db): Promise<void> {
  const [row] = await db.queryUnprepared<{ version: string; text: string }>(
    `select current_setting('server_version_num') as version,
       current_setting('server_encoding') as text`,
  )
  if (!row) throw new UnfitServer('PostgreSQL did not report its version.')
  const faults = [
    Number(row.version) < OLDEST && 'it is older than PostgreSQL 15',
    row.text !== 'UTF8' && `the database is encoded in ${row.text}, not in UTF8`,
  ].filter((fault) => fault !== false)
  if (faults.length > 0)
    throw new UnfitServer(`This PostgreSQL cannot be used: ${faults.join('; ')}.`)
}

/** What the operator has to fix before the service can start. */
export class UnfitServer extends OperatorError {}

function asUnfit(error: unknown): unknown {
  if (error instanceof StoreUnavailable) {
    const cause = toError(error.cause)
    if (cause instanceof NotDurable) {
      return new UnfitServer(`This PostgreSQL cannot be used: ${cause.message}.`, { cause: error })
    }
    const { seen, fix } = connectionFault(cause)
    return new UnfitServer(`${seen}. ${fix}`, { cause: error })
  }
  if (error instanceof DatabaseFault) {
    return new UnfitServer(`PostgreSQL refuses us: ${error.message}`, { cause: error })
  }
  return error
}

export type CheckedConnectionOptions = ConnectionOptions & MigrateOptions

/** Connections to a suitable server with the latest schema. */
export async function openCheckedConnections(
  options: CheckedConnectionOptions,
  kind: Kind,
): Promise<Connections> {
  const connections = openConnections(options)
  try {
    await checkServer(connections)
    await migrate(connections, kind, options.url, options)
    if ((await findMove(connections)) === 'unfinished') {
      throw new UnfitServer(
        'This database holds an unfinished move. Run `mayfly migrate` again to complete it.',
      )
    }
    return connections
  } catch (error) {
    await connections.close()
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
