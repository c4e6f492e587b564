import { randomUUID } from 'node:crypto'
import { StoreUnavailable, toError } from '../../base/problem.ts'
import { type Db, openConnections, withoutNul } from '../postgres/connection/connections.ts'
import { isUnavailable } from '../postgres/connection/errors.ts'
import { checkServer, findMove } from '../postgres/connection/server-requirements.ts'
import { AHEAD_DAYS } from '../postgres/mail/partition-key.ts'
import { partitionMaintenance } from '../postgres/mail/partitions.ts'
import { BLOCK } from '../postgres/mail/raw-mail.ts'
import { acquireLock, migrate, SCHEMA_LOCK } from '../postgres/migrate.ts'
import { addRows, type Checksum, type Column, checksumQuery } from './checksum.ts'
import { MoveRefused, type MoveSource, type Row } from './source.ts'

const BATCH_ROWS = 500
const BATCH_BYTES = 8_000_000
// The server hashes a whole table in one statement.
const VERIFY_MS = 6 * 3_600_000

/** An empty PostgreSQL database, or one with an unfinished move, which is discarded. */
export async function openMoveTarget(url: string) {
  const connections = openConnections({ url, connections: 2 })
  const patient = openConnections({ url, connections: 1, statementMs: VERIFY_MS })
  const close = async () => void (await Promise.all([connections.close(), patient.close()]))
  try {
    await checkServer(connections)
    await migrate(connections, 'mail', url)
    await migrate(connections, 'shop', url)
  } catch (cause) {
    await close()
    throw asRefused(cause)
  }
  const run = randomUUID()
  const columns = new Map<string, Column[]>()

  return {
    /** Refuses a database in use; empties the tables otherwise. */
    async begin(tables: readonly string[], now: Date): Promise<void> {
      await connections.transaction((db) => beginMove(db, tables, { run, now }))
      const maintain = partitionMaintenance(connections, AHEAD_DAYS)
      while (await maintain(now));
    },

    /** Copies a table in one transaction. Returns what its checksum must be. */
    copyTable: (
      table: string,
      rows: Iterable<Row>,
      copied: (rows: number, bytes: number) => void,
    ): Promise<Checksum> =>
      connections.transaction(async (db) => {
        await lockMove(db, run)
        const into = await readColumns(db, table)
        columns.set(table, into)
        let checksum: Checksum = { rows: 0, sum: 0n }
        for (const batch of batchesOf(rows)) {
          await db.queryUnprepared(
            `insert into ${table} select * from json_populate_recordset(null::${table}, $1)`,
            [asJson(table, into, batch.rows)],
          )
          checksum = addRows(checksum, batch.rows, into)
          copied(batch.rows.length, batch.bytes)
        }
        return checksum
      }),

    async checksum(table: string): Promise<Checksum> {
      const query = checksumQuery(table, columns.get(table) ?? [])
      const [row] = await patient.queryUnprepared<{ rows: number; sum: string }>(query)
      return { rows: row?.rows ?? 0, sum: BigInt(row?.sum ?? 0) }
    },

    /** From now on a service may start on the database, and draws ids above those that were moved. */
    async finish({ domain, account, serial }: MoveSource['nextIds'], now: Date): Promise<void> {
      await connections.transaction(async (db) => {
        await lockMove(db, run)
        await db.queryUnprepared(
          `select setval(pg_get_serial_sequence('mail.mail_domain', 'id'), $1, false),
             setval(pg_get_serial_sequence('mail.gmail_account', 'id'), $2, false),
             setval('mail.raw_block', $3, false)`,
          [domain, account, Math.ceil(serial / BLOCK)],
        )
        await db.queryUnprepared('update mail.move set finished_at = $1', [now.getTime()])
      })
    },
    close,
  }
}

/** What the server, the network or TLS reports is for the operator. It quotes neither rows nor the URL. */
function asRefused(cause: unknown): unknown {
  if (!(cause instanceof Error)) return cause
  const reported = cause instanceof StoreUnavailable ? toError(cause.cause) : cause
  if (isUnavailable(reported)) return new MoveRefused('PostgreSQL cannot be reached.', { cause })
  return new MoveRefused(`PostgreSQL cannot be used: ${reported.message}`, { cause })
}

async function beginMove(
  db: Db,
  tables: readonly string[],
  { run, now }: { run: string; now: Date },
): Promise<void> {
  await acquireLock(db, SCHEMA_LOCK)
  const found = await findMove(db)
  const used = found === 'unfinished' ? undefined : await findRows(db, tables)
  if (found === 'finished' || used) {
    const why = used ? `it has rows in ${used}` : 'a data folder was moved into it'
    throw new MoveRefused(`This database is in use: ${why}. Move into an empty one.`)
  }
  // This waits until the last statement of an interrupted run has ended.
  await db.queryUnprepared(`truncate ${tables.join(', ')}`)
  await db.queryUnprepared('drop table if exists mail.move')
  await db.queryUnprepared(
    'create table mail.move (run text primary key, began_at bigint not null, finished_at bigint)',
  )
  await db.queryUnprepared('insert into mail.move (run, began_at) values ($1, $2)', [
    run,
    now.getTime(),
  ])
}

/** The first of the tables that has rows. A new shared mailbox has one, which was never used. */
async function findRows(db: Db, tables: readonly string[]): Promise<string | undefined> {
  const [found] = await db.queryUnprepared<{ name: string }>(
    tables
      .map((table) => {
        const where = table === 'mail.shared_mailbox' ? 'where last_id > 0' : ''
        return `select '${table}' as name where exists (select 1 from ${table} ${where})`
      })
      .join(' union all '),
  )
  return found?.name
}

/** Keeps another run from starting until this transaction ends, and fails if one has. */
async function lockMove(db: Db, run: string): Promise<void> {
  const found = await db.query('select 1 from mail.move where run = $1 for update', [run])
  if (found.length === 0) throw new MoveRefused('Another move into this database has started.')
}

async function readColumns(db: Db, table: string): Promise<Column[]> {
  return await db.queryUnprepared<Column>(
    `select attname as name, format_type(atttypid, null) as type from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`,
    [table],
  )
}

function* batchesOf(rows: Iterable<Row>): Generator<{ rows: Row[]; bytes: number }> {
  let batch: Row[] = []
  let bytes = 0
  let size = 0
  for (const row of rows) {
    batch.push(row)
    for (const value of Object.values(row)) {
      if (value instanceof Uint8Array) bytes += value.length
      else if (typeof value === 'string') size += value.length
    }
    if (batch.length < BATCH_ROWS && bytes + size < BATCH_BYTES) continue
    yield { rows: batch, bytes }
    batch = []
    bytes = size = 0
  }
  if (batch.length > 0) yield { rows: batch, bytes }
}

/** Rows as JSON, which PostgreSQL converts to the types of the columns. */
function asJson(table: string, columns: readonly Column[], rows: readonly Row[]): string {
  const sent = rows.map((row) =>
    Object.fromEntries(
      columns.map(({ name }) => {
        const value = row[name]
        if (value === undefined) throw new Error(`${table}.${name} has no source`)
        return [name, value instanceof Uint8Array ? `\\x${value.toHex()}` : withoutNul(value)]
      }),
    ),
  )
  return JSON.stringify(sent)
}
