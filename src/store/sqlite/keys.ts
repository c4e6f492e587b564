import type { ApiKey, NewKey } from '../store.ts'
import type { Db } from './files.ts'

interface KeyRow {
  id: string
  plan: string
  label: string
  state: ApiKey['state']
  max_requests: number
  max_per_day: number | null
  used: number
  day: number
  used_today: number
  created_at: number
  expires_at: number | null
}

export function keyReads(db: Db) {
  const bySecret = db.prepare<[string, number], KeyRow>(
    `select api_key.* from key_secret join api_key on id = key_id
     where hash = ? and (until is null or until > ?)`,
  )
  return {
    findKey(secretHash: string, now: Date): ApiKey | undefined {
      const row = bySecret.get(secretHash, now.getTime())
      return row && keyOf(row, now)
    },
  }
}

export interface Spend {
  keyId: string
  now: Date
}

export function keyWrites(db: Db) {
  const insert = db.prepare(
    `insert into api_key (id, plan, label, max_requests, max_per_day, created_at, expires_at)
     values (?, ?, ?, ?, ?, ?, ?)`,
  )
  const insertSecret = db.prepare('insert into key_secret (hash, key_id) values (?, ?)')
  const revoke = db.prepare(`update api_key set state = 'revoked' where id = ?`)
  // One statement decides and takes. A clock that steps back never opens a day that is already counted.
  const spend = db.prepare<{ id: string; now: number; day: number }, KeyRow>(
    `update api_key set used = used + 1,
       used_today = case when day >= @day then used_today + 1 else 1 end, day = max(day, @day)
     where id = @id and state = 'active' and used < max_requests
       and (expires_at is null or expires_at > @now)
       and (max_per_day is null or day < @day or used_today < max_per_day)
     returning *`,
  )
  const count = db.prepare(
    `insert into usage_day (key_id, day, count) values (?, ?, 1)
     on conflict (key_id, day) do update set count = count + 1`,
  )
  const giveBack = db.prepare(
    `update api_key set used = used - 1, used_today = used_today - (day = ?) where id = ? and used > 0`,
  )
  const uncount = db.prepare('update usage_day set count = count - 1 where key_id = ? and day = ?')

  return {
    addKey(key: NewKey): void {
      const { id, plan, label, maxRequests, maxPerDay, createdAt, expiresAt } = key
      const ends = expiresAt?.getTime() ?? null
      insert.run(id, plan, label, maxRequests, maxPerDay ?? null, createdAt.getTime(), ends)
      insertSecret.run(key.secretHash, id)
    },
    revokeKey: (keyId: string): boolean => revoke.run(keyId).changes === 1,
    spendRequest({ keyId, now }: Spend): ApiKey | undefined {
      const row = spend.get({ id: keyId, now: now.getTime(), day: dayOf(now) })
      if (row) count.run(keyId, row.day)
      return row && keyOf(row, now)
    },
    returnRequest({ keyId, now }: Spend): void {
      if (giveBack.run(dayOf(now), keyId).changes === 1) uncount.run(keyId, dayOf(now))
    },
  }
}

export type ShopWrites = ReturnType<typeof keyWrites>

function dayOf(time: Date): number {
  return Math.floor(time.getTime() / 86_400_000)
}

function keyOf(row: KeyRow, now: Date): ApiKey {
  return {
    id: row.id,
    plan: row.plan,
    label: row.label,
    state: row.state,
    maxRequests: row.max_requests,
    maxPerDay: row.max_per_day ?? undefined,
    used: row.used,
    usedToday: row.day >= dayOf(now) ? row.used_today : 0,
    createdAt: new Date(row.created_at),
    expiresAt: row.expires_at === null ? undefined : new Date(row.expires_at),
  }
}
