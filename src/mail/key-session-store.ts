import { type Operation, query } from '../base/operation.ts'
import { PERMANENT, type Session } from './rules/session.ts'
import type { KeySession, KeySessionPage, RolledToken } from './store.ts'
import { LIVE, NO_CATCH_ALL, SESSION_COLUMNS, type SessionRow, sessionOf } from './store-rows.ts'

// Sessions that were created with a key, for its holder.

const PERMANENT_ONLY = `and own_domain is not null and expires_at = ${PERMANENT.getTime()}`

export const keySessionReads = {
  *listKeySessions({
    keyId,
    now,
    beforeId,
    limit,
    permanent = false,
  }: KeySessionPage): Operation<Session[]> {
    const from = beforeId ?? Number.MAX_SAFE_INTEGER
    const rows = yield* query<SessionRow>(
      `select ${SESSION_COLUMNS} from mail.session where key_id = $2 and id < $3 and ${LIVE}
         and ${NO_CATCH_ALL} ${permanent ? PERMANENT_ONLY : ''}
       order by id desc limit $4`,
      [now.getTime(), keyId, from, limit],
    )
    return rows.map(sessionOf)
  },
}

export const keySessionWrites = {
  endKeySession: (session: KeySession): Operation<Session | undefined> =>
    change('expires_at = $1, token_hash = null', session),

  rollToken: ({ tokenHash, ...session }: RolledToken): Operation<Session | undefined> =>
    change('token_hash = $4', session, tokenHash),
}

/** In one statement: whose session it is cannot change in between. */
function* change(
  set: string,
  { keyId, address, now }: KeySession,
  ...more: string[]
): Operation<Session | undefined> {
  const [row] = yield* query<SessionRow>(
    `update mail.session set ${set}, version = version + 1
     where address = $2 and key_id = $3 and ${LIVE} returning ${SESSION_COLUMNS}`,
    [now.getTime(), address, keyId, ...more],
  )
  return row && sessionOf(row)
}
