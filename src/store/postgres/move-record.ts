import { type MovePlace, MoveRefused, type MoveSource } from '../moving.ts'
import type { Db } from './connection/connections.ts'
import type { Retention } from './mail/mailbox-locks.ts'
import { acquireLock, SCHEMA_LOCK } from './migrate.ts'
import type { MovePlan } from './move-shapes.ts'

/** How far a move into this database has come; undefined before its first batch. */
export interface MoveRecord extends MovePlan {
  place: MovePlace | undefined
  finished: boolean
}

interface RecordRow {
  source: string
  began_at: number
  pool_ms: number
  operator_ms: number
  place: string
  finished_at: number | null
}

// Made by the first move: who never moves has no such table.
const MADE = `create table if not exists mail.move (
  one         boolean primary key default true check (one),
  source      text    not null,
  began_at    bigint  not null,
  pool_ms     bigint  not null,
  operator_ms bigint  not null,
  place       text    not null default '', -- as JSON; '' before the first batch
  finished_at bigint                       -- null until all of it was compared
)`

/** Finds the record of this source's move, or makes it where nothing else is. */
export async function openRecord(
  db: Db,
  source: MoveSource,
  { now, ...keeping }: Retention & { now: Date },
): Promise<MoveRecord> {
  await acquireLock(db, SCHEMA_LOCK)
  await db.queryUnprepared(MADE)
  // A former run that was killed may still be committing its last batch: it is waited for.
  const [there] = await db.queryUnprepared<RecordRow>('select * from mail.move for update')
  if (there) return recordOf(there, source)
  const [full] = await db.queryUnprepared<{ name: string }>(
    source.tables.map(({ name }) => fullness(name)).join(' union all '),
  )
  if (full) {
    throw new MoveRefused(
      `That database is in use already: it has rows in ${full.name}. Move into a new, empty one.`,
    )
  }
  await db.queryUnprepared('delete from mail.shared_mailbox')
  await db.queryUnprepared(
    'insert into mail.move (source, began_at, pool_ms, operator_ms) values ($1, $2, $3, $4)',
    [source.print, now.getTime(), keeping.poolMs, keeping.operatorMs],
  )
  return { ...keeping, beganAt: now, place: undefined, finished: false }
}

function recordOf(row: RecordRow, { print }: MoveSource): MoveRecord {
  const finished = row.finished_at !== null
  if (row.source !== print) {
    throw new MoveRefused(
      finished
        ? 'That database is in use already: another folder was moved into it, or this one as it was before. Move into a new, empty one.'
        : 'That database holds half of another move: of another folder, or of this one before something changed in it. Move into a new, empty one.',
    )
  }
  return {
    beganAt: new Date(row.began_at),
    poolMs: row.pool_ms,
    operatorMs: row.operator_ms,
    place: row.place === '' ? undefined : (JSON.parse(row.place) as MovePlace),
    finished,
  }
}

// The two shared boxes are there from the start.
function fullness(table: string): string {
  const condition = table === 'mail.shared_mailbox' ? 'where last_id > 0' : ''
  return `select '${table}' as name where exists (select 1 from ${table} ${condition})`
}

/** Before the rows of a batch, so that whoever comes next waits for its commit. */
export async function advance(db: Db, from: MovePlace | undefined, to: MovePlace): Promise<void> {
  const moved = await db.query(
    'update mail.move set place = $2 where place = $1 and finished_at is null returning one',
    [from ? JSON.stringify(from) : '', JSON.stringify(to)],
  )
  if (moved.length === 0) throw new MoveRefused('Somebody else moves into that database just now.')
}

/** A service that ran on half of its mail would take in more, and give addresses to others. */
export async function refuseHalfMoved(db: Db): Promise<void> {
  const [there] = await db.queryUnprepared(
    `select 1 from pg_catalog.pg_tables where schemaname = 'mail' and tablename = 'move'`,
  )
  if (!there) return
  const [half] = await db.queryUnprepared('select 1 from mail.move where finished_at is null')
  if (half) {
    throw new MoveRefused(
      'This database holds half of a move. Finish it first: mayfly migrate, as it was begun.',
    )
  }
}
