/** Every refusal a caller can meet. Each door has a table from these to its own wire. */
export type ProblemCode =
  | 'missing_parameter'
  | 'invalid_parameter'
  | 'invalid_prefix'
  | 'reserved_prefix'
  | 'unknown_domain'
  | 'unknown_gmail_account'
  | 'invalid_token'
  | 'session_expired'
  | 'invalid_key'
  | 'quota_exhausted'
  | 'plan_expired'
  | 'message_not_found'
  | 'not_found'
  | 'method_not_allowed'
  | 'timeout'
  | 'address_taken'
  | 'order_unpaid'
  | 'order_stopped'
  | 'already_claimed'
  | 'already_rolled'
  | 'idempotency_conflict'
  | 'too_large'
  | 'unsupported_media_type'
  | 'rate_limited'
  | 'daily_limit'
  | 'internal'
  | 'overloaded'
  | 'gmail_unavailable'
  | 'payment_unavailable'
  | 'shutting_down'

/** A refusal the caller is meant to read. Anything else that is thrown is a fault of ours. */
export class Problem extends Error {
  readonly code: ProblemCode
  /** Whole seconds after which asking again may help; only where waiting helps at all. */
  readonly retryAfter: number | undefined

  constructor(code: ProblemCode, message: string, retryAfter?: number) {
    super(message)
    this.code = code
    this.retryAfter = retryAfter
  }
}

/** The store cannot be reached, or cannot write just now. Whether it did what it was asked last is not known. */
export class StoreUnavailable extends Problem {
  constructor(cause?: Error) {
    super('overloaded', 'The store cannot be reached. Try again in a moment.', 1)
    this.cause = cause
  }
}

/** Whatever was thrown, as an Error to log. */
export function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

/** True for an error of Node or SQLite with one of these codes: `EEXIST`, `SQLITE_FULL`. */
export function hasErrorCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code))
}
