import type { Log } from '../../base/log/log.ts'
import type { Limit } from '../../limit/limit.ts'
import type { ResponseCache } from './caching.ts'
import type { LongPollLimit, SendBudget } from './limits.ts'
import type { HttpRequest } from './request.ts'

/** What the server works with, and every route. Routes declare what else they need as the type of their `deps`. */
export interface ServerDeps {
  limit: Pick<Limit, 'take' | 'peek' | 'spend'>
  log: Log
  now(): Date
  randomBytes(count: number): Uint8Array
  /** Empty: taken from the request. */
  baseUrl: string
  /** Empty: metrics and readiness details are public. */
  adminToken: string
  rateLimits: boolean
  /** Origins allowed to use the keyed API. */
  keyedOrigins: readonly string[]
  responseCache: ResponseCache
  sendBudget: SendBudget
  longPolls: LongPollLimit
  /** True while shutting down: no new long polls, no keep-alive. */
  draining(): boolean
  /** Throws Problem unless the request is the operator's. */
  requireOperator(request: HttpRequest): Promise<undefined>
}
