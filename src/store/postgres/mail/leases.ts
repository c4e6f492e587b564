import type { Lease } from '../../../base/jobs/lease.ts'
import type { Db } from '../connection/connections.ts'

// In milliseconds. Not now(), which is the start of the transaction.
export const NOW = '(extract(epoch from clock_timestamp()) * 1000)::bigint'

export function leaseWrites(db: Db) {
  return {
    async acquireLease({ name, holder, ms }: Lease): Promise<boolean> {
      // If it is held this only reads, because many nodes try every few seconds. The last condition decides a race.
      const taken = await db.query(
        `insert into mail.lease as held (name, holder, ends_at)
         select $1, $2, ${NOW} + $3::bigint where not exists (
           select 1 from mail.lease where name = $1 and holder <> $2 and ends_at > ${NOW})
         on conflict (name) do update set holder = excluded.holder, ends_at = excluded.ends_at
         where held.holder = excluded.holder or held.ends_at <= ${NOW}
         returning name`,
        [name, holder, ms],
      )
      return taken.length === 1
    },
    async releaseLease(name: string, holder: string): Promise<void> {
      await db.query('delete from mail.lease where name = $1 and holder = $2', [name, holder])
    },
  }
}

// Limits: leases end early if the server's clock jumps ahead, or if a promoted replica lacks the last of them.
