import type { Fault } from '../../../base/fault.ts'
import { hasErrorCode, Problem, StoreUnavailable, toError } from '../../../base/problem.ts'

// https://www.postgresql.org/docs/current/errcodes-appendix.html
const UNAVAILABLE = new Set([
  '25006', // read-only: a replica, or a primary that was replaced
  '40001', // serialization failure: a retry succeeds
  '40P01', // a deadlock
  '53300', // too many connections
  '57014', // longer than statement_timeout
  '57P01', // shut down by its administrator
  '57P02', // another of its processes crashed
  '57P03', // starting up
  '57P05', // idle for too long
  '25P03', // idle in a transaction for too long
])
const FULL = ['53100', '53200']
const NETWORK = /^(E(CONN|HOST|NET|TIMEDOUT|PIPE|AI_AGAIN|NOTFOUND)|ENOENT$)/
// Errors of the driver have no code.
const DRIVER = /^(Connection terminated|timeout e|Query read timeout|Client (has|was) )/

/** An error of the driver or the server, as callers see it. */
export function asStoreError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof Problem) return error
  if (isUnavailable(error)) return new StoreUnavailable(error)
  if (hasErrorCode(error, ...FULL)) {
    return new Problem('overloaded', 'Storage is full. Try again later.', 60)
  }
  if (hasErrorCode(error, '23514') && 'detail' in error) {
    const [, bucket] = /\(bucket\) = \((\d+)\)/.exec(String(error.detail)) ?? []
    if (bucket) return new MissingPartition(Number(bucket))
  }
  return 'severity' in error ? new DatabaseFault(error) : error
}

/** For a failed connect. Whatever the cause, a password, a certificate or a name, a retry may succeed. */
export function asUnreachable(error: unknown): StoreUnavailable {
  return new StoreUnavailable(toError(error))
}

/** True if the connection is lost or must not be used again. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? String(error.code) : ''
  return (
    UNAVAILABLE.has(code) ||
    code.startsWith('08') ||
    NETWORK.test(code) ||
    DRIVER.test(error.message)
  )
}

/** Why there is no connection, and what to do about it. */
export function connectionFault(error: Error): Fault {
  const { message, code = '' }: NodeJS.ErrnoException = error
  const answered = 'severity' in error && !isUnavailable(error)
  // If all addresses of a name refuse, the error has no message of its own.
  const seen = `PostgreSQL ${answered ? 'refuses us' : 'cannot be reached'}: ${message || code}`
  const fix = CONNECTION_FIXES.find(([pattern]) => pattern.test(`${code} ${message}`))?.[1]
  return { seen, fix: fix ?? 'Start PostgreSQL, or correct host and port in MAYFLY_STORE' }
}

const CONNECTION_FIXES: readonly [RegExp, string][] = [
  [
    /^28P01|password must be a string|no password supplied/,
    "Correct user name and password in MAYFLY_STORE (postgres://USER:PASSWORD@host/database; write @, / and : of a password as %40, %2F and %3A), or: ALTER ROLE mayfly PASSWORD '…';",
  ],
  [
    /^28000.*pg_hba|no pg_hba\.conf entry/,
    'Allow this machine in pg_hba.conf of the server (hostssl mayfly mayfly ADDRESS/32 scram-sha-256), then: SELECT pg_reload_conf();',
  ],
  [/^28000/, "Create the role: CREATE ROLE mayfly LOGIN PASSWORD '…'; or correct MAYFLY_STORE"],
  [
    /^3D000/,
    "Create the database: CREATE DATABASE mayfly OWNER mayfly ENCODING 'UTF8' TEMPLATE template0; or correct its name in MAYFLY_STORE",
  ],
  [
    /^53300.*for (?:role|database)/,
    'Raise its limit: ALTER ROLE mayfly CONNECTION LIMIT -1; and for a database: ALTER DATABASE mayfly CONNECTION LIMIT -1;',
  ],
  [
    /^53300/,
    'End connections that are not needed, or raise max_connections and restart PostgreSQL; with many nodes use PgBouncer (docs/scaling.md)',
  ],
  [/^57P03/, 'Wait until PostgreSQL has started or recovered: see its log'],
  [/^55000/, 'ALTER DATABASE mayfly ALLOW_CONNECTIONS true;'],
  [/^42501/, 'Make the role of MAYFLY_STORE the owner of the database and its schemas'],
  [
    /ENOTFOUND|EAI_AGAIN/,
    'Correct the host name in MAYFLY_STORE, or the name servers of this machine',
  ],
  [
    /certificate|CERT_|altnames/i,
    'Name the CA in MAYFLY_STORE (sslrootcert=/etc/mayfly/ca.pem), and use the host name of the certificate (docs/scaling.md)',
  ],
  [
    /not support SSL/i,
    'Set ssl = on in postgresql.conf of the server, or remove sslmode from MAYFLY_STORE',
  ],
  [
    /ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|timeout/i,
    'Correct host and port in MAYFLY_STORE, or open the port in the firewall of the server',
  ],
]

/** Raw mail has no partition for this day yet. */
export class MissingPartition extends Error {
  readonly bucket: number
  constructor(bucket: number) {
    super(`no partition ${bucket}`)
    this.bucket = bucket
  }
}

/** For the log, without the server's details: they quote rows, and rows are mail. */
export class DatabaseFault extends Error {
  readonly code: string
  constructor(error: Error) {
    super(error.message)
    this.code = 'code' in error ? String(error.code) : ''
  }
}
