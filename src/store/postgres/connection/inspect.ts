import { StoreUnavailable, toError } from '../../../base/problem.ts'
import { openConnections } from './connections.ts'
import { NotDurable } from './durability.ts'
import { connectionFault } from './errors.ts'

interface Row {
  version: string
  role: string
  used: number
  most: string
  required: string
  standby: boolean
  readonly: string
  at: number
}

/** What `mayfly doctor` judges. */
export async function inspectPostgres(url: string) {
  const db = openConnections({ url, connections: 1 })
  try {
    const asked = Date.now()
    const [row] = await db.queryUnprepared<Row>(
      // pg_stat_activity would hide the sessions of other roles.
      `select current_setting('server_version_num') as version,
         quote_ident(current_user) as role,
         (select sum(numbackends) from pg_stat_database) as used,
         current_setting('max_connections') as most,
         current_setting('synchronous_standby_names') as required,
         pg_is_in_recovery() as standby,
         current_setting('transaction_read_only') as readonly,
         extract(epoch from clock_timestamp())::double precision * 1000 as at`,
    )
    const answered = Date.now()
    const standbys = await db.queryUnprepared<{ name: string | null; state: string | null }>(
      'select application_name as name, sync_state as state from pg_stat_replication',
    )
    if (!row) throw new Error('PostgreSQL did not answer')
    return {
      version: Number(row.version),
      role: row.role,
      usedConnections: Number(row.used),
      maxConnections: Number(row.most),
      requiredStandbys: row.required,
      standbys,
      offsetMs: Number(row.at) - (asked + answered) / 2,
      readOnly: readOnlyReason(row),
    }
  } catch (error) {
    const cause = error instanceof StoreUnavailable ? toError(error.cause) : toError(error)
    if (cause instanceof NotDurable) return { durabilityFault: cause.message }
    return { fault: connectionFault(cause) }
  } finally {
    await db.close()
  }
}

function readOnlyReason({ standby, readonly }: Row): 'standby' | 'setting' | undefined {
  if (standby) return 'standby'
  return readonly === 'on' ? 'setting' : undefined
}
