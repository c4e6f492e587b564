import { StoreUnavailable, toError } from '../../core/problem.ts'
import type { Row } from '../../core/row-sum.ts'
import { type MoveBatch, type MovePlace, MoveRefused, type MoveTarget } from '../moving.ts'
import { type Connections, openConnections, type Transaction } from './connection/connections.ts'
import { isUnavailable } from './connection/errors.ts'
import { checkServer } from './connection/server.ts'
import type { Retention } from './mail/mailbox-locks.ts'
import { withPartitions } from './mail/partitions.ts'
import { BLOCK } from './mail/raw-mail.ts'
import { migrate } from './migrate.ts'
import { type Column, insertOf, readColumns } from './move-columns.ts'
import { pages } from './move-pages.ts'
import { advance, type MoveRecord, openRecord } from './move-record.ts'
import { shaped } from './move-shapes.ts'

interface MoveTargetOptions extends Retention {
  url: string
  now: Date
}

/** A database that is to hold all that another engine keeps, and nothing else. */
export async function openMoveTarget({ url, ...options }: MoveTargetOptions): Promise<MoveTarget> {
  const pool = openConnections({ url, connections: 2 })
  try {
    await checkServer(pool)
    await migrate(pool, 'mail', url)
    await migrate(pool, 'shop', url)
  } catch (cause) {
    await pool.close()
    throw unusable(cause)
  }
  return targetOf(pool, options)
}

function targetOf(pool: Connections, options: Omit<MoveTargetOptions, 'url'>): MoveTarget {
  let record: MoveRecord | undefined
  const columns = new Map<string, Column[]>()

  function begun(): MoveRecord {
    if (!record) throw new Error('the move has not begun')
    return record
  }
  function columnsOf(table: string): Column[] {
    return columns.get(table) ?? []
  }

  return {
    async begin(source) {
      for (const { name } of source.tables) columns.set(name, await readColumns(pool, name))
      record = await pool.transaction((db) => openRecord(db, source, options))
      return record
    },

    async put(table: string, batch: MoveBatch, place: MovePlace) {
      const former = begun()
      const rows = shaped(table, batch.rows, former)
      await withPartitions(pool, async (db, used) => {
        await advance(db, former.place, place)
        if (LIES_IN_BUCKETS.includes(table)) for (const row of rows) used.add(Number(row['bucket']))
        if (table === 'mail.message') await noteBuckets(db, rows)
        const { text, values } = insertOf(table, columnsOf(table), rows)
        db.queueBeforeCommit(text, values)
      })
      record = { ...former, place }
    },

    async setNextIds({ domain, account, serial }) {
      const block = Math.ceil(serial / BLOCK)
      await pool.queryUnprepared(
        `select setval(pg_get_serial_sequence('mail.mail_domain', 'id'), $1, false),
           setval(pg_get_serial_sequence('mail.gmail_account', 'id'), $2, false),
           setval('mail.raw_block', $3, false)`,
        [domain, account, block],
      )
    },

    async finish(now) {
      await pool.query('update mail.move set finished_at = $1', [now.getTime()])
    },
    shaped: (table, rows) => shaped(table, rows, begun()),
    pages: (table) => pages(pool, table, columnsOf(table)),
    close: () => pool.close(),
  }
}

const LIES_IN_BUCKETS = ['mail.raw_mail', 'mail.message']

/** A shared box knows where its mail lies. */
async function noteBuckets(db: Transaction, rows: readonly Row[]): Promise<void> {
  const shared = rows.filter(({ mailbox }) => Number(mailbox) <= 2)
  if (shared.length === 0) return
  await db.query(
    `update mail.shared_mailbox as box set buckets = array(
       select distinct bucket from unnest(box.buckets || more.buckets) as bucket order by bucket)
     from (select mailbox, array_agg(bucket) as buckets
       from unnest($1::bigint[], $2::integer[]) as given (mailbox, bucket) group by mailbox) as more
     where box.id = more.mailbox`,
    [shared.map(({ mailbox }) => mailbox), shared.map(({ bucket }) => bucket)],
  )
}

/** What the server, the network or TLS says is for the person who named the server. It quotes neither rows nor the address. */
function unusable(cause: unknown): unknown {
  if (!(cause instanceof Error)) return cause
  const said = cause instanceof StoreUnavailable ? toError(cause.cause) : cause
  if (isUnavailable(said)) return new MoveRefused('PostgreSQL cannot be reached.', { cause })
  return new MoveRefused(`PostgreSQL cannot be used: ${said.message}`, { cause })
}
