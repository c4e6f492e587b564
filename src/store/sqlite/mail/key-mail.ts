import type { Message } from '../../../core/message.ts'
import { POOL } from '../../../core/session.ts'
import {
  type AddressVersionRow,
  addressVersion,
  type KeyVersionRow,
  keyVersion,
} from '../../key-mail-version.ts'
import { messageOf } from '../../rows.ts'
import type { KeyMailPage, KeyScope } from '../../store.ts'
import type { Db } from '../files.ts'
import type { StoredMessageRow } from './messages.ts'

/** Mail that a key may read. Each method is one statement, so that its result is of one moment. */
export function keyMailReads(db: Db) {
  const version = db.prepare<[Parameters], KeyVersionRow>(
    `select ${POOL_VERSION}, ${KEY_VERSION}, ${SOONEST_END}`,
  )
  const versionOfAddress = db.prepare<[Parameters], AddressVersionRow>(
    `select ${POOL_COUNT}, ${POOL_NEWEST}, session.id as mailbox, session.version
     from (select 1) left join session on address = @to and ${OWN} and ${LIVE}`,
  )
  const lists = {
    own: list(db, [OWN_MAIL]),
    ownAndPool: list(db, [OWN_MAIL, POOL_MAIL]),
    ownAt: list(db, [OWN_MAIL_AT]),
    ownAndPoolAt: list(db, [OWN_MAIL_AT, POOL_MAIL_AT]),
  }

  return {
    keyMailVersion(scope: KeyScope): string {
      if (scope.to === undefined) return keyVersion(scope, version.get(parameters(scope)))
      return addressVersion(scope, versionOfAddress.get(parameters(scope)))
    },

    listKeyMail(scope: KeyScope, page: KeyMailPage): Message[] {
      const [own, ownAndPool] =
        scope.to === undefined ? [lists.own, lists.ownAndPool] : [lists.ownAt, lists.ownAndPoolAt]
      const before = page.beforeId ?? Number.MAX_SAFE_INTEGER
      const range = { since: page.sinceId, before, limit: page.limit }
      const rows = (scope.pool ? ownAndPool : own).all({ ...parameters(scope), ...range })
      return rows.map((row) => messageOf(row, row.raw_id))
    },
  }
}

interface Parameters {
  key: string
  to: string | null
  now: number
}

type PageParameters = Parameters & { since: number; before: number; limit: number }

function parameters({ keyId, to, now }: KeyScope): Parameters {
  return { key: keyId, to: to ?? null, now: now.getTime() }
}

// A session without a token has ended even if the clock has stepped back.
const LIVE = 'session.expires_at > @now and session.token_hash is not null'
const OWN = 'session.key_id = @key'

const POOL_VERSION = `(select version from shared_mailbox where id = ${POOL}) as pool`
const KEY_VERSION = '(select version from key_view where key_id = @key) as own'
const SOONEST_END = `(select min(expires_at) from session where ${OWN} and ${LIVE}) as soonest`

// Written like the condition of the partial index in 0002.sql.
const IN_POOL = `mailbox <= ${POOL}`
const POOL_COUNT = '(select count from pool_address where address = @to) as count'
const POOL_NEWEST = `(select max(id) from message where ${IN_POOL} and recipient = @to) as newest`

// With a bare parameter as limit, SQLite would plan the statement again at each run, most of the cost of an empty page.
const PAGE = 'message.id > @since and message.id < @before order by message.id desc limit +@limit'
const POOL_MAIL = `select * from message where mailbox = ${POOL} and ${PAGE}`
// Without the hint SQLite would scan the whole pool in the order of ids.
const POOL_MAIL_AT = `select * from message indexed by message_in_pool
  where ${IN_POOL} and recipient = @to and ${PAGE}`
// Cross joins fix the order of the tables: the key's mail from the newest, then the session of each; or one session, then its
// mailbox. Mail of an ended session is skipped in the index alone.
const OWN_LIVE = `select message.mailbox, message.id from message
  cross join session on session.id = message.mailbox
  where message.key_id = @key and ${LIVE} and ${PAGE}`
const OWN_MAIL = `select message.* from (${OWN_LIVE}) as own
  cross join message on message.mailbox = own.mailbox and message.id = own.id`
const OWN_MAIL_AT = `select message.* from session cross join message on message.mailbox = session.id
  where session.address = @to and ${OWN} and ${LIVE} and ${PAGE}`

function list(db: Db, parts: readonly string[]) {
  const union = parts.map((part) => `select * from (${part})`).join(' union all ')
  return db.prepare<[PageParameters], StoredMessageRow>(`${union} order by id desc limit +@limit`)
}

// Limits: mail of ended sessions is skipped one by one until the sweep, about a minute: 24 ms for 100,000.
