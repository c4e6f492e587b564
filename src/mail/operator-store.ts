import type { Address } from '../base/address.ts'
import { type AsyncMethods, type Operation, query, type Value } from '../base/operation.ts'
import type { MailboxId, Session } from './rules/session.ts'
import { LIVE, NO_CATCH_ALL, SESSION_COLUMNS, type SessionRow, sessionOf } from './store-rows.ts'

// Ids of sessions follow the clock.
const ALL = { id: Number.MAX_SAFE_INTEGER, bytes: Number.MAX_SAFE_INTEGER }

/** `rawMail` is the engine's condition for the raw mail of a message. */
export function operatorReads(rawMail: string) {
  function* sessions(rest: string, values: Value[]): Operation<Session[]> {
    const rows = yield* query<SessionRow>(
      `select ${SESSION_COLUMNS} from mail.session where ${LIVE} and ${NO_CATCH_ALL} ${rest}`,
      values,
    )
    return rows.map(sessionOf)
  }

  return {
    /** Live sessions, newest or largest first. */
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

    /** The live session of this address, which may be an alias. */
    *findSessionByAddress(address: Address, now: Date): Operation<Session | undefined> {
      return (yield* sessions('and address = $2', [now.getTime(), address]))[0]
    },

    /** The number of messages in all mailboxes, by their counters. Mailboxes whose mail was cleared have a count of 0. */
    *countMail(): Operation<number> {
      const [row] = yield* query<{ messages: number }>(
        `select cast(coalesce(sum(count), 0) as bigint) as messages from (
           select count from mail.session union all select count from mail.shared_mailbox) as boxes`,
      )
      return row?.messages ?? 0
    },

    /** Scans one page of all messages for those delivered by this client: an index would cost at every mail received. */
    *scanMail({ clientIp, after, limit }: MailScan): Operation<ScannedPage> {
      const rows = yield* query<FoundMessage & { matches: boolean | number }>(
        `select mailbox, message.id, size, client_ip = $1 as matches
         from mail.message inner join mail.raw_mail on ${rawMail}
         where (mailbox, message.id) > ($2, $3) order by mailbox, message.id limit $4`,
        [clientIp, after?.mailbox ?? 0, after?.id ?? 0, limit],
      )
      const found = rows.filter(({ matches }) => matches)
      const last = rows.length < limit ? undefined : rows.at(-1)
      return {
        found: found.map(({ mailbox, id, size }) => ({ mailbox, id, size })),
        scanned: rows.length,
        next: last && { mailbox: last.mailbox, id: last.id },
      }
    },
  }
}

export interface SessionQuery {
  order: 'newest' | 'largest'
  limit: number
  now: Date
  /** The last session of the previous page. */
  before?: Pick<Session, 'id' | 'bytes'> | undefined
}

export interface Volume {
  messages: number
  bytes: number
}

interface MailScan {
  /** In canonical form, see base/ip.ts. */
  clientIp: string
  /** The end of the previous page; undefined: from the start. */
  after: ScanPosition | undefined
  limit: number
}

/** Position of a message. A scan sees every message that exists during all of it. */
export interface ScanPosition {
  mailbox: MailboxId
  id: number
}

interface ScannedPage {
  found: FoundMessage[]
  /** The number of messages examined. */
  scanned: number
  /** Undefined at the end. */
  next: ScanPosition | undefined
}

export interface FoundMessage {
  mailbox: MailboxId
  id: number
  size: number
}

/** For the operator's commands. No method returns a token or mail. */
export interface OperatorStore extends AsyncMethods<ReturnType<typeof operatorReads>> {}
