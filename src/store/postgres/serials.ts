import type { Db } from './pool.ts'

// As many as the sequence's blocks have room for in 38 bits, see buckets.ts.
export const BLOCK = 1024

/** Numbers for raw mail that nobody else gets. Taken by the block, so that a mail costs no question of its own. */
export function serialNumbers(): (db: Db, count: number) => Promise<number[]> {
  let free: number[] = []

  return async (db, count) => {
    while (free.length < count) {
      const [row] = await db.rows<{ block: number }>(`select nextval('mail.raw_block') as block`)
      if (!row) throw new Error('a block of serials was asked for and not given')
      free = free.concat(Array.from({ length: BLOCK }, (_, at) => row.block * BLOCK + at))
    }
    return free.splice(0, count)
  }
}
