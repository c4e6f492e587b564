import type { ApiKey } from '../../../core/key.ts'
import { type KeyRow, keyOf } from '../../rows.ts'
import type { KeyRoll, KeyRollResult, NewKey, UsageDay } from '../../shop-store.ts'
import type { Db } from '../files.ts'

export function keyReads(db: Db) {
  const bySecret = db.prepare<[string, number], KeyRow>(
    `select api_key.* from key_secret join api_key on id = key_id
     where hash = ? and (until is null or until > ?)`,
  )
  const byId = db.prepare<[string], KeyRow>('select * from api_key where id = ?')
  const all = db.prepare<[], KeyRow>('select * from api_key order by created_at desc, id')
  const usage = db.prepare<[string, number], UsageDay>(
    'select day, count from usage_day where key_id = ? and day >= ? and count > 0 order by day',
  )

  return {
    findKey(secretHash: string, now: Date): ApiKey | undefined {
      const row = bySecret.get(secretHash, now.getTime())
      return row && keyOf(row, now)
    },
    readKey(keyId: string, now: Date): ApiKey | undefined {
      const row = byId.get(keyId)
      return row && keyOf(row, now)
    },
    listKeys: (now: Date): ApiKey[] => all.all().map((row) => keyOf(row, now)),
    readUsage: (keyId: string, fromDay: number): UsageDay[] => usage.all(keyId, fromDay),
  }
}

export function keyWrites(db: Db) {
  const insert = db.prepare(
    `insert into api_key (id, prefix, plan, label, max_requests, max_per_day, created_at, expires_at)
     values (?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const insertSecret = db.prepare('insert into key_secret (hash, key_id) values (?, ?)')
  const endSecrets = db.prepare(
    'update key_secret set until = ? where key_id = ? and until is null',
  )
  const deleteOld = db.prepare('delete from key_secret where key_id = ? and until is not null')
  const isAlive = db
    .prepare<[string], number>(`select 1 from api_key where id = ? and state <> 'revoked'`)
    .pluck()
  const isCurrent = db
    .prepare<[string, string], number>(
      'select 1 from key_secret where hash = ? and key_id = ? and until is null',
    )
    .pluck()
  const oldSecretEnd = db
    .prepare<[string, number], number>(
      'select until from key_secret where key_id = ? and until > ? order by until desc limit 1',
    )
    .pluck()
  const revoke = db.prepare(`update api_key set state = 'revoked' where id = ?`)
  const setLabel = db.prepare('update api_key set label = ? where id = ?')

  return {
    addKey(key: NewKey): void {
      const { id, prefix, plan, maxRequests, maxPerDay, createdAt, expiresAt } = key
      const ends = expiresAt?.getTime() ?? null
      insert.run(
        id,
        prefix,
        plan,
        key.label,
        maxRequests,
        maxPerDay ?? null,
        createdAt.getTime(),
        ends,
      )
      insertSecret.run(key.secretHash, id)
    },
    rollKey({ keyId, secretHash, oldUntil, presented }: KeyRoll): KeyRollResult {
      if (isAlive.get(keyId) === undefined) return { rolled: false }
      if (presented) {
        const until = oldSecretEnd.get(keyId, presented.now.getTime())
        if (until !== undefined) return { rolled: false, oldSecretUntil: new Date(until) }
        if (isCurrent.get(presented.hash, keyId) === undefined) return { rolled: false }
      }
      // At most two secrets: only the operator can roll again while the old one is valid.
      deleteOld.run(keyId)
      endSecrets.run(oldUntil.getTime(), keyId)
      insertSecret.run(secretHash, keyId)
      return { rolled: true }
    },
    revokeKey: (keyId: string): boolean => revoke.run(keyId).changes === 1,
    labelKey: (keyId: string, label: string): boolean => setLabel.run(label, keyId).changes === 1,
  }
}
