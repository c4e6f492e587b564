import type { Lease } from '../../../base/jobs/lease.ts'
import type { Db } from '../connection/connections.ts'

// In milliseconds. Not now(), which is the start of the transaction.
export const NOW = '(extract(epoch from clock_timestamp()) * 1000)::bigint'

export function leaseWrites(db: Db) {
  return {
    async acquireLease({ name, holder, ms }: Lease): Promise<boolean> {
      // If it is held this only reads, because many nodes try every few seconds. The last condition decides a race. One that lasts
      // longer than it may was taken while the clock was ahead: it is shortened, not taken over, as its holder may still run.
      const rows = await db.query<{ holder: string }>(
        `insert into mail.lease as held (name, holder, ends_at)
         select $1, $2, ${NOW} + $3::bigint where not exists (
           select 1 from mail.lease
           where name = $1 and holder <> $2 and ends_at > ${NOW} and ends_at <= ${NOW} + $3::bigint)
         on conflict (name) do update set ends_at = excluded.ends_at,
           holder = case when held.ends_at > ${NOW} then held.holder else excluded.holder end
         where held.holder = excluded.holder or held.ends_at <= ${NOW}
           or held.ends_at > ${NOW} + $3::bigint
         returning holder`,
        [name, holder, ms],
      )
      return rows[0]?.holder === holder
    },
    async releaseLease(name: string, holder: string): Promise<void> {
      await db.query('delete from mail.lease where name = $1 and holder = $2', [name, holder])
    },
  }
}

// Limits: leases end early if the server's clock jumps ahead, or if a promoted replica lacks the last of them.
