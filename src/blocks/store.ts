import { type AsyncMethods, containing, type Operation, query } from '../base/operation.ts'
import type { Block, BlockChange, BlockEntry } from './rules.ts'

interface BlockRow {
  entry: BlockEntry
  note: string
  created_at: number
  expires_at: number | null
  number: number
}

const LIVE = '(expires_at is null or expires_at > $1)'
/** Longer than a thread takes to read a change, whatever happens meanwhile. */
const ENDED_BLOCK_MS = 86_400_000
const ENDED_BLOCKS_PER_STEP = 1_000

export const blockReads = {
  /** Live blocks, last changed first. */
  *listBlocks({ now, limit, before, text }: BlockQuery): Operation<Block[]> {
    const rows = yield* query<BlockRow>(
      `select entry, note, created_at, expires_at, number from mail.block_entry
       where ${LIVE} and number < $2 and entry like $3 escape '!' order by number desc limit $4`,
      [now.getTime(), before ?? Number.MAX_SAFE_INTEGER, containing(text ?? ''), limit],
    )
    return rows.map(({ created_at: createdAt, expires_at: expiresAt, ...row }) => ({
      ...row,
      createdAt: new Date(createdAt),
      expiresAt: dateOf(expiresAt),
    }))
  },

  *countBlocks(now: Date): Operation<number> {
    const [row] = yield* query<{ blocks: number }>(
      `select cast(count(*) as bigint) as blocks from mail.block_entry where ${LIVE}`,
      [now.getTime()],
    )
    return row?.blocks ?? 0
  },

  /** The number of the last change, 0 before the first. All changes up to it are visible. */
  *lastBlockChange(): Operation<number> {
    const [row] = yield* query<{ number: number }>('select number from mail.block_counter')
    return row?.number ?? 0
  },

  /** Changes after this number, by ascending number. From 0: all blocks, and those that expired lately. */
  *readBlockChanges(after: number, limit: number): Operation<BlockChange[]> {
    const rows = yield* query<Pick<BlockRow, 'entry' | 'expires_at' | 'number'>>(
      `select entry, expires_at, number from mail.block_entry where number > $1
       order by number limit $2`,
      [after, limit],
    )
    return rows.map(({ entry, expires_at: expiresAt, number }) => {
      return { entry, expiresAt: dateOf(expiresAt), number }
    })
  },
}

/** Each in one transaction. */
export const blockTransactions = {
  /** Adds blocks, and replaces note and end of existing ones, in one commit: pass few at a time. Returns how many are new. */
  *addBlocks({ entries, note, expiresAt, now }: NewBlocks): Operation<number> {
    const before = yield* nextNumbers(entries.length)
    const [row] = yield* query<{ known: number }>(
      `select cast(count(*) as bigint) as known from mail.block_entry
       where ${LIVE} and entry = any($2::text[])`,
      [now.getTime(), entries],
    )
    yield* query(
      `insert into mail.block_entry (entry, note, created_at, expires_at, number)
       select item, $2, cast($3 as bigint), cast($4 as bigint), cast($5 as bigint) + row_number() over ()
       from unnest($1::text[]) as item where true
       on conflict (entry) do update set note = excluded.note, created_at = excluded.created_at,
         expires_at = excluded.expires_at, number = excluded.number`,
      [entries, note, now.getTime(), expiresAt?.getTime(), before],
    )
    return entries.length - (row?.known ?? 0)
  },

  /** A removed block has ended at 0, so that it has on nodes whose clocks are behind, too. `created_at` is when it was removed. */
  *removeBlocks(entries: readonly BlockEntry[], now: Date): Operation<number> {
    const before = yield* nextNumbers(entries.length)
    const removed = yield* query(
      `update mail.block_entry set expires_at = 0, created_at = $1, number = cast($3 as bigint) + given.position
       from (select item, row_number() over () as position from unnest($2::text[]) as item) as given
       where ${LIVE} and entry = given.item returning entry`,
      [now.getTime(), entries, before],
    )
    return removed.length
  },

  /** Deletes blocks that ended a day ago, in one small step; true if there may be more. */
  *sweepBlocks(now: Date): Operation<boolean> {
    const gone = yield* query(
      `delete from mail.block_entry where entry in (select entry from mail.block_entry
         where expires_at < $1 and created_at < $1 limit ${ENDED_BLOCKS_PER_STEP}) returning entry`,
      [now.getTime() - ENDED_BLOCK_MS],
    )
    return gone.length === ENDED_BLOCKS_PER_STEP
  },
}

/** Draws as many numbers; returns the one before the first. */
function* nextNumbers(count: number): Operation<number> {
  const [row] = yield* query<{ number: number }>(
    `insert into mail.block_counter (id, number) values (1, $1)
     on conflict (id) do update set number = block_counter.number + excluded.number returning number`,
    [count],
  )
  return (row?.number ?? 0) - count
}

function dateOf(time: number | null): Date | undefined {
  return time === null ? undefined : new Date(time)
}

export interface BlockQuery {
  now: Date
  limit: number
  /** Only blocks with a smaller number. */
  before?: number | undefined
  /** Only entries that contain this text, in lower case. */
  text?: string | undefined
}

export interface NewBlocks {
  /** Without duplicates. */
  entries: readonly BlockEntry[]
  note: string
  expiresAt: Date | undefined
  now: Date
}

export interface BlockStore extends AsyncMethods<typeof blockReads & typeof blockTransactions> {}
