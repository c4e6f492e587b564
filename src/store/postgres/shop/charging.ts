import { utcDay } from '../../../keys/rules.ts'
import {
  CHARGE,
  type ChargedKey,
  type ChargedTo,
  chargedKeyOf,
  KEY_COLUMNS,
  type KeyRow,
  REFUND,
} from '../../../keys/store.ts'
import type { Db } from '../connection/connections.ts'

/** Charges requests to keys, and refunds them. */
export function chargeWrites(db: Db) {
  const queues = new Map<string, PendingCharge[]>()

  /** One statement at a time per key: requests that wait meanwhile become one statement, and each gets its own exact result. */
  async function drain(keyId: string, queue: PendingCharge[]): Promise<void> {
    while (queue.length > 0) {
      const group = queue.splice(0)
      try {
        const days = Map.groupBy(group, ({ now }) => utcDay(now))
        for (const alike of days.values()) await chargeAll(db, keyId, alike.sort(byTime))
      } catch (error) {
        // The ones waiting would fail too. Rejecting one that has its result has no effect.
        for (const { reject } of [...group, ...queue.splice(0)]) reject(error)
      }
    }
    queues.delete(keyId)
  }

  return {
    /** Charges one request in a single statement; undefined if none is left. */
    chargeRequest: (keyId: string, now: Date): Promise<ChargedKey | undefined> =>
      new Promise((resolve, reject) => {
        const charge = { now, resolve, reject }
        const queue = queues.get(keyId)
        if (queue) {
          queue.push(charge)
          return
        }
        const own = [charge]
        queues.set(keyId, own)
        void drain(keyId, own)
      }),

    /** Refunds one request, after an error of ours, to the day and period it was charged to. */
    async refundRequest(keyId: string, { day, period }: ChargedTo): Promise<void> {
      await db.query(
        `with refunded as (${REFUND})
         update shop.usage_day set count = count - 1 from refunded where key_id = id and day = $2`,
        [keyId, day, period],
      )
    },
  }
}

interface PendingCharge {
  now: Date
  resolve: (charged: ChargedKey | undefined) => void
  reject: (error: unknown) => void
}

function byTime(one: PendingCharge, next: PendingCharge): number {
  return one.now.getTime() - next.now.getTime()
}

/**
 * Charges requests of one key and day, in the order of time: all at once if the key has that many left, otherwise by halves. If
 * one is refused, so are all after it: a plan that has expired or is used up stays so. False if any was refused.
 */
async function chargeAll(db: Db, keyId: string, group: readonly PendingCharge[]): Promise<boolean> {
  const last = group.at(-1)
  if (!last) return true
  const row = await chargeTogether(db, keyId, last.now, group.length)
  if (row) {
    for (const [at, { now, resolve }] of group.entries()) {
      resolve(chargedKeyOf(row, now, group.length - 1 - at))
    }
    return true
  }
  const half = Math.floor(group.length / 2)
  if (half > 0 && (await chargeAll(db, keyId, group.slice(0, half)))) {
    return await chargeAll(db, keyId, group.slice(half))
  }
  for (const { resolve } of group.slice(half)) resolve(undefined)
  return false
}

/** The key after the last of these requests; undefined, and nothing is charged, unless all of them may pass. */
async function chargeTogether(
  db: Db,
  keyId: string,
  now: Date,
  wanted: number,
): Promise<KeyRow | undefined> {
  // After waiting for another node's commit, PostgreSQL evaluates the conditions again on the new row.
  const [row] = await db.query<KeyRow>(
    `with charged as (${CHARGE}), counted as (
       insert into shop.usage_day as known (key_id, day, count) select id, day, $4 from charged
       on conflict (key_id, day) do update set count = known.count + excluded.count
     )
     select ${KEY_COLUMNS} from charged`,
    [keyId, now.getTime(), utcDay(now), wanted],
  )
  return row
}

// Limits: requests of different keys are separate commits, as many at a time as this thread has connections.
