import type { Address } from '../base/address.ts'
import { type AsyncMethods, type Operation, query } from '../base/operation.ts'
import type { MailboxId } from '../mail/rules/session.ts'
import { LIVE } from '../mail/store-rows.ts'

/** An account of mail.tm's API: a live session with a password. */
interface DoorAccount {
  mailbox: MailboxId
  /** Hash of the token of the session, which nobody has. */
  sessionToken: string
  password: string
}

interface NewDoorToken extends Pick<DoorAccount, 'mailbox' | 'sessionToken'> {
  hash: string
  now: Date
}

interface SeenMessage {
  mailbox: MailboxId
  id: number
  seen: boolean
}

export const doorReads = {
  /** The hash of the token of its session; once the session has another one, this finds nothing there. */
  *findDoorToken(hash: string): Operation<string | undefined> {
    const [row] = yield* query<{ session_token: string }>(
      'select session_token from mail.door_token where hash = $1',
      [hash],
    )
    return row?.session_token
  },

  *findDoorAccount(address: Address, now: Date): Operation<DoorAccount | undefined> {
    const [row] = yield* query<{ id: MailboxId; token_hash: string; password: string }>(
      `select id, token_hash, password from mail.session join mail.door_account on mailbox = id
       where address = $2 and ${LIVE}`,
      [now.getTime(), address],
    )
    return row && { mailbox: row.id, sessionToken: row.token_hash, password: row.password }
  },

  /** Those of these messages that were marked as seen. */
  *listSeen(mailbox: MailboxId, ids: readonly number[]): Operation<number[]> {
    const rows = yield* query<{ message: number }>(
      'select message from mail.door_seen where mailbox = $1 and message = any($2::bigint[])',
      [mailbox, ids],
    )
    return rows.map(({ message }) => message)
  },
}

export const doorWrites = {
  *addDoorAccount({ sessionToken, password }: Omit<DoorAccount, 'mailbox'>): Operation<void> {
    yield* query(
      `insert into mail.door_account (mailbox, password)
       select id, $2 from mail.session where token_hash = $1`,
      [sessionToken, password],
    )
  },

  /** Does nothing for a message that is not in the mailbox. */
  *saveSeen({ mailbox, id, seen }: SeenMessage): Operation<void> {
    yield* query(
      seen
        ? `insert into mail.door_seen (mailbox, message)
           select mailbox, id from mail.message where mailbox = $1 and id = $2 on conflict do nothing`
        : 'delete from mail.door_seen where mailbox = $1 and message = $2',
      [mailbox, id],
    )
  },
}

const MAX_TOKENS = 10

/** Each in one transaction. */
export const doorTransactions = {
  /** The oldest of a session ends if it has too many. False if the session has ended, or has another token. */
  *addDoorToken({ hash, mailbox, sessionToken, now }: NewDoorToken): Operation<boolean> {
    const held = yield* query(
      'select 1 from mail.session where id = $1 and token_hash = $2 for no key update',
      [mailbox, sessionToken],
    )
    if (held.length === 0) return false
    yield* query(
      `delete from mail.door_token where hash in (select hash from mail.door_token where mailbox = $1
         order by created_at desc, hash limit 1000 offset ${MAX_TOKENS - 1})`,
      [mailbox],
    )
    yield* query(
      `insert into mail.door_token (hash, mailbox, session_token, created_at)
       values ($1, $2, $3, $4)`,
      [hash, mailbox, sessionToken, now.getTime()],
    )
    return true
  },
}

export interface DoorStore
  extends AsyncMethods<typeof doorReads & typeof doorWrites & typeof doorTransactions> {}
