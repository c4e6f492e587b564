import type { Log } from '../base/log/log.ts'
import type { OwnEntries } from '../blocks/rules.ts'
import type { CheckProgress } from '../doctor/checks/daily-checks.ts'
import type { ConfiguredAccount } from '../gmail/accounts.ts'
import type { PoolAccess } from '../keys/emails/emails.ts'
import type { ServiceDeps, SubscribableBus } from '../mail/deps.ts'
import type { LargeReads } from '../mail/read/large-reads.ts'
import type { ParseOnce } from '../mail/read/parse-once.ts'
import type { LifetimeLimits, MailboxLimits } from '../mail/rules/session.ts'
import type { SendLocalMail } from '../mail/send-test.ts'
import type { Plan } from '../shared/plan.ts'
import type { WebhookClient } from '../webhooks/client.ts'
import type { BuiltPage } from './pages/assets.ts'
import type { ResponseCache } from './server/caching.ts'
import type { ConnectionSlots } from './server/connection-limit.ts'
import type { LongPollLimit, SendBudget } from './server/limits.ts'

/** What the HTTP server is given. */
export interface HttpDeps
  extends Pick<
    ServiceDeps,
    'store' | 'shop' | 'limit' | 'pay' | 'senderChecks' | 'now' | 'randomBytes'
  > {
  bus: SubscribableBus
  parse: ParseOnce
  sendLocalMail: SendLocalMail
  webhookClient: WebhookClient
  /** Shared with everything else in this thread that reads large mail. */
  largeReads?: LargeReads
  connections: ConnectionSlots
  /** Prometheus text of the whole process. */
  metrics(): Promise<string>
  /** Problems the operator should know about that do not stop the service. */
  warnings(): Promise<string[]>
  /** Makes the checks now. Throws `already_running`. */
  runChecks(): Promise<void>
  /** Of a run that was requested from this node. */
  checkProgress(): Promise<CheckProgress | undefined>
  builtPage: BuiltPage
  /** Of this machine. */
  ownAddresses: readonly string[]
  log: Log
  config: HttpConfig
}

/** What routes work with: everything the services need, and the settings and limits of HTTP. */
export interface RouteDeps
  extends ServiceDeps,
    Pick<
      HttpDeps,
      | 'metrics'
      | 'warnings'
      | 'runChecks'
      | 'checkProgress'
      | 'builtPage'
      | 'sendLocalMail'
      | 'webhookClient'
    > {
  log: Log
  mailbox: MailboxLimits
  intervals: IdleIntervals
  /** Empty: taken from the request. */
  baseUrl: string
  /** In our Received lines. */
  hostname: string
  /** Empty: metrics and readiness details are public. */
  adminToken: string
  rateLimits: boolean
  /** Whether the service makes its checks every day. */
  dailyChecks: boolean
  /** Origins allowed to use the keyed API. */
  keyedOrigins: readonly string[]
  /** Whether /mcp exists. */
  mcp: boolean
  /** The mode of the MTA-STS policy of our domains. */
  mtaSts: 'off' | 'testing' | 'enforce'
  /** What is blocked with `force` only. */
  own: OwnEntries
  /** Whether receipts are mailed. */
  receipts: boolean
  checksSenders: boolean
  /** Whether key holders may use webhooks. */
  webhooks: boolean
  /** The operator's file, without the secrets. */
  gmailAccounts: readonly ConfiguredAccount[]
  responseCache: ResponseCache
  sendBudget: SendBudget
  longPolls: LongPollLimit
  /** True while shutting down: no new long polls, no keep-alive. */
  draining(): boolean
}

/** The part of the configuration that the HTTP server reads. */
export interface HttpConfig {
  adminToken: string
  rateLimits: boolean
  dailyChecks: boolean
  keyedOrigins: readonly string[]
  poolAccess: PoolAccess
  plans: readonly Plan[]
  mailOut: { url: string; from: string }
  senderChecks: { on: boolean }
  webhooks: { on: boolean }
  gmailAccounts: readonly ConfiguredAccount[]
  http: {
    threads: number
    trustProxy: readonly string[]
    baseUrl: string
    mcp: boolean
    mtaSts: RouteDeps['mtaSts']
    /** For tests only. */
    intervals?: IdleIntervals
    /** For tests only. */
    resultWaitMs?: number
    /** For tests only: how long a request waits for a mail to be parsed. */
    parseDeadlineMs?: number
  }
  smtp: { hostname: string; relays: readonly string[]; proxyFrom: readonly string[] }
  sessions: LifetimeLimits & MailboxLimits & { cooldownMs: number }
}

/** Of long polls and event streams. */
export interface IdleIntervals {
  /** Polls the store although no notification came. */
  pollMs: number
  heartbeatMs: number
}
