import type { Message } from '../../core/message.ts'
import { POOL } from '../../core/session.ts'
import { type AddressMark, addressMarkText, type Mark, markText } from '../reader-mark.ts'
import type { ReaderPage, ReaderScope } from '../store.ts'
import type { BucketCache } from './bucket-cache.ts'
import type { Db } from './connections.ts'
import { MESSAGE, type Placed, present, type StoredRow, storedMessageOf } from './messages.ts'
import { listOf } from './partition-days.ts'
import { STILL_THERE } from './shared.ts'

/** What a key may read. Each question is one statement, so that its answer is of one moment. */
export function readerReads(db: Db, places: BucketCache) {
  return {
    async readerMark(scope: ReaderScope): Promise<string> {
      const { keyId, to, now } = scope
      if (to === undefined) {
        const [row] = await db.rows<Mark>(MARK, [keyId, now.getTime()])
        return markText(scope, row)
      }
      const [row] = await places.ask(String(POOL), (buckets) =>
        db.rows<AddressMark & { at: string }>(addressMark(buckets), [keyId, now.getTime(), to]),
      )
      return addressMarkText(scope, row)
    },

    async listReaderMessages(scope: ReaderScope, page: ReaderPage): Promise<Message[]> {
      const { keyId, pool, to, now } = scope
      const whose = `${pool ? 'pool and ' : ''}${keyId} ${to ?? ''}`
      const { sinceId, beforeId = Number.MAX_SAFE_INTEGER, limit } = page
      const values = [keyId, now.getTime(), sinceId, beforeId, limit, ...(to ? [to] : [])]
      const rows = await places.ask(whose, (buckets) => {
        // There are few texts that name one day, and too many that name several to prepare them all.
        const [own = ''] = buckets.split(' ')
        const ask = own.includes(',') ? db.rowsOnce : db.rows
        return ask<Placed<StoredRow>>(list({ pool, to }, buckets), values)
      })
      return present(rows).map(storedMessageOf)
    },
  }
}

// A session is over by its clock, and also when it has no token any more or was swept, whatever a clock that stepped back says.
const LIVE = 'session.expires_at > $2 and session.token_hash is not null and not session.cleared'
const OWN = 'session.key_id = $1'

const MARK = `select (select version from mail.shared_mailbox where id = ${POOL}) as pool,
  (select version from mail.key_view where key_id = $1) as own,
  (select min(expires_at) from mail.session where ${OWN} and ${LIVE}) as soonest`

const AT_POOL = `array_to_string(box.buckets, ',')`

function addressMark(buckets: string): string {
  return `select ${AT_POOL} as at, pool.count, pool.newest, session.id as mailbox, session.version
    from mail.shared_mailbox as box cross join lateral (
      select count(*), max(id) as newest from mail.message
      where mailbox = ${POOL} and bucket in (${listOf(buckets)}) and recipient = $3 and ${STILL_THERE}
    ) as pool
    left join mail.session on address = $3 and ${OWN} and ${LIVE}
    where box.id = ${POOL}`
}

const PAGE = 'message.id > $3 and message.id < $4 order by message.id desc limit $5'

/** The key's mail from the newest on, each with a look at its session; or of one session; and that of the pool. */
function list({ pool, to }: Pick<ReaderScope, 'pool' | 'to'>, buckets: string): string {
  const [own = '', ofPool = ''] = buckets.split(' ')
  const mine = to === undefined ? OWN : `${OWN} and session.address = $6`
  const key = to === undefined ? 'message.key_id = $1' : 'session.address = $6'
  const parts = [
    `select ${MESSAGE} from mail.message
     join mail.session on session.id = message.mailbox and session.bucket = message.bucket
     where ${key} and message.bucket in (${listOf(own)}) and ${OWN} and ${LIVE} and ${PAGE}`,
    `select ${MESSAGE} from mail.message
     where mailbox = ${POOL} and bucket in (${listOf(ofPool)}) and ${STILL_THERE}
       ${to === undefined ? '' : 'and recipient = $6'} and ${PAGE}`,
  ]
  const union = parts.slice(0, pool ? 2 : 1).map((part) => `select * from (${part}) as part`)
  return `select at, found.* from (
      select box.*, coalesce((select string_agg(distinct bucket::text, ',')
        from mail.session where ${mine} and ${LIVE}), '') || ' ' || ${pool ? AT_POOL : `''`} as at
      from mail.shared_mailbox as box where id = ${POOL}
    ) as box left join lateral (
      ${union.join(' union all ')} order by id desc limit $5
    ) as found on true order by found.id desc`
}
