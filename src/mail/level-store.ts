import { type AsyncMethods, type Operation, query } from '../base/operation.ts'

export interface LevelStore extends AsyncMethods<ReturnType<typeof levelReads>> {}

/** Levels of the whole installation. */
export interface StoreLevels {
  /** Without the catch-alls of key holders' domains. */
  liveSessions: number
  /** On SQLite, of mail.db without what deleted mail has left free. On PostgreSQL, of the whole database with it. */
  storedBytes: number
  /** When the oldest session that the sweep has yet to clear expires; undefined if there is none. */
  oldestExpiry: Date | undefined
}

/** `bytes` selects what the database takes, as `bytes`. */
export function levelReads(bytes: string) {
  return {
    *readStoreLevels(now: Date): Operation<StoreLevels> {
      const [live] = yield* query<{ sessions: number }>(
        `select cast(count(*) as bigint)
           - (select count(*) from mail.own_domain where state <> 'pending') as sessions
         from mail.session where cleared = false and expires_at > $1`,
        [now.getTime()],
      )
      const [due] = yield* query<{ oldest: number | null }>(
        `select min(expires_at) as oldest from mail.session
         where cleared = false and address is not null`,
      )
      const [stored] = yield* query<{ bytes: number }>(bytes)
      return {
        liveSessions: live?.sessions ?? 0,
        storedBytes: stored?.bytes ?? 0,
        oldestExpiry: typeof due?.oldest === 'number' ? new Date(due.oldest) : undefined,
      }
    },
  }
}
