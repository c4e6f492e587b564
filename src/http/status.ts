import type { ProblemCode } from '../core/problem.ts'

/** The status that each refusal has on this door. */
export const status = {
  missing_parameter: 400,
  invalid_parameter: 400,
  invalid_prefix: 400,
  reserved_prefix: 400,
  unknown_domain: 400,
  unknown_gmail_account: 400,
  invalid_token: 401,
  session_expired: 401,
  invalid_key: 401,
  quota_exhausted: 402,
  plan_expired: 402,
  message_not_found: 404,
  not_found: 404,
  method_not_allowed: 405,
  timeout: 408,
  address_taken: 409,
  order_unpaid: 409,
  already_claimed: 409,
  idempotency_conflict: 409,
  // A header block that is too large is 431: only the parser says so, see parser-fault.ts.
  too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  daily_limit: 429,
  internal: 500,
  overloaded: 503,
  gmail_unavailable: 503,
  payment_unavailable: 503,
  shutting_down: 503,
} as const satisfies Record<ProblemCode, number>
