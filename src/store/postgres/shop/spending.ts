import { utcDay } from '../../../core/key.ts'
import { type KeyRow, spentOf } from '../../rows.ts'
import type { Spent, SpentFrom } from '../../shop-store.ts'
import type { Db } from '../connection/connections.ts'
import { KEY_COLUMNS } from './keys.ts'

/** Takes requests from keys, and gives them back. A clock that steps back never opens a day that is already counted. */
export function spendingWrites(db: Db) {
  const lines = new Map<string, Spend[]>()

  /** One statement at a time for each key: what waits meanwhile is added up, and each still has its own exact answer. */
  async function serve(keyId: string, line: Spend[]): Promise<void> {
    while (line.length > 0) {
      const group = line.splice(0)
      try {
        const days = Map.groupBy(group, ({ now }) => utcDay(now))
        for (const alike of days.values()) await spendAll(db, keyId, alike.sort(byTime))
      } catch (error) {
        // Who waits would meet the same, and hears it now. Who has an answer already keeps it.
        for (const { reject } of [...group, ...line.splice(0)]) reject(error)
      }
    }
    lines.delete(keyId)
  }

  return {
    spendRequest: (keyId: string, now: Date): Promise<Spent | undefined> =>
      new Promise((resolve, reject) => {
        const spend = { now, resolve, reject }
        const line = lines.get(keyId)
        if (line) {
          line.push(spend)
          return
        }
        const own = [spend]
        lines.set(keyId, own)
        void serve(keyId, own)
      }),

    async returnRequest(keyId: string, { day, period }: SpentFrom): Promise<void> {
      await db.query(
        `with returned as (
           update shop.api_key set used = used - case when period = $3 then 1 else 0 end,
             used_today = used_today - case when day = $2 then 1 else 0 end
           where id = $1 and (used > 0 or period <> $3) returning id
         )
         update shop.usage_day set count = count - 1 from returned where key_id = id and day = $2`,
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
 * Answers requests of one key and day, the earliest first: all together where the key has so many left, else by halves. When
 * one is refused so are all after it: they waited with it, and a plan that is over or used up then is so for them. False when
 * that was so.
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

/** The key as the last of these requests leaves it; undefined, and nothing is taken, when not all of them may pass. */
async function take(db: Db, keyId: string, now: Date, wanted: number): Promise<KeyRow | undefined> {
  // A node that waited for another's commit looks at the conditions again, on the row as it is then.
  const [row] = await db.query<KeyRow>(
    `with spent as (
       update shop.api_key set used = used + $4,
         used_today = case when day >= $3 then used_today + $4 else $4 end, day = greatest(day, $3)
       where id = $1 and state = 'active' and used + $4 <= max_requests
         and (expires_at is null or expires_at > $2)
         and (max_per_day is null
           or case when day >= $3 then used_today else 0 end + $4 <= max_per_day)
       returning ${KEY_COLUMNS}
     ), counted as (
       insert into shop.usage_day as known (key_id, day, count) select id, day, $4 from spent
       on conflict (key_id, day) do update set count = known.count + excluded.count
     )
     select ${KEY_COLUMNS} from spent`,
    [keyId, now.getTime(), utcDay(now), wanted],
  )
  return row
}

// Limits: requests of different keys are a commit each, as many at a time as this thread has connections.
