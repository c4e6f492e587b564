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
