import type { Log } from '../../base/log/log.ts'
import { StoreUnavailable, toError } from '../../base/problem.ts'
import type { PostgresFacts } from '../../doctor/rules/backend-rules.ts'
import { connectRedis } from '../../redis/connect.ts'

/** Loaded here, because the client is large and most installations use SQLite. */
export async function inspectPostgres(url: string): Promise<PostgresFacts> {
  const { openConnections } = await import('../../store/postgres/connection/connections.ts')
  const { NotDurable } = await import('../../store/postgres/connection/durability.ts')
  const db = openConnections({ url, connections: 1 })
  try {
    return await readPostgres(db)
  } catch (error) {
    const cause = error instanceof StoreUnavailable ? toError(error.cause) : toError(error)
    if (!(cause instanceof NotDurable)) throw cause
    return { ...UNKNOWN, durabilityFault: cause.message }
  } finally {
    await db.close()
  }
}

const UNKNOWN: PostgresFacts = {
  version: 150_000,
  role: '',
  durabilityFault: undefined,
  usedConnections: 0,
  maxConnections: 1,
  requiredStandbys: '',
  standbys: [],
  offsetMs: 0,
}

interface Row {
  version: string
  role: string
  used: number
  most: string
  required: string
  at: number
}

async function readPostgres(db: {
  queryUnprepared<R>(text: string): Promise<R[]>
}): Promise<PostgresFacts> {
  const asked = Date.now()
  const [row] = await db.queryUnprepared<Row>(
    // pg_stat_activity would hide the sessions of other roles.
    `select current_setting('server_version_num') as version,
       quote_ident(current_user) as role,
       (select sum(numbackends) from pg_stat_database) as used,
       current_setting('max_connections') as most,
       current_setting('synchronous_standby_names') as required,
       extract(epoch from clock_timestamp())::double precision * 1000 as at`,
  )
  const answered = Date.now()
  const standbys = await db.queryUnprepared<PostgresFacts['standbys'][number]>(
    'select application_name as name, sync_state as state from pg_stat_replication',
  )
  if (!row) throw new Error('PostgreSQL did not answer')
  return {
    version: Number(row.version),
    role: row.role,
    durabilityFault: undefined,
    usedConnections: Number(row.used),
    maxConnections: Number(row.most),
    requiredStandbys: row.required,
    standbys,
    offsetMs: Number(row.at) - (asked + answered) / 2,
  }
}

export async function inspectRedis(url: string, log: Log): Promise<string> {
  const redis = await connectRedis({ url, log })
  try {
    const info = String(await redis.send(['INFO', 'server']))
    return /^redis_version:(\S+)/m.exec(info)?.[1] ?? 'of unknown version'
  } finally {
    redis.close()
  }
}

/** The mode of the key, and the webhook endpoints of the account. */
export async function inspectStripe(stripe: { secretKey: string; apiUrl: string }) {
  const isTestMode = /^[sr]k_test_/.test(stripe.secretKey)
  try {
    const { openStripeClient } = await import('../../shop/pay/stripe-client.ts')
    const { data } = await openStripeClient(stripe).webhookEndpoints.list({ limit: 100 })
    const endpoints = data.map(({ url, status }) => ({ url, enabled: status === 'enabled' }))
    return { isTestMode, endpoints }
  } catch (error) {
    // The message may quote the key.
    const type = error instanceof Error && 'type' in error ? String(error.type) : 'no connection'
    return { isTestMode, endpoints: { error: type } }
  }
}
