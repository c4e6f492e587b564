import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { OperatorError } from '../../base/problem.ts'
import { OPERATOR, POOL } from '../../mail/rules/session.ts'
import { dayOf, partitionFor, rawIdOf } from '../postgres/mail/partition-key.ts'
import { type Kind, latestSchema, nextMigration, readMigrations } from '../schema.ts'
import { type Db, isCorruption, lockFolder, openReadOnly } from '../sqlite/files.ts'
import { DamagedFile, schemaOf } from '../sqlite/migrate.ts'

export type Value = string | number | null | Uint8Array
/** By the column names of PostgreSQL. */
export type Row = Readonly<Record<string, Value>>

interface SourceTable {
  /** In PostgreSQL, as in `mail.session`. */
  name: string
  rows: number
  /** Bytes of mail, compressed. */
  bytes: number
  read(): Iterable<Row>
}

export interface MoveSource {
  /** In the order in which they are copied: referenced tables come first. */
  tables: readonly SourceTable[]
  /** The first free values of what PostgreSQL draws from sequences. */
  nextIds: { domain: number; account: number; serial: number }
  close(): void
}

/** What determines the partition of each mail. */
export interface MoveOptions {
  now: Date
  poolMs: number
  operatorMs: number
}

/** Opens a data folder read-only, as of one moment, and locks it against a service. */
export function openMoveSource(folder: string, options: MoveOptions): MoveSource {
  for (const kind of ['mail', 'shop']) {
    if (existsSync(join(folder, `${kind}.db`))) continue
    throw new MoveRefused(`There is no ${kind}.db in ${folder}. Name the folder of MAYFLY_DATA.`)
  }
  const inUse = `${folder} is in use by a service or another move. Stop it first.`
  const unlock = lockFolder(folder, (options) => new MoveRefused(inUse, options))
  const files: Db[] = []
  const close = () => {
    for (const db of files) db.close()
    unlock()
  }
  try {
    const [shop, mail] = (['shop', 'mail'] as const).map((kind) => {
      const db = openReadOnly(join(folder, `${kind}.db`))
      files.push(db)
      beginRead(db, kind)
      return db
    }) as [Db, Db]
    prepareMail(mail, options)
    const tables = [...plainTables(shop, 'shop'), ...plainTables(mail, 'mail'), ...mailTables(mail)]
    return { tables, nextIds: nextIdsOf(mail), close }
  } catch (error) {
    close()
    throw error
  }
}

/** One snapshot of the file: what a command writes meanwhile is not seen. */
function beginRead(db: Db, kind: Kind): void {
  try {
    db.exec('begin')
    const migrations = readMigrations('sqlite', kind)
    const schema = schemaOf(db, kind)
    if (nextMigration(migrations, `${kind}.db`, schema)) {
      throw new MoveRefused(
        `${kind}.db has schema ${schema}, but schema ${latestSchema(migrations)} is required. Start and stop the service once on this folder, or on a copy of it, to migrate it.`,
      )
    }
  } catch (cause) {
    throw isCorruption(cause) ? new DamagedFile(kind, { cause }) : cause
  }
}

// The partition of a message, where `session` is that of its mailbox, if any.
const PARTITION = `partition_at(case mailbox when ${POOL} then received_at + pool_ms()
  when ${OPERATOR} then received_at + operator_ms() else expires_at end)`
const PLACED = 'message left join session on session.id = mailbox'

/**
 * Temporary tables, in a file of their own. Raw mail is numbered from 0, because a serial has 38 bits and ids of SQLite follow
 * the clock; and it is stored once per partition, with a reference per message there.
 */
function prepareMail(mail: Db, { now, poolMs, operatorMs }: MoveOptions): void {
  // Mail that has expired goes to the partition of today, which the first sweeps clear.
  mail.function('partition_at', { deterministic: true }, (dueAt: number | null) =>
    Math.max(partitionFor(new Date(dueAt ?? 0), now), dayOf(now)),
  )
  mail.function('pool_ms', { deterministic: true }, () => poolMs)
  mail.function('operator_ms', { deterministic: true }, () => operatorMs)
  mail.function('raw_id_of', { deterministic: true }, rawIdOf)
  mail.exec(`
    create temp table copied (
      raw_id integer, bucket integer, refs integer, primary key (raw_id, bucket)
    ) without rowid;
    insert into copied select raw_id, ${PARTITION} as bucket, count(*) from ${PLACED}
      group by raw_id, bucket;
    create temp table numbered (raw_id integer primary key, serial integer);
    insert into numbered select raw_id, row_number() over (order by raw_id) - 1
      from (select distinct raw_id from copied)`)
}

// PostgreSQL counts what is at a pool address when it needs to, stores a raw mail as one row, and names it differently.
// The mail log stays: it is short-lived, and no part of what was promised to anybody. Certificates are obtained again.
const NOT_PLAIN = [
  ...['pool_address', 'raw_bytes', 'parsed_mail', 'raw_mail', 'message'],
  ...['mail_log', 'mail_log_address', 'mail_log_counter', 'mail_log_forgotten', 'tls_entry'],
]

function plainTables(db: Db, kind: Kind): SourceTable[] {
  const names = db
    .prepare<[], string>(
      `select name from main.sqlite_schema where type = 'table' and name not like 'sqlite_%' order by name`,
    )
    .pluck()
    .all()
  return names
    .filter((name) => !NOT_PLAIN.includes(name))
    .map((name) => sourceTable(db, `${kind}.${name}`, { columns: '*', from: name }))
}

function mailTables(mail: Db): SourceTable[] {
  return [
    sourceTable(mail, 'mail.raw_mail', {
      columns:
        'raw_mail.*, copied.refs, bucket, serial, raw_bytes.zstd, parsed_mail.zstd as parsed',
      from: `copied cross join numbered using (raw_id) cross join raw_mail on raw_mail.id = raw_id
        cross join raw_bytes using (raw_id) left join parsed_mail using (raw_id)`,
      bytes: 'length(raw_bytes.zstd) + coalesce(length(parsed_mail.zstd), 0)',
    }),
    sourceTable(mail, 'mail.message', {
      columns: `message.*, raw_id_of(${PARTITION}, serial) as raw_id`,
      from: `${PLACED} cross join numbered on numbered.raw_id = message.raw_id`,
    }),
  ]
}

function sourceTable(
  db: Db,
  name: string,
  { columns, from, bytes = '0' }: { columns: string; from: string; bytes?: string },
): SourceTable {
  const totals = db.prepare<[], { rows: number; bytes: number }>(
    `select count(*) as rows, coalesce(sum(${bytes}), 0) as bytes from ${from}`,
  )
  const { rows, bytes: total } = totals.get() ?? { rows: 0, bytes: 0 }
  return {
    name,
    rows,
    bytes: total,
    read: () => db.prepare<[], Row>(`select ${columns} from ${from}`).iterate(),
  }
}

function nextIdsOf(mail: Db): MoveSource['nextIds'] {
  const last = mail.prepare<[string], number>('select seq from sqlite_sequence where name = ?')
  const next = (table: string) => (last.pluck().get(table) ?? 0) + 1
  const serials = mail.prepare<[], number>('select count(*) from numbered').pluck()
  return {
    domain: next('mail_domain'),
    account: next('gmail_account'),
    serial: serials.get() ?? 0,
  }
}

/** Why nothing is moved, for the operator. */
export class MoveRefused extends OperatorError {}
