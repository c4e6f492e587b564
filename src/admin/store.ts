import type { Address } from '../base/address.ts'
import { type Operation, query, type Value } from '../base/operation.ts'
import type { MailboxId, Session } from '../mail/rules/session.ts'
import { SESSION_COLUMNS, type SessionRow, sessionOf } from '../mail/store-rows.ts'
import type { ScannedPage, SessionQuery } from './operator-store.ts'

// Ids of sessions follow the clock.
const ALL = { id: Number.MAX_SAFE_INTEGER, bytes: Number.MAX_SAFE_INTEGER }

/** `live` is the engine's condition for a session that is live at $1. */
export function operatorReads(live: string) {
  function* sessions(rest: string, values: Value[]): Operation<Session[]> {
    const rows = yield* query<SessionRow>(
      `select ${SESSION_COLUMNS} from mail.session where ${live} ${rest}`,
      values,
    )
    return rows.map(sessionOf)
  }

  return {
    listSessions: ({ order, limit, now, before }: SessionQuery): Operation<Session[]> => {
      const { bytes, id } = before ?? ALL
      return order === 'newest'
        ? sessions('and id < $2 order by id desc limit $3', [now.getTime(), id, limit])
        : sessions('and (bytes, id) < ($2, $3) order by bytes desc, id desc limit $4', [
            now.getTime(),
            bytes,
            id,
            limit,
          ])
    },

    *findSessionByAddress(address: Address, now: Date): Operation<Session | undefined> {
      return (yield* sessions('and address = $2', [now.getTime(), address]))[0]
    },

    // Mailboxes whose mail was cleared have a count of 0.
    *countMail(): Operation<number> {
      const [row] = yield* query<{ messages: number }>(
        `select cast(coalesce(sum(count), 0) as bigint) as messages from (
           select count from mail.session union all select count from mail.shared_mailbox) as boxes`,
      )
      return row?.messages ?? 0
    },
  }
}

export interface ScannedRow {
  mailbox: MailboxId
  id: number
  size: number
  matches: boolean | number
}

export function scannedPage(rows: readonly ScannedRow[], next: ScannedPage['next']): ScannedPage {
  const found = rows.filter(({ matches }) => matches)
  return {
    found: found.map(({ mailbox, id, size }) => ({ mailbox, id, size })),
    scanned: rows.length,
    next,
  }
}
