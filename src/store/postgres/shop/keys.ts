import type { ApiKey } from '../../../core/key.ts'
import { type KeyRow, keyOf } from '../../rows.ts'
import type { KeyRoll, KeyRollResult, NewKey, UsageDay } from '../../shop-store.ts'
import type { Connections, Db } from '../connection/connections.ts'

export const KEY_COLUMNS = `id, prefix, plan, label, state, max_requests, max_per_day, used, day, used_today,
  period, created_at, expires_at`

export function keyReads(db: Db) {
  return {
    async findKey(secretHash: string, now: Date): Promise<ApiKey | undefined> {
      const [row] = await db.query<KeyRow>(
        `select ${KEY_COLUMNS} from shop.key_secret join shop.api_key on id = key_id
         where hash = $1 and (until is null or until > $2)`,
        [secretHash, now.getTime()],
      )
      return row && keyOf(row, now)
    },
    async readKey(keyId: string, now: Date): Promise<ApiKey | undefined> {
      const [row] = await db.query<KeyRow>(
        `select ${KEY_COLUMNS} from shop.api_key where id = $1`,
        [keyId],
      )
      return row && keyOf(row, now)
    },
    async listKeys(now: Date): Promise<ApiKey[]> {
      const rows = await db.query<KeyRow>(
        `select ${KEY_COLUMNS} from shop.api_key order by created_at desc, id`,
      )
      return rows.map((row) => keyOf(row, now))
    },
    readUsage: (keyId: string, fromDay: number): Promise<UsageDay[]> =>
      db.query<UsageDay>(
        `select day, count from shop.usage_day where key_id = $1 and day >= $2 and count > 0
         order by day`,
        [keyId, fromDay],
      ),
  }
}

export function keyWrites(connections: Connections) {
  return {
    async addKey(key: NewKey): Promise<void> {
      const { id, prefix, plan, label, maxRequests, maxPerDay = null, createdAt, expiresAt } = key
      await connections.query(
        `with added as (
           insert into shop.api_key (id, prefix, plan, label, max_requests, max_per_day, created_at,
             expires_at)
           values ($1, $2, $3, $4, $5, $6, $7, $8)
         )
         insert into shop.key_secret (hash, key_id) values ($9, $1)`,
        [
          id,
          prefix,
          plan,
          label,
          maxRequests,
          maxPerDay,
          createdAt.getTime(),
          expiresAt?.getTime() ?? null,
          key.secretHash,
        ],
      )
    },
    rollKey: ({ keyId, secretHash, oldUntil, presented }: KeyRoll): Promise<KeyRollResult> =>
      connections.transaction(async (db) => {
        const state = await lockKey(db, keyId)
        if (state === undefined || state === 'revoked') return { rolled: false }
        if (presented) {
          const until = await oldSecretEnd(db, keyId, presented.now)
          if (until) return { rolled: false, oldSecretUntil: until }
          if (!(await isCurrent(db, keyId, presented.hash))) return { rolled: false }
        }
        // At most two secrets: only the operator can roll again while the old one is valid.
        await db.query('delete from shop.key_secret where key_id = $1 and until is not null', [
          keyId,
        ])
        await db.query('update shop.key_secret set until = $2 where key_id = $1', [
          keyId,
          oldUntil.getTime(),
        ])
        db.queueBeforeCommit('insert into shop.key_secret (hash, key_id) values ($1, $2)', [
          secretHash,
          keyId,
        ])
        return { rolled: true }
      }),
    async revokeKey(keyId: string): Promise<boolean> {
      const revoked = await connections.query(
        `update shop.api_key set state = 'revoked' where id = $1 returning id`,
        [keyId],
      )
      return revoked.length === 1
    },
    async labelKey(keyId: string, label: string): Promise<boolean> {
      const named = await connections.query(
        'update shop.api_key set label = $2 where id = $1 returning id',
        [keyId, label],
      )
      return named.length === 1
    },
  }
}

async function isCurrent(db: Db, keyId: string, secretHash: string): Promise<boolean> {
  const found = await db.query(
    'select 1 from shop.key_secret where hash = $1 and key_id = $2 and until is null',
    [secretHash, keyId],
  )
  return found.length === 1
}

/** Until when the old secret is valid; undefined if there is none. */
async function oldSecretEnd(db: Db, keyId: string, now: Date): Promise<Date | undefined> {
  const [row] = await db.query<{ until: number }>(
    'select until from shop.key_secret where key_id = $1 and until > $2 order by until desc limit 1',
    [keyId, now.getTime()],
  )
  return row && new Date(row.until)
}

/** Secrets are changed with the row of their key locked: otherwise two changes could each leave one. */
export async function lockKey(db: Db, keyId: string): Promise<ApiKey['state'] | undefined> {
  const [row] = await db.query<Pick<ApiKey, 'state'>>(
    'select state from shop.api_key where id = $1 for no key update',
    [keyId],
  )
  return row?.state
}
