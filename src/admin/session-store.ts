import { type AsyncMethods, type Operation, query } from '../base/operation.ts'

export const adminSessionReads = {
  /** Whether it exists and has not expired. */
  *hasAdminSession(hash: string, now: Date): Operation<boolean> {
    const found = 'select 1 from shop.admin_session where hash = $1 and expires_at > $2'
    return (yield* query(found, [hash, now.getTime()])).length === 1
  },
}

export const adminSessionWrites = {
  *addAdminSession({ hash, expiresAt }: AdminSession): Operation<void> {
    yield* query('insert into shop.admin_session (hash, expires_at) values ($1, $2)', [
      hash,
      expiresAt.getTime(),
    ])
  },
  *deleteAdminSession(hash: string): Operation<void> {
    yield* query('delete from shop.admin_session where hash = $1', [hash])
  },
}

/** A sign-in to the admin page. */
export interface AdminSession {
  /** SHA-256 of its cookie. */
  hash: string
  expiresAt: Date
}

export interface AdminSessionStore
  extends AsyncMethods<typeof adminSessionReads & typeof adminSessionWrites> {}
