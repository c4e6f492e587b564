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

/** What a key may read. Each question is one statement, so that its answer is of one moment. */
export function keyMailReads(db: Db) {
  const mark = db.prepare<[Asked], KeyVersionRow>(
    `select ${POOL_VERSION}, ${KEY_VERSION}, ${SOONEST_END}`,
  )
  const markOfAddress = db.prepare<[Asked], AddressVersionRow>(
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
      if (scope.to === undefined) return keyVersion(scope, mark.get(asked(scope)))
      return addressVersion(scope, markOfAddress.get(asked(scope)))
    },

    listKeyMail(scope: KeyScope, page: KeyMailPage): Message[] {
      const [own, ownAndPool] =
        scope.to === undefined ? [lists.own, lists.ownAndPool] : [lists.ownAt, lists.ownAndPoolAt]
      const before = page.beforeId ?? Number.MAX_SAFE_INTEGER
      const range = { since: page.sinceId, before, limit: page.limit }
      const rows = (scope.pool ? ownAndPool : own).all({ ...asked(scope), ...range })
      return rows.map((row) => messageOf(row, row.raw_id))
    },
  }
}

interface Asked {
  key: string
  to: string | null
  now: number
}

type AskedPage = Asked & { since: number; before: number; limit: number }

function asked({ keyId, to, now }: KeyScope): Asked {
  return { key: keyId, to: to ?? null, now: now.getTime() }
}

// A session is over by its clock, and also when it has no token any more, whatever a clock that stepped back says.
const LIVE = 'session.expires_at > @now and session.token_hash is not null'
const OWN = 'session.key_id = @key'

const POOL_VERSION = `(select version from shared_mailbox where id = ${POOL}) as pool`
const KEY_VERSION = '(select version from key_view where key_id = @key) as own'
const SOONEST_END = `(select min(expires_at) from session where ${OWN} and ${LIVE}) as soonest`

// In the words of the index, see 0002.sql.
const IN_POOL = `mailbox <= ${POOL}`
const POOL_COUNT = '(select count from pool_address where address = @to) as count'
const POOL_NEWEST = `(select max(id) from message where ${IN_POOL} and recipient = @to) as newest`

// With a bare parameter as limit SQLite plans the statement anew each time it is run: that is most of the cost of an empty page.
const PAGE = 'message.id > @since and message.id < @before order by message.id desc limit +@limit'
const POOL_MAIL = `select * from message where mailbox = ${POOL} and ${PAGE}`
// Left to itself SQLite would look through the whole pool, in the order of ids.
const POOL_MAIL_AT = `select * from message indexed by message_in_pool
  where ${IN_POOL} and recipient = @to and ${PAGE}`
// Cross joins keep the order of the tables: the key's mail from the newest on, each with a look at its session;
// or the one session, then its mailbox. Mail of a session that is over is passed by in the index alone.
const OWN_LIVE = `select message.mailbox, message.id from message
  cross join session on session.id = message.mailbox
  where message.key_id = @key and ${LIVE} and ${PAGE}`
const OWN_MAIL = `select message.* from (${OWN_LIVE}) as own
  cross join message on message.mailbox = own.mailbox and message.id = own.id`
const OWN_MAIL_AT = `select message.* from session cross join message on message.mailbox = session.id
  where session.address = @to and ${OWN} and ${LIVE} and ${PAGE}`

function list(db: Db, parts: readonly string[]) {
  const union = parts.map((part) => `select * from (${part})`).join(' union all ')
  return db.prepare<[AskedPage], StoredMessageRow>(`${union} order by id desc limit +@limit`)
}

// Limits: mail of sessions that are over but not yet swept is passed by one by one, for about a minute: 24 ms for 100,000.
