import { openPostgres, type Postgres } from '../../test/kit/store/postgres.ts'
import { onExit } from '../tools/processes.ts'

export interface BenchPostgres extends Postgres {
  /** The postmaster's, the parent of all backends. */
  pid: number
  /** For the report. */
  settings: string
}

// With the defaults, filling a million messages would trigger a checkpoint every few seconds.
export const LARGE = ['shared_buffers=512MB', 'max_wal_size=4GB']

/** A private PostgreSQL with durable commits. */
export async function startPostgres(options: readonly string[] = LARGE): Promise<BenchPostgres> {
  // Installs the signal handlers that stop it with this program.
  onExit(() => {})
  const postgres = await openPostgres({ settings: options })
  const [row] = (await postgres.run(
    `select split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::integer as pid,
       current_setting('server_version') as version, current_setting('fsync') as fsync,
       current_setting('synchronous_commit') as commit`,
  )) as { pid: number; version: string; fsync: string; commit: string }[]
  if (!row) throw new Error('PostgreSQL returned no settings')
  const values = [`fsync=${row.fsync}`, `synchronous_commit=${row.commit}`, ...options]
  const listens = options.some((option) => option.startsWith('listen_addresses='))
  const settings = `PostgreSQL ${row.version} on the same machine${listens ? '' : ', over a Unix socket'}; ${values.join(', ').replaceAll('=', ' ')}`
  return { ...postgres, pid: row.pid, settings }
}
