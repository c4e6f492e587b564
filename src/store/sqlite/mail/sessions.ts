import { type Operation, query, type Value } from '../../../base/operation.ts'
import type { LedgerHmac } from '../../../mail/rules/ledger.ts'
import type { Session } from '../../../mail/rules/session.ts'
import { INSERT_SESSION, isOneStatement, sessionWrites } from '../../../mail/session-store.ts'
import type { NewSession } from '../../../mail/store.ts'
import { SESSION_COLUMNS, type SessionRow, sessionOf } from '../../../mail/store-rows.ts'
import type { Db } from '../files.ts'
import { operationRunner, syncMethods } from '../operations.ts'

export const sessionReads = {
  *findSession(tokenHash: string): Operation<Session | undefined> {
    const [row] = yield* query<SessionRow>(
      `select ${SESSION_COLUMNS} from mail.session where token_hash = $1`,
      [tokenHash],
    )
    return row && sessionOf(row)
  },
}

export function sqliteSessionWrites(db: Db, hmac: LedgerHmac, random: () => number) {
  const { addSession, takeOverAddress, ...others } = sessionWrites({
    ...{ hmac, random, insertSession, *keepRaws() {} },
  })
  const run = operationRunner(db)

  return {
    ...syncMethods(db, others),
    createSession: (session: NewSession): Session | undefined =>
      (isOneStatement(session) ? run(addSession(session)) : undefined) ??
      run(takeOverAddress(session)),
  }
}

function* insertSession(values: readonly Value[], entry: string): Operation<SessionRow[]> {
  const rows = yield* query<SessionRow>(INSERT_SESSION, values)
  if (rows.length > 0) {
    yield* query('insert into mail.address_ledger (hmac) values ($1) on conflict do nothing', [
      entry,
    ])
  }
  return rows
}
