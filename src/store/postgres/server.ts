import { asError } from '../../core/fault.ts'
import { StoreAway } from '../../core/problem.ts'
import { NotDurable } from './durability.ts'
import { DatabaseFault, isAway } from './errors.ts'
import type { Db } from './connections.ts'

const OLDEST = 150_000

/** Refuses a server that we cannot work with. That its commits last is checked by the pool, on each connection. */
export async function checkServer(db: Db): Promise<void> {
  const [row] = await db.rowsOnce<{ version: string; text: string }>(
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
export function asUnfit(error: unknown): unknown {
  if (error instanceof StoreAway) {
    const cause = asError(error.cause)
    if (cause instanceof NotDurable) {
      return new UnfitServer(`This PostgreSQL cannot be used: ${cause.message}.`, { cause: error })
    }
    const answered = 'severity' in cause && !isAway(cause)
    const what = answered ? 'refuses us' : 'cannot be reached'
    return new UnfitServer(`PostgreSQL ${what}: ${cause.message}`, { cause: error })
  }
  if (error instanceof DatabaseFault) {
    return new UnfitServer(`PostgreSQL refuses us: ${error.message}`, { cause: error })
  }
  return error
}
