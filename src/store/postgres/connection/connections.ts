import { hash } from 'node:crypto'
import { Pool as Clients, type Connection, type PoolClient, types } from 'pg'
import { withTimeout } from '../../../base/jobs/repeat.ts'
import { openLru } from '../../../base/lru.ts'
import { hasErrorCode, StoreUnavailable } from '../../../base/problem.ts'
import { commitSeconds } from '../../commit-seconds.ts'
import { COMMIT_DURABLY, watchDurability } from './durability.ts'
import { asStoreError, asUnreachable, isUnavailable } from './errors.ts'

/** Any connection, or the connection of a transaction. */
export interface Db {
  /** Prepared once per connection: for a limited number of texts. */
  query<Row>(text: string, values?: readonly unknown[]): Promise<Row[]>
  /** For texts that vary. */
  queryUnprepared<Row>(text: string, values?: readonly unknown[]): Promise<Row[]>
}

export interface Transaction extends Db {
  /** The last statement: sent together with COMMIT, so that both cost one round trip. */
  queueBeforeCommit(query: () => Promise<unknown>): void
}

export interface Connections extends Db {
  /** Commits when the operation resolves. Its first statement is sent together with BEGIN. */
  transaction<T>(operation: (db: Transaction) => Promise<T>): Promise<T>
  /** Why commits could be lost, as far as known; undefined if they cannot. */
  durabilityFault(): string | undefined
  close(): Promise<void>
}

export interface ConnectionOptions {
  /** `postgres://user:password@host:port/database`; for parameters see docs/scaling.md. */
  url: string
  /** Maximum of this thread. */
  connections?: number
  /** Statement timeout; default 10 s. */
  statementMs?: number
  /** How long we wait for a connection, and the server for the next statement of a transaction; default 5 s. Only tests set it. */
  waitMs?: number
}

const STATEMENT_MS = 10_000
// A node that hangs inside a transaction holds locks that others wait for.
const WAIT_MS = 5_000
const CLOSE_MS = 2_000
const INT8 = 20

const NUMBERS = {
  getTypeParser: ((oid: number, format: 'text') =>
    oid === INT8 ? Number : types.getTypeParser(oid, format)) as typeof types.getTypeParser,
}

/** A few connections, opened when needed and reopened when lost. */
export function openConnections({
  url,
  connections = 4,
  statementMs = STATEMENT_MS,
  waitMs = WAIT_MS,
}: ConnectionOptions): Connections {
  const { connectionString, pooled } = readUrl(url)
  const session = {
    connectionString,
    connectionTimeoutMillis: waitMs,
    // Later than the server's own timeout, because this one closes the connection.
    query_timeout: statementMs + waitMs,
    fallback_application_name: 'mayfly',
  }
  const clients = new Clients({
    ...session,
    max: connections,
    idleTimeoutMillis: 60_000,
    // Prepared statements name partitions that are dropped some day.
    maxLifetimeSeconds: 3_600,
    keepAlive: true,
    // A connection that does not close must not keep a thread running.
    allowExitOnIdle: true,
    pipeline: true,
    types: NUMBERS,
    ...(pooled ? {} : settingsOf(statementMs, waitMs)),
  })
  // A lost idle connection is replaced when needed; a lost one in use fails its query.
  clients.on('error', () => {})
  clients.on('connect', (client) => client.on('error', () => {}))
  const begin = pooled ? beginPooled(statementMs, waitMs) : BEGIN
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
    close: () => closeInTime([clients.end(), durability.idle()]),
  }
}

function settingsOf(statementMs: number, waitMs: number) {
  return {
    // Compiling a statement takes longer than any of ours runs: 240 to 400 ms for a mail to 100 addresses.
    options: '-c jit=off',
    statement_timeout: statementMs,
    idle_in_transaction_session_timeout: waitMs,
  }
}

// Each statement sees what was committed before it: after waiting for a lock it sees what the other transaction wrote.
const BEGIN = 'begin isolation level read committed'
// PgBouncer assigns a connection per transaction, so settings must end with it.
function beginPooled(statementMs: number, waitMs: number): string {
  return `${BEGIN};
    set local jit = off;
    set local statement_timeout = ${statementMs};
    set local idle_in_transaction_session_timeout = ${waitMs}`
}

async function transact<T>(
  client: PoolClient,
  task: {
    begin: string
    pooled: boolean
    operation: (db: Transaction) => Promise<T>
    /** Called when the commit was refused because it could have been lost. */
    refused: () => Error
  },
): Promise<T> {
  const db = statements(client, !task.pooled)
  let last: (() => Promise<unknown>) | undefined
  const transaction: Transaction = {
    query: db.query,
    queryUnprepared: statements(client, false).query,
    queueBeforeCommit(query) {
      last = query
    },
  }
  try {
    const [, result] = await sendTogether(client, () =>
      Promise.all([client.query(task.begin), task.operation(transaction)]),
    )
    const startedAt = performance.now()
    const [done, commit] = await sendTogether(client, () =>
      Promise.allSettled([last?.(), client.query(COMMIT_DURABLY)]),
    )
    const seconds = (performance.now() - startedAt) / 1000
    if (done.status === 'rejected') throw done.reason
    if (commit.status === 'rejected') {
      throw hasErrorCode(commit.reason, '22012')
        ? new StoreUnavailable(task.refused())
        : commit.reason
    }
    commitSeconds.observe('postgres', seconds)
    return result
  } catch (error) {
    // If this fails too, the connection is lost, and the transaction with it.
    if (!isUnavailable(error)) await client.query('rollback')
    throw error
  }
}

/** Statements that are queried at once are written to the socket at once. */
function sendTogether<T>(client: PoolClient, query: () => T): T {
  // Missing in the types of the driver.
  const { stream } = (client as PoolClient & { connection: Connection }).connection
  stream.cork()
  try {
    return query()
  } finally {
    stream.uncork()
  }
}

/** Does not wait for a server that hangs. */
async function closeInTime(closing: Promise<void>[]): Promise<void> {
  await withTimeout(CLOSE_MS, Promise.all(closing))
}

function statements(client: PoolClient, named: boolean) {
  return {
    async query<Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
      const name = named ? { name: statementName(text) } : {}
      const result = await client.query({ text, values: values.map(withoutNul), ...name })
      return result.rows as Row[]
    },
  }
}

const names = openLru<string, string>(1_000)

function statementName(text: string): string {
  const known = names.get(text)
  if (known !== undefined) return known
  const name = hash('sha1', text, 'base64url')
  names.set(text, name)
  return name
}

/** PostgreSQL stores every character but NUL. */
export function withoutNul(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNul)
  return typeof value === 'string' ? value.replaceAll('\0', '\u{fffd}') : value
}

/** `pgbouncer=true`: behind PgBouncer in transaction mode, statements are not prepared and nothing is set per connection. */
function readUrl(text: string): { connectionString: string; pooled: boolean } {
  if (!URL.canParse(text)) throw new Error('The PostgreSQL URL is invalid.')
  const url = new URL(text)
  const pooled = url.searchParams.get('pgbouncer') === 'true'
  url.searchParams.delete('pgbouncer')
  // TLS always verifies the server, except with `no-verify`.
  const mode = url.searchParams.get('sslmode') ?? ''
  if (['prefer', 'require', 'verify-ca'].includes(mode))
    url.searchParams.set('sslmode', 'verify-full')
  return { connectionString: url.href, pooled }
}

// Limits: PgBouncer before 1.21 does not support prepared statements; with pgbouncer=true none are used with any version.
