import { hasErrorCode, OperatorError, StoreUnavailable } from '../../base/problem.ts'
import {
  type Kind,
  latestSchema,
  type Migration,
  nextMigration,
  OlderSchema,
  readMigrations,
} from '../schema.ts'
import { type Connections, type Db, openConnections } from './connection/connections.ts'

// A migration may rewrite all messages of the pool while other nodes wait.
const MIGRATION_MS = 3_600_000

export interface MigrateOptions {
  /** False for a command: nodes of an older version may still use the older schema, so it is refused. */
  upgrade?: boolean | undefined
  /** Called once if the migration has to wait for locks of others, with their names. */
  onWait?: ((others: string) => void) | undefined
  noticeMs?: number
}

const NOTICE_MS = 5_000

/** Migrates a schema to the latest version, one transaction per migration; refuses a newer schema. */
export async function migrate(
  connections: Connections,
  kind: Kind,
  url: string,
  { upgrade = true, onWait, noticeMs = NOTICE_MS }: MigrateOptions = {},
): Promise<void> {
  const migrations = readMigrations('postgres', kind)
  const known = latestSchema(migrations)
  const at = await versionOf(connections, kind)
  // Usually there is nothing to do: no lock is needed.
  if (at === known) return
  if (!upgrade && at > 0 && at < known) {
    throw new OlderSchema(
      `${kind} in PostgreSQL has schema ${at}, this program needs ${known}. Stop all nodes of the older version and start the new one first: \`mayfly serve\` migrates the database.`,
    )
  }
  const patient = openConnections({ url, connections: 1, statementMs: MIGRATION_MS })
  let report = onWait
  const watched = async (db: Db) => {
    const [own] = await db.query<{ pid: number }>('select pg_backend_pid() as pid')
    const timer = setInterval(async () => {
      const others = await sessionsAmong(connections, 'pg_blocking_pids($1)', own?.pid)
      if (others === '') return
      report?.(others)
      report = undefined
    }, noticeMs)
    return await migrateOnce(db, kind, migrations).finally(() => clearInterval(timer))
  }
  try {
    while (await patient.transaction(watched));
  } catch (error) {
    throw (await inUse(connections, error)) ?? error
  } finally {
    await patient.close()
  }
}

/** Nodes take row locks in another order than a migration takes its locks of tables. */
const DEADLOCK = '40P01'

/** If a deadlock ended the migration: with whom. PostgreSQL names the processes in the details of its error. */
async function inUse(db: Db, error: unknown): Promise<SchemaInUse | undefined> {
  const cause = error instanceof StoreUnavailable ? error.cause : undefined
  if (!hasErrorCode(cause, DEADLOCK)) return undefined
  const detail = cause instanceof Error && 'detail' in cause ? String(cause.detail) : ''
  const pids = [...detail.matchAll(/blocked by process (\d+)/g)].map(([, pid]) => Number(pid))
  const others = await sessionsAmong(db, '$1::integer[]', pids)
  return new SchemaInUse(
    `The schema in PostgreSQL could not be upgraded, because it is in use${others && ` by ${others}`}. Nothing was changed. Stop all nodes of the older version, then start this one.`,
    { cause: error },
  )
}

/** Who they are, as far as the server says. */
async function sessionsAmong(db: Db, pids: string, value: unknown): Promise<string> {
  const rows = await db
    .queryUnprepared<{ session: string }>(
      `select distinct coalesce(nullif(application_name, ''), 'a client') ||
         coalesce(' at ' || host(client_addr), ' on the same machine') as session
       from pg_stat_activity where pid = any(${pids}) and datname = current_database()`,
      [value],
    )
    .catch(() => [])
  return rows.map(({ session }) => session).join(', ')
}

/** Nodes of an older version are running. */
export class SchemaInUse extends OperatorError {}

// Arbitrary, the same for all nodes.
const LOCK = 'select pg_advisory_xact_lock(1296125281, $1)'
export const SCHEMA_LOCK = 1
export const PARTITION_LOCK = 2

/** Waits for a lock among all nodes. It ends with the transaction, also behind PgBouncer. */
export async function acquireLock(db: Db, lock: number): Promise<void> {
  await db.query(LOCK, [lock])
}

async function migrateOnce(db: Db, kind: Kind, migrations: readonly Migration[]): Promise<boolean> {
  await acquireLock(db, SCHEMA_LOCK)
  const at = await versionOf(db, kind)
  const next = nextMigration(migrations, `${kind} in PostgreSQL`, at)
  if (!next) return false
  if (at === 0) {
    await db.queryUnprepared(`create schema if not exists ${kind}`)
    await db.queryUnprepared(`create table ${kind}.schema_version (version integer not null)`)
    await db.queryUnprepared(`insert into ${kind}.schema_version values (0)`)
  }
  await db.queryUnprepared(next.sql)
  await db.queryUnprepared(`update ${kind}.schema_version set version = ${next.number}`)
  return true
}

/** 0 where there is none. */
async function versionOf(db: Db, kind: Kind): Promise<number> {
  // Not to_regclass: inside a transaction its result may be older than the lock.
  const [there] = await db.queryUnprepared(
    `select 1 from pg_catalog.pg_tables where schemaname = $1 and tablename = 'schema_version'`,
    [kind],
  )
  if (!there) return 0
  const [row] = await db.queryUnprepared<{ version: number }>(
    `select version from ${kind}.schema_version`,
  )
  return row?.version ?? 0
}
