import { type Address, hostOf } from '../base/address.ts'
import { timeOfId } from '../base/id.ts'
import { type Operation, query, type Value } from '../base/operation.ts'
import { MESSAGE_COLUMNS, messages } from './message-store.ts'
import type { Message } from './rules/message.ts'
import { catchAllAddress, type MailboxId, PERMANENT, POOL } from './rules/session.ts'
import type { KeyMailHead, KeyMailPage, KeyScope, OrderedKeyMailPage } from './store.ts'

/** Mail that a key may read. Each method is one statement, so that its result is of one moment. */
export const keyMailReads = {
  *keyMailVersion({ keyId, pool, to, now }: KeyScope): Operation<string> {
    const scope = [keyId, now.getTime()]
    if (to === undefined) {
      const [row] = yield* query<KeyVersionRow>(KEY_VERSION, scope)
      return keyVersion({ keyId, pool }, row)
    }
    const [row] = yield* query<AddressVersionRow>(ADDRESS_VERSION, [...scope, ...addressValues(to)])
    return addressVersion({ pool }, row)
  },

  listKeyMail: (scope: KeyScope, page: OrderedKeyMailPage): Operation<Message[]> =>
    messages(...pageOf(scope, MESSAGE_COLUMNS, page)),

  listKeyMailHeads: (scope: KeyScope, page: KeyMailPage): Operation<KeyMailHead[]> =>
    query<KeyMailHead>(...pageOf(scope, HEAD_COLUMNS, page)),

  readKeyMail: (scope: KeyScope, ids: readonly number[]): Operation<Message[]> =>
    messages(
      listStatement(scope, MESSAGE_COLUMNS, ([some]) => ({
        where: `message.id = any(${some}::bigint[])`,
        direction: 'desc',
        limit: '',
      })),
      [...scopeValues(scope), ids],
    ),

  *lastExpired({ keyId, pool, to, now }: KeyScope, sinceId: number): Operation<number> {
    const since = timeOfId(sinceId).getTime()
    const addresses = to === undefined ? [null, null] : addressValues(to)
    const values = [keyId, now.getTime(), since, sinceId, pool ? POOL : 0, ...addresses]
    const [row] = yield* query<{ id: number | null }>(LAST_EXPIRED, values)
    return row?.id ?? 0
  },
}

// A session without a token, or that was swept, has ended even if the clock has stepped back.
const LIVE = 'session.expires_at > $2 and session.token_hash is not null and not session.cleared'
const OWN = `session.key_id = $1 and ${LIVE}`
// Written like the condition of the index message_in_pool.
const IN_POOL = `mailbox <= ${POOL}`

const KEY_VERSION = `select (select version from mail.shared_mailbox where id = ${POOL}) as pool,
  (select version from mail.key_view where key_id = $1) as own,
  (select min(expires_at) from mail.session where ${OWN}) as soonest`
const ADDRESS_VERSION = `select pool.count, newest, session.id as mailbox, session.version,
    catch_all.id as catch_all, catch_all.version as catch_all_version
  from (select cast(count(*) as bigint) as count, max(id) as newest from mail.message
    where ${IN_POOL} and recipient = $3) as pool
  left join mail.session on session.address = $3 and ${OWN}
  left join mail.session as catch_all on catch_all.address = $4 and catch_all.key_id = $1
    and catch_all.token_hash is not null`

// A session that its owner has ended has no token. One with such a message has expired after that message; in a permanent one, and
// in the pool, messages expire by their own age.
const LAST_EXPIRED = `select max(id) as id from (
  select max(last_id) as id from mail.session where key_id = $1 and token_hash is not null
    and expires_at between $3 and $2 and last_id > $4 and (cast($6 as text) is null or address in ($6, $7))
  union all select max(swept_id) from mail.session where key_id = $1 and token_hash is not null
    and expires_at = ${PERMANENT.getTime()} and swept_id > $4 and (cast($6 as text) is null or address in ($6, $7))
  union all select swept_id from mail.shared_mailbox where id = $5 and swept_id > $4) as expired`

const HEAD_COLUMNS = 'message.id, message.sender_email as "senderEmail", message.subject'

/** The parameters $1 to $4, or $2 without an address. */
function scopeValues({ keyId, now, to }: KeyScope): Value[] {
  return [keyId, now.getTime(), ...(to === undefined ? [] : addressValues(to))]
}

/** An address, and that of the mailbox that has its mail if it has none of its own, at a domain of the key. */
function addressValues(to: Address): Value[] {
  return [to, catchAllAddress(hostOf(to))]
}

function pageOf(
  scope: KeyScope,
  columns: string,
  { sinceId, beforeId = Number.MAX_SAFE_INTEGER, limit, oldestFirst }: OrderedKeyMailPage,
): [string, Value[]] {
  const text = listStatement(scope, columns, ([since, before, most]) => ({
    where: `message.id > ${since} and message.id < ${before}`,
    direction: oldestFirst ? 'asc' : 'desc',
    limit: `limit ${most}`,
  }))
  return [text, [...scopeValues(scope), sinceId, beforeId, limit]]
}

/** The mail of the key's live sessions, or of one address, and that of the pool. `wanted` is given the names of further parameters. */
function listStatement(
  { to, pool }: Pick<KeyScope, 'to' | 'pool'>,
  columns: string,
  wanted: (parameters: string[]) => { where: string; direction: string; limit: string },
): string {
  const { where, direction, limit } = wanted(
    to === undefined ? ['$3', '$4', '$5'] : ['$5', '$6', '$7'],
  )
  const [shared, ...own] =
    to === undefined
      ? [
          `mail.message where mailbox = ${POOL}`,
          `mail.message inner join mail.session on session.id = message.mailbox
           where message.key_id = $1 and ${LIVE}`,
        ]
      : [
          `mail.message where ${IN_POOL} and recipient = $3`,
          `mail.session inner join mail.message on message.mailbox = session.id
           where session.address = $3 and ${OWN}`,
          // The sum keeps SQLite from the primary key: a catch-all has mail for many addresses.
          `mail.session inner join mail.message on message.mailbox + 0 = session.id
           where session.address = $4 and ${OWN} and message.recipient = $3
             and message.permanent is not null`,
        ]
  const part = (from: string) =>
    `select ${columns} from ${from} and ${where} order by message.id ${direction}`
  const parts = pool ? [...own, shared] : own
  const [only, another] = parts
  if (only && !another) return `${part(only)} ${limit}`
  // Each part is read in the order of its ids, so that they are merged without sorting.
  const merged = parts.map((from, at) => `select * from (${part(from)}) as part${at}`)
  return `${merged.join(' union all ')} order by id ${direction} ${limit}`
}

interface KeyVersionRow {
  pool: number
  own: number | null
  /** The next expiry, null if no session of the key is live: a session that expires changes the mail without a write. */
  soonest: number | null
}

/** The version of all mail that a key may see. Equal versions mean equal mail, even of different keys. */
function keyVersion(
  { keyId, pool }: Pick<KeyScope, 'keyId' | 'pool'>,
  row: KeyVersionRow | undefined,
): string {
  if (!row) throw new Error('the version query returned no row')
  const shared = pool ? `p${base36(row.pool)}` : ''
  if (row.soonest === null) return shared
  return `${shared}k${keyId}.${base36(row.own ?? 0)}.${base36(row.soonest)}`
}

/**
 * What a key may see of one address: its mail in the pool, the key's session of that address, and the catch-all of its domain. New mail has a higher id than
 * all mail before it, so with the same newest id and the same count nothing has changed.
 */
interface AddressVersionRow {
  count: number
  newest: number | null
  mailbox: MailboxId | null
  version: number | null
  catch_all: MailboxId | null
  catch_all_version: number | null
}

function addressVersion(
  { pool }: Pick<KeyScope, 'pool'>,
  row: AddressVersionRow | undefined,
): string {
  if (!row) throw new Error('the version query returned no row')
  const { count, newest, mailbox, version, catch_all: rest, catch_all_version: restVersion } = row
  const shared = pool && newest !== null ? `a${base36(newest)}.${base36(count)}` : ''
  const session = mailbox === null ? '' : `s${base36(mailbox)}.${base36(version ?? 0)}`
  const catchAll = rest === null ? '' : `c${base36(rest)}.${base36(restVersion ?? 0)}`
  return `${session}${catchAll}${shared}`
}

/** Whether the version of an address is one with a mailbox of the key, not only with mail of the pool. */
export const hasMailbox = (version: string) => /^[sc]/.test(version)

function base36(value: number): string {
  return value.toString(36)
}

// Limits: mail of ended sessions is skipped one by one until the sweep, about a minute.
