import { utcDay } from '../../../keys/rules.ts'
import {
  KEY_COLUMNS,
  type KeyRow,
  REFUND,
  SPEND,
  type Spent,
  type SpentFrom,
  spentOf,
} from '../../../keys/store.ts'
import type { Db } from '../connection/connections.ts'

/** Charges requests to keys, and refunds them. */
export function spendingWrites(db: Db) {
  const queues = new Map<string, Spend[]>()

  /** One statement at a time per key: requests that wait meanwhile become one statement, and each gets its own exact result. */
  async function drain(keyId: string, queue: Spend[]): Promise<void> {
    while (queue.length > 0) {
      const group = queue.splice(0)
      try {
        const days = Map.groupBy(group, ({ now }) => utcDay(now))
        for (const alike of days.values()) await spendAll(db, keyId, alike.sort(byTime))
      } catch (error) {
        // Those waiting would fail likewise. Rejecting one that has its result has no effect.
        for (const { reject } of [...group, ...queue.splice(0)]) reject(error)
      }
    }
    queues.delete(keyId)
  }

  return {
    /** Charges one request in a single statement; undefined if none is left. */
    spendRequest: (keyId: string, now: Date): Promise<Spent | undefined> =>
      new Promise((resolve, reject) => {
        const spend = { now, resolve, reject }
        const queue = queues.get(keyId)
        if (queue) {
          queue.push(spend)
          return
        }
        const own = [spend]
        queues.set(keyId, own)
        void drain(keyId, own)
      }),

    /** Refunds one request, after an error of ours, to the day and period it was charged to. */
    async returnRequest(keyId: string, { day, period }: SpentFrom): Promise<void> {
      await db.query(
        `with refunded as (${REFUND})
         update shop.usage_day set count = count - 1 from refunded where key_id = id and day = $2`,
        [keyId, day, period],
      )
    },
  }
}

interface Spend {
  now: Date
  resolve: (spent: Spent | undefined) => void
  reject: (error: unknown) => void
}

function byTime(one: Spend, next: Spend): number {
  return one.now.getTime() - next.now.getTime()
}

/**
 * Charges requests of one key and day, in the order of time: all at once if the key has that many left, otherwise by halves. If
 * one is refused, so are all after it: a plan that has expired or is used up stays so. False if any was refused.
 */
async function spendAll(db: Db, keyId: string, group: readonly Spend[]): Promise<boolean> {
  const last = group.at(-1)
  if (!last) return true
  const row = await take(db, keyId, last.now, group.length)
  if (row) {
    for (const [at, { now, resolve }] of group.entries()) {
      resolve(spentOf(row, now, group.length - 1 - at))
    }
    return true
  }
  const half = Math.floor(group.length / 2)
  if (half > 0 && (await spendAll(db, keyId, group.slice(0, half)))) {
    return await spendAll(db, keyId, group.slice(half))
  }
  for (const { resolve } of group.slice(half)) resolve(undefined)
  return false
}

/** The key after the last of these requests; undefined, and nothing is charged, unless all of them may pass. */
async function take(db: Db, keyId: string, now: Date, wanted: number): Promise<KeyRow | undefined> {
  // After waiting for another node's commit, PostgreSQL evaluates the conditions again on the new row.
  const [row] = await db.query<KeyRow>(
    `with spent as (${SPEND}), counted as (
       insert into shop.usage_day as known (key_id, day, count) select id, day, $4 from spent
       on conflict (key_id, day) do update set count = known.count + excluded.count
     )
     select ${KEY_COLUMNS} from spent`,
    [keyId, now.getTime(), utcDay(now), wanted],
  )
  return row
}

// Limits: requests of different keys are separate commits, as many at a time as this thread has connections.
