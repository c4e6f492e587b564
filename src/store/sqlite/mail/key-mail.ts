import { timeOfId } from '../../../base/id.ts'
import type { Message } from '../../../mail/rules/message.ts'
import { POOL } from '../../../mail/rules/session.ts'
import type { KeyMailHead, KeyMailPage, KeyScope, OrderedKeyMailPage } from '../../../mail/store.ts'
import { messageOf } from '../../../mail/store-rows.ts'
import {
  type AddressVersionRow,
  addressVersion,
  type KeyVersionRow,
  keyVersion,
} from '../../key-mail-version.ts'
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
  const messages = lists<PageParameters, StoredMessageRow>(db, MESSAGE, IN_PAGE)
  const oldestFirst = lists<PageParameters, StoredMessageRow>(db, MESSAGE, IN_PAGE, 'asc')
  const heads = lists<PageParameters, KeyMailHead>(db, HEAD, IN_PAGE)
  const expired = db
    .prepare<[Parameters & { since: number; sinceTime: number; pool: number }], number | null>(
      LAST_EXPIRED,
    )
    .pluck()
  const byId = lists<IdParameters, StoredMessageRow>(db, MESSAGE, IS_LISTED)

  return {
    keyMailVersion(scope: KeyScope): string {
      if (scope.to === undefined) return keyVersion(scope, version.get(parameters(scope)))
      return addressVersion(scope, versionOfAddress.get(parameters(scope)))
    },

    listKeyMail(scope: KeyScope, page: OrderedKeyMailPage): Message[] {
      const list = page.oldestFirst ? oldestFirst : messages
      const rows = list(scope).all({ ...parameters(scope), ...pageParameters(page) })
      return rows.map((row) => messageOf(row, row.raw_id))
    },

    listKeyMailHeads: (scope: KeyScope, page: KeyMailPage): KeyMailHead[] =>
      heads(scope).all({ ...parameters(scope), ...pageParameters(page) }),

    readKeyMail(scope: KeyScope, ids: readonly number[]): Message[] {
      const given = { ids: JSON.stringify(ids), limit: ids.length }
      const rows = byId(scope).all({ ...parameters(scope), ...given })
      return rows.map((row) => messageOf(row, row.raw_id))
    },

    lastExpired(scope: KeyScope, since: number): number {
      const sinceTime = timeOfId(since).getTime()
      const pool = scope.pool ? POOL : 0
      return expired.get({ ...parameters(scope), since, sinceTime, pool }) ?? 0
    },
  }
}

interface Parameters {
  key: string
  to: string | null
  now: number
}

type PageParameters = Parameters & { since: number; before: number; limit: number }
type IdParameters = Parameters & { ids: string; limit: number }

function pageParameters({ sinceId: since, beforeId, limit }: KeyMailPage) {
  return { since, before: beforeId ?? Number.MAX_SAFE_INTEGER, limit }
}

function parameters({ keyId, to, now }: KeyScope): Parameters {
  return { key: keyId, to: to ?? null, now: now.getTime() }
}

// A session without a token has ended even if the clock has stepped back.
const LIVE = 'session.expires_at > @now and session.token_hash is not null'
const OWN = 'session.key_id = @key'

const POOL_VERSION = `(select version from shared_mailbox where id = ${POOL}) as pool`
const KEY_VERSION = '(select version from key_view where key_id = @key) as own'
const SOONEST_END = `(select min(expires_at) from session where ${OWN} and ${LIVE}) as soonest`

// A session that its owner has ended has no token. One with such a message has expired after that message.
const LAST_EXPIRED = `select max(id) from (
  select max(last_id) as id from session where ${OWN} and token_hash is not null
    and expires_at between @sinceTime and @now and last_id > @since and (@to is null or address = @to)
  union all select swept_id from shared_mailbox where id = @pool and swept_id > @since)`

// Written like the condition of the partial index in 0002.sql.
const IN_POOL = `mailbox <= ${POOL}`
const POOL_COUNT = '(select count from pool_address where address = @to) as count'
const POOL_NEWEST = `(select max(id) from message where ${IN_POOL} and recipient = @to) as newest`

/** Columns of a message, and a condition on its id. The id may be that of an index. */
type Columns = (id: string) => string
type Condition = (id: string) => string

const MESSAGE: Columns = (id) =>
  `${id} as id, message.mailbox, message.raw_id, message.recipient, message.sender_name, message.sender_email,
  message.subject, message.received_at, message.size, message.code, message.preview, message.attachments`
const HEAD: Columns = (id) => `${id} as id, message.sender_email as "senderEmail", message.subject`
const IN_PAGE: Condition = (id) => `${id} > @since and ${id} < @before`
const IS_LISTED: Condition = (id) => `${id} in (select value from json_each(@ids))`

// Each part is read in the order of its ids, so that they are merged without sorting.
type Part = (columns: Columns, condition: Condition) => string

const POOL_MAIL: Part = (columns, condition) => `select ${columns('message.id')} from message
  where mailbox = ${POOL} and ${condition('message.id')}`
// Without the hint SQLite would scan the whole pool in the order of ids.
const POOL_MAIL_AT: Part = (columns, condition) => `select ${columns('message.id')}
  from message indexed by message_in_pool
  where ${IN_POOL} and recipient = @to and ${condition('message.id')}`
// Cross joins fix the order of the tables: the key's mail from the newest, then the session of each; or one session, then its
// mailbox. Mail of an ended session is skipped in the index alone.
const OWN_MAIL: Part = (columns, condition) => `select ${columns('own.id')} from message as own
  cross join session on session.id = own.mailbox
  cross join message on message.mailbox = own.mailbox and message.id = own.id
  where own.key_id = @key and ${LIVE} and ${condition('own.id')}`
const OWN_MAIL_AT: Part = (columns, condition) => `select ${columns('message.id')} from session
  cross join message on message.mailbox = session.id
  where session.address = @to and ${OWN} and ${LIVE} and ${condition('message.id')}`

/** The statement of each scope. */
function lists<P extends Parameters, Row>(
  db: Db,
  columns: Columns,
  condition: Condition,
  direction: 'asc' | 'desc' = 'desc',
) {
  const list = (...parts: Part[]) =>
    db.prepare<[P], Row>(
      // With a bare parameter as limit, SQLite would plan the statement again at each run, most of the cost of an empty page.
      `${parts.map((part) => part(columns, condition)).join(' union all ')}
       order by id ${direction} limit +@limit`,
    )
  const all = { own: list(OWN_MAIL), ownAndPool: list(OWN_MAIL, POOL_MAIL) }
  const at = { own: list(OWN_MAIL_AT), ownAndPool: list(OWN_MAIL_AT, POOL_MAIL_AT) }
  return ({ to, pool }: KeyScope) => (to === undefined ? all : at)[pool ? 'ownAndPool' : 'own']
}

// Limits: mail of ended sessions is skipped one by one until the sweep, about a minute: 24 ms for 100,000.
