import { hasErrorCode, Problem, StoreUnavailable, toError } from '../../../core/problem.ts'

// https://www.postgresql.org/docs/current/errcodes-appendix.html
const UNAVAILABLE = new Set([
  '25006', // a replica, or a primary that was replaced: it only reads
  '40001', // somebody was quicker; whoever asks again gets through
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
// What the driver says itself has no code.
const DRIVER = /^(Connection terminated|timeout e|Query read timeout|Client (has|was) )/

/** What a caller hears of an error of the driver or the server. One that he can do nothing about keeps its code and loses what it quotes. */
export function asStoreError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof Problem) return error
  if (isUnavailable(error)) return new StoreUnavailable(error)
  if (hasErrorCode(error, ...FULL)) {
    return new Problem('overloaded', 'There is no space to keep this. Try again later.', 60)
  }
  return 'severity' in error ? new DatabaseFault(error) : error
}

/** Of a connection that cannot be had. Whatever it is about, a password, a certificate or a name: whoever asks may ask again. */
export function asUnreachable(error: unknown): StoreUnavailable {
  return new StoreUnavailable(toError(error))
}

/** True when nothing more can be had from this connection, or nothing good. */
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

/** Mail was put where no partition is: the schema has no other check that could fail. */
export function isMissingPartition(error: unknown): boolean {
  return hasErrorCode(error, '23514')
}

/** Told to the log. The server's details are left out: they quote whole rows, and rows are mail. */
export class DatabaseFault extends Error {
  readonly code: string
  constructor(error: Error) {
    super(error.message)
    this.code = 'code' in error ? String(error.code) : ''
  }
}
