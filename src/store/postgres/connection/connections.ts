import { hash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Pool as Clients, type PoolClient, types } from 'pg'
import { hasErrorCode, StoreUnavailable } from '../../../core/problem.ts'
import { COMMIT_DURABLY, watchDurability } from './durability.ts'
import { asStoreError, asUnreachable, isUnavailable } from './errors.ts'

/** What statements are run on: any connection, or the one of a transaction. */
export interface Db {
  /** Prepared once on each connection: for texts of which there are few. */
  query<Row>(text: string, values?: readonly unknown[]): Promise<Row[]>
  /** For texts that differ from caller to caller. */
  queryUnprepared<Row>(text: string, values?: readonly unknown[]): Promise<Row[]>
}

export interface Transaction extends Db {
  /** The last statement: it goes out together with COMMIT, whose answer is the only one to wait for. */
  queueBeforeCommit(text: string, values: readonly unknown[]): void
}

export interface Connections extends Db {
  /** Commits when the deed is done. What the deed asks first goes out together with BEGIN. */
  transaction<T>(operation: (db: Transaction) => Promise<T>): Promise<T>
  /** Why commits could be lost, as far as it is known; undefined if they cannot. */
  durabilityFault(): string | undefined
  close(): Promise<void>
}

export interface ConnectionOptions {
  /** `postgres://user:password@host:port/database`, see docs/scaling.md for what may follow. */
  url: string
  /** At most so many at once, of this thread. */
  connections?: number
  /** How long one statement may take; default 10 s. */
  statementMs?: number
}

const STATEMENT_MS = 10_000
// A node that hangs inside a transaction holds locks that all others wait for.
const IDLE_IN_TRANSACTION_MS = 5_000
const CONNECT_MS = 5_000
const CLOSE_MS = 2_000
const INT8 = 20

const NUMBERS = {
  getTypeParser: ((oid: number, format: 'text') =>
    oid === INT8 ? Number : types.getTypeParser(oid, format)) as typeof types.getTypeParser,
}

/** A few connections, made when they are needed and made anew when they are lost. */
export function openConnections({
  url,
  connections = 4,
  statementMs = STATEMENT_MS,
}: ConnectionOptions): Connections {
  const { connectionString, pooled } = readUrl(url)
  const session = {
    connectionString,
    connectionTimeoutMillis: CONNECT_MS,
    // Later than the server's own: ours gives the connection up.
    query_timeout: statementMs + CONNECT_MS,
    fallback_application_name: 'mayfly',
  }
  const clients = new Clients({
    ...session,
    max: connections,
    idleTimeoutMillis: 60_000,
    // Statements are prepared for buckets that are over some day.
    maxLifetimeSeconds: 3_600,
    keepAlive: true,
    // A connection whose end nobody answers must not keep a thread that is done.
    allowExitOnIdle: true,
    pipeline: true,
    types: NUMBERS,
    ...(pooled ? {} : timeoutsOf(statementMs)),
  })
  // An idle connection that is lost is replaced by the next that is needed; one in use tells who uses it.
  clients.on('error', () => {})
  clients.on('connect', (client) => client.on('error', () => {}))
  const begin = pooled ? beginPooled(statementMs) : BEGIN
  const durability = watchDurability(session)
  const checked = new WeakSet<PoolClient>()

  async function withClient<T>(use: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await connect()
    try {
      const result = await use(client)
      client.release()
      return result
    } catch (error) {
      client.release(isUnavailable(error) || error instanceof StoreUnavailable)
      throw asStoreError(error)
    }
  }

  async function connect(): Promise<PoolClient> {
    try {
      const client = await clients.connect()
      if (!checked.has(client)) await checkNew(client)
      return client
    } catch (error) {
      throw asUnreachable(error)
    }
  }

  async function checkNew(client: PoolClient): Promise<void> {
    try {
      await durability.check(client)
      checked.add(client)
    } catch (error) {
      client.release(true)
      throw error
    }
  }

  return {
    query: (text, values) =>
      withClient((client) => statements(client, !pooled).query(text, values)),
    queryUnprepared: (text, values) =>
      withClient((client) => statements(client, false).query(text, values)),
    transaction: (operation) =>
      withClient((client) =>
        transact(client, { begin, pooled, operation, refused: durability.failed }),
      ),
    durabilityFault: durability.fault,
    close: () => withCloseTimeout(Promise.all([clients.end(), durability.idle()])),
  }
}

function timeoutsOf(statementMs: number) {
  return {
    statement_timeout: statementMs,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
  }
}

// Each statement of a transaction sees what was committed before it: so after a lock it sees what was waited for.
const BEGIN = 'begin isolation level read committed'
// PgBouncer lends a connection for one transaction: what is set must end with it.
function beginPooled(statementMs: number): string {
  return `${BEGIN};
    set local statement_timeout = ${statementMs};
    set local idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_MS}`
}

async function transact<T>(
  client: PoolClient,
  task: {
    begin: string
    pooled: boolean
    operation: (db: Transaction) => Promise<T>
    /** Called when the commit could have been lost, and was not made. */
    refused: () => Error
  },
): Promise<T> {
  const db = statements(client, !task.pooled)
  let last: (() => Promise<unknown>) | undefined
  const transaction: Transaction = {
    query: db.query,
    queryUnprepared: statements(client, false).query,
    queueBeforeCommit(text, values) {
      last = () => db.query(text, values)
    },
  }
  try {
    const [, result] = await Promise.all([client.query(task.begin), task.operation(transaction)])
    const [done, commit] = await Promise.allSettled([last?.(), client.query(COMMIT_DURABLY)])
    if (done.status === 'rejected') throw done.reason
    if (commit.status === 'rejected') {
      throw hasErrorCode(commit.reason, '22012')
        ? new StoreUnavailable(task.refused())
        : commit.reason
    }
    return result
  } catch (error) {
    // Where this fails too, the connection is lost, and the transaction with it.
    if (!isUnavailable(error)) await client.query('rollback')
    throw error
  }
}

/** A server that hangs does not say goodbye, and is not waited for. */
async function withCloseTimeout(closed: Promise<unknown>): Promise<void> {
  const ended = new AbortController()
  const patience = pause(CLOSE_MS, undefined, { signal: ended.signal }).catch(() => {})
  await Promise.race([closed, patience])
  ended.abort()
}

function statements(client: PoolClient, named: boolean) {
  return {
    async query<Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
      const name = named ? { name: hash('sha1', text, 'base64url') } : {}
      const result = await client.query({ text, values: values.map(withoutNul), ...name })
      return result.rows as Row[]
    },
  }
}

/** PostgreSQL's text holds every character but NUL: what is asked for with one is not found, what is kept is kept without. */
export function withoutNul(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNul)
  return typeof value === 'string' ? value.replaceAll('\0', '\u{fffd}') : value
}

/** `pgbouncer=true` says that a PgBouncer in transaction mode stands between: no statement is prepared, nothing is set for a whole connection. */
function readUrl(text: string): { connectionString: string; pooled: boolean } {
  if (!URL.canParse(text)) throw new Error('The address of PostgreSQL is not a URL.')
  const url = new URL(text)
  const pooled = url.searchParams.get('pgbouncer') === 'true'
  url.searchParams.delete('pgbouncer')
  // Whoever asks for TLS is told when the other end is somebody else; `no-verify` asks not to be told.
  const mode = url.searchParams.get('sslmode') ?? ''
  if (['prefer', 'require', 'verify-ca'].includes(mode))
    url.searchParams.set('sslmode', 'verify-full')
  return { connectionString: url.href, pooled }
}

// Limits: PgBouncer before 1.21 cannot hold prepared statements; with pgbouncer=true none are used with any of them.
