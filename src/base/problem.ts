/** Every reason for refusing a request. Each adapter maps these codes to its protocol. */
export type ProblemCode =
  | 'missing_parameter'
  | 'invalid_parameter'
  | 'invalid_prefix'
  | 'reserved_prefix'
  | 'invalid_subdomain'
  | 'reserved_subdomain'
  | 'unknown_domain'
  | 'unknown_gmail_account'
  | 'invalid_url'
  | 'invalid_domain'
  | 'entry_wide'
  | 'entry_top_level'
  | 'entry_private'
  | 'entry_own'
  | 'invalid_token'
  | 'session_expired'
  | 'invalid_key'
  | 'quota_exhausted'
  | 'plan_expired'
  | 'not_allowed'
  | 'message_not_found'
  | 'session_not_found'
  | 'webhook_not_found'
  | 'domain_not_found'
  | 'not_found'
  | 'method_not_allowed'
  | 'timeout'
  | 'address_taken'
  | 'order_unpaid'
  | 'order_stopped'
  | 'already_claimed'
  | 'already_rolled'
  | 'already_running'
  | 'webhook_limit'
  | 'domain_limit'
  | 'domain_exists'
  | 'domain_reserved'
  | 'domain_held'
  | 'record_missing'
  | 'idempotency_conflict'
  | 'too_large'
  | 'unsupported_media_type'
  | 'rate_limited'
  | 'daily_limit'
  | 'internal'
  | 'overloaded'
  | 'gmail_unavailable'
  | 'payment_unavailable'
  | 'dns_failed'
  | 'shutting_down'

/** A refusal meant for the caller. Anything else that is thrown is an internal error. */
export class Problem extends Error {
  readonly code: ProblemCode
  /** Whole seconds after which a retry may succeed; undefined if a retry would not help. */
  readonly retryAfter: number | undefined

  constructor(code: ProblemCode, message: string, retryAfter?: number) {
    super(message)
    this.code = code
    this.retryAfter = retryAfter
  }
}

/** What the operator can fix: the command line prints the message, without a stack trace. */
export class OperatorError extends Error {}

/** The store is unreachable or cannot write. Whether the last operation was committed is unknown. */
export class StoreUnavailable extends Problem {
  constructor(cause?: Error, message = 'The store is unavailable. Try again in a moment.') {
    super('overloaded', message, 1)
    this.cause = cause
  }
}

export function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

/** True for an error of Node or SQLite with one of these codes, such as `EEXIST` or `SQLITE_FULL`. */
export function hasErrorCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code))
}

/**
 * True for what is thrown when our code is wrong, whatever a peer has sent: it must not pass for an error of that peer. Not for
 * errors of `fetch`, which throws a TypeError when the network fails.
 */
export function isProgrammingError(error: unknown): boolean {
  return [TypeError, RangeError, ReferenceError].some((type) => error instanceof type)
}

export function shuttingDown(): Problem {
  return new Problem('shutting_down', 'The service is shutting down.', 1)
}
