import type { Db } from './connections.ts'

// As many as the sequence's blocks have room for in 38 bits, see partition-days.ts.
export const BLOCK = 1024
// A replica that took over, or a server that was restored, gives the blocks of the last moments once more. By then nobody
// uses them any more.
const GOOD_MS = 10_000

/**
 * Numbers for raw mail that nobody else gets: two mails of one number could be taken for each other. Drawn by the block, so
 * that a mail costs no question of its own, and outside of the transaction that uses them.
 */
export function serialNumbers(db: Db): (count: number) => Promise<number[]> {
  let free: number[] = []
  let goodUntil = 0

  return async (count) => {
    if (performance.now() >= goodUntil) free = []
    while (free.length < count) {
      goodUntil = performance.now() + GOOD_MS
      const [row] = await db.rows<{ block: number }>(DRAW)
      if (!row) throw new Error('a block of serials was asked for and not given')
      free = free.concat(Array.from({ length: BLOCK }, (_, at) => row.block * BLOCK + at))
    }
    return free.splice(0, count)
  }
}

// PostgreSQL answers with a sequence's next number before it is on disk, and gives it again after a crash. With a message
// to the log, which nobody reads, the answer waits for the disk.
const DRAW = `select nextval('mail.raw_block') as block,
  pg_logical_emit_message(true, 'mayfly', '')::text`
