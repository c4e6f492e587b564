import { timeOfId } from '../../../base/id.ts'
import type { Message } from '../../../mail/rules/message.ts'
import { POOL } from '../../../mail/rules/session.ts'
import type { KeyMailHead, KeyMailPage, KeyScope, OrderedKeyMailPage } from '../../../mail/store.ts'
import {
  type AddressVersionRow,
  addressVersion,
  type KeyVersionRow,
  keyVersion,
} from '../../key-mail-version.ts'
import type { Db } from '../connection/connections.ts'
import {
  foundRows,
  MESSAGE_COLUMNS,
  type StoredRow,
  storedMessageOf,
  type WithPartitions,
} from './messages.ts'
import { type PartitionCache, partitionList } from './partition-key.ts'
import { NOT_EXPIRED } from './shared-mailboxes.ts'

/** Mail that a key may read. Each method is one statement, so that its result is of one moment. */
export function keyMailReads(db: Db, partitions: PartitionCache) {
  async function list<Row>(scope: KeyScope, wanted: Wanted): Promise<Row[]> {
    const { keyId, pool, to, now } = scope
    const cacheKey = `${pool ? 'pool and ' : ''}${keyId} ${to ?? ''}`
    const values = [keyId, now.getTime(), ...wanted.values, ...(to ? [to] : [])]
    const rows = await partitions.query(cacheKey, (buckets) => {
      // Few texts name one partition, too many name several to prepare them all.
      const [own = ''] = buckets.split(' ')
      const query = own.includes(',') ? db.queryUnprepared : db.query
      return query<WithPartitions<Row>>(listStatement(scope, buckets, wanted), values)
    })
    return foundRows(rows)
  }

  return {
    async keyMailVersion(scope: KeyScope): Promise<string> {
      const { keyId, to, now } = scope
      if (to === undefined) {
        const [row] = await db.query<KeyVersionRow>(SELECT_VERSION, [keyId, now.getTime()])
        return keyVersion(scope, row)
      }
      const [row] = await partitions.query(String(POOL), (buckets) =>
        db.query<AddressVersionRow & { at: string }>(selectAddressVersion(buckets), [
          keyId,
          now.getTime(),
          to,
        ]),
      )
      return addressVersion(scope, row)
    },

    async listKeyMail(scope: KeyScope, page: OrderedKeyMailPage): Promise<Message[]> {
      const rows = await list<StoredRow>(scope, pageOf(MESSAGE_COLUMNS, page))
      return rows.map(storedMessageOf)
    },

    async listKeyMailHeads(scope: KeyScope, page: KeyMailPage): Promise<KeyMailHead[]> {
      const rows = await list<KeyMailHead>(scope, pageOf(HEAD_COLUMNS, page))
      return rows.map(({ id, senderEmail, subject }) => ({ id, senderEmail, subject }))
    },

    async readKeyMail(scope: KeyScope, ids: readonly number[]): Promise<Message[]> {
      const rows = await list<StoredRow>(scope, {
        columns: MESSAGE_COLUMNS,
        where: 'message.id = any($3::bigint[])',
        limit: '',
        values: [ids],
      })
      return rows.map(storedMessageOf)
    },

    async lastExpired({ keyId, pool, to, now }: KeyScope, sinceId: number): Promise<number> {
      const times = [timeOfId(sinceId).getTime(), now.getTime()]
      const values = [keyId, ...times, sinceId, pool ? POOL : 0, to ?? null]
      const [row] = await db.query<{ id: number | null }>(LAST_EXPIRED, values)
      return row?.id ?? 0
    },
  }
}

// A session without a token, or that was swept, has ended even if the clock has stepped back.
const LIVE = 'session.expires_at > $2 and session.token_hash is not null and not session.cleared'
const OWN = 'session.key_id = $1'

// A session that its owner has ended has no token. One with such a message has expired after that message.
const LAST_EXPIRED = `select max(id) as id from (
  select max(last_id) as id from mail.session where ${OWN} and token_hash is not null
    and expires_at between $2 and $3 and last_id > $4 and ($6::text is null or address = $6)
  union all select swept_id from mail.shared_mailbox where id = $5 and swept_id > $4) as expired`

const SELECT_VERSION = `select (select version from mail.shared_mailbox where id = ${POOL}) as pool,
  (select version from mail.key_view where key_id = $1) as own,
  (select min(expires_at) from mail.session where ${OWN} and ${LIVE}) as soonest`

const AT_POOL = `array_to_string(box.buckets, ',')`

function selectAddressVersion(buckets: string): string {
  return `select ${AT_POOL} as at, pool.count, pool.newest, session.id as mailbox, session.version
    from mail.shared_mailbox as box cross join lateral (
      select count(*), max(id) as newest from mail.message
      where mailbox = ${POOL} and bucket in (${partitionList(buckets)}) and recipient = $3 and ${NOT_EXPIRED}
    ) as pool
    left join mail.session on address = $3 and ${OWN} and ${LIVE}
    where box.id = ${POOL}`
}

/** Which columns of which messages, by default newest first; `values` are those of $3 and following. */
interface Wanted {
  columns: string
  where: string
  limit: string
  values: readonly unknown[]
  direction?: 'asc' | 'desc'
}

const HEAD_COLUMNS = 'message.id, message.sender_email as "senderEmail", message.subject'

function pageOf(
  columns: string,
  { sinceId, beforeId, limit, oldestFirst }: OrderedKeyMailPage,
): Wanted {
  return {
    columns,
    where: 'message.id > $3 and message.id < $4',
    limit: 'limit $5',
    values: [sinceId, beforeId ?? Number.MAX_SAFE_INTEGER, limit],
    direction: oldestFirst ? 'asc' : 'desc',
  }
}

/** The mail of the key's live sessions, or of one address, and that of the pool. */
function listStatement(
  { pool, to }: Pick<KeyScope, 'pool' | 'to'>,
  buckets: string,
  { columns, where, limit, values, direction = 'desc' }: Wanted,
): string {
  const [own = '', ofPool = ''] = buckets.split(' ')
  const address = `$${3 + values.length}`
  const page = `${where} order by message.id ${direction} ${limit}`
  const mine = to === undefined ? OWN : `${OWN} and session.address = ${address}`
  const key = to === undefined ? 'message.key_id = $1' : `session.address = ${address}`
  const parts = [
    `select ${columns} from mail.message
     join mail.session on session.id = message.mailbox and session.bucket = message.bucket
     where ${key} and message.bucket in (${partitionList(own)}) and ${OWN} and ${LIVE} and ${page}`,
    `select ${columns} from mail.message
     where mailbox = ${POOL} and bucket in (${partitionList(ofPool)}) and ${NOT_EXPIRED}
       ${to === undefined ? '' : `and recipient = ${address}`} and ${page}`,
  ]
  const union = parts.slice(0, pool ? 2 : 1).map((part) => `select * from (${part}) as part`)
  return `select at, found.* from (
      select box.*, coalesce((select string_agg(distinct bucket::text, ',')
        from mail.session where ${mine} and ${LIVE}), '') || ' ' || ${pool ? AT_POOL : `''`} as at
      from mail.shared_mailbox as box where id = ${POOL}
    ) as box left join lateral (
      ${union.join(' union all ')} order by id ${direction} ${limit}
    ) as found on true order by found.id ${direction}`
}
