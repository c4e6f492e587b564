import { openPostgres, type Postgres } from '../../test/support/postgres.ts'
import { onExit } from '../tools/processes.ts'

export interface BenchPostgres extends Postgres {
  /** Of the server itself: every connection is a child of it. */
  pid: number
  /** A line for the report. */
  settings: string
}

// The tests' own is too small for a million messages, and would write a checkpoint every few seconds.
const SETTINGS = ['shared_buffers=512MB', 'max_wal_size=4GB']

/** A private PostgreSQL that waits for its disk as it does unless told otherwise. */
export async function startPostgres(): Promise<BenchPostgres> {
  // It ends with this program, also when that is killed.
  onExit(() => {})
  const postgres = await openPostgres({ settings: SETTINGS })
  const [row] = (await postgres.run(
    `select split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::integer as pid,
       current_setting('server_version') as version, current_setting('fsync') as fsync,
       current_setting('synchronous_commit') as commit`,
  )) as { pid: number; version: string; fsync: string; commit: string }[]
  if (!row) throw new Error('PostgreSQL did not say who it is')
  const settings = `PostgreSQL ${row.version} on the same machine, over a Unix socket; fsync ${row.fsync}, synchronous_commit ${row.commit}, ${SETTINGS.join(', ').replaceAll('=', ' ')}`
  return { ...postgres, pid: row.pid, settings }
}
