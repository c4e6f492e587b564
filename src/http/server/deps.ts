import type { Log } from '../../core/log.ts'
import type { Plan } from '../../core/plan.ts'
import type { LifetimeLimits, MailboxLimits } from '../../core/session.ts'
import type { ReadinessDeps } from '../../service/background/outage.ts'
import type { ChargeDeps } from '../../service/keys/charge.ts'
import type { RollKeyDeps, UsageDeps } from '../../service/keys/keys.ts'
import type { AwaitMailDeps, ForcePollDeps, ListMailDeps } from '../../service/mail/check-mail.ts'
import type { CodeScannerDeps } from '../../service/mail/code-scanner.ts'
import type { EmailsWaitDeps, PoolAccess } from '../../service/mail/emails.ts'
import type { MailEventsDeps } from '../../service/mail/events.ts'
import type { LargeReads } from '../../service/mail/large-reads.ts'
import type { ParsedMailDeps } from '../../service/mail/parsed-mail.ts'
import type {
  AttachmentDeps,
  DeleteMailDeps,
  RawMailDeps,
  ReadMailDeps,
} from '../../service/mail/read-mail.ts'
import type { SharedPollDeps } from '../../service/mail/shared-poll.ts'
import type { RateDeps } from '../../service/rates.ts'
import type { ConfiguredAccount } from '../../service/sessions/accounts.ts'
import type { CreateSessionDeps } from '../../service/sessions/create-session.ts'
import type { ExtendSessionDeps } from '../../service/sessions/extend-session.ts'
import type { EndSessionDeps } from '../../service/sessions/session.ts'
import type { CheckoutDeps } from '../../service/shop/checkout.ts'
import type { ClaimDeps } from '../../service/shop/order.ts'
import type { PayFakeDeps } from '../../service/shop/pay-fake.ts'
import type { WebhookDeps } from '../../service/shop/settle-order.ts'
import type { BuiltPage } from '../pages/assets.ts'
import type { ResponseCache } from './caching.ts'
import type { ConnectionSlots } from './connection-limit.ts'
import type { LongPollLimit, SendBudget } from './limits.ts'

type ServiceDeps = AttachmentDeps &
  EmailsWaitDeps &
  AwaitMailDeps &
  ChargeDeps &
  CheckoutDeps &
  ClaimDeps &
  CreateSessionDeps &
  DeleteMailDeps &
  EndSessionDeps &
  ExtendSessionDeps &
  RawMailDeps &
  ForcePollDeps &
  WebhookDeps &
  ListMailDeps &
  MailEventsDeps &
  PayFakeDeps &
  RateDeps &
  ReadMailDeps &
  ReadinessDeps &
  RollKeyDeps &
  UsageDeps

/** What the HTTP server needs. */
export interface HttpDeps
  extends Omit<
      ServiceDeps,
      | keyof RouteSettings
      | 'attachments'
      | 'bus'
      | 'codes'
      | 'largeReads'
      | 'parsed'
      | 'store'
      | 'mailboxPolls'
      | 'readerPolls'
    >,
    Pick<ParsedMailDeps, 'parse'> {
  /** Shared with everything else in this thread that reads large mail. */
  largeReads?: LargeReads
  store: ServiceDeps['store'] & ParsedMailDeps['store'] & CodeScannerDeps['store']
  bus: ServiceDeps['bus'] & SharedPollDeps['bus']
  connections: ConnectionSlots
  /** Prometheus text of the whole process. */
  metrics(): Promise<string>
  /** Problems the operator should know about that do not stop the service. */
  warnings(): Promise<string[]>
  builtPage: BuiltPage
  log: Log
  config: HttpConfig
}

/** The part of the configuration that the HTTP server reads. */
export interface HttpConfig {
  adminToken: string
  rateLimits: boolean
  readerOrigins: readonly string[]
  readerPool: PoolAccess
  plans: readonly Plan[]
  mailOut: { url: string }
  senderChecks: { on: boolean }
  gmailAccounts: readonly ConfiguredAccount[]
  http: {
    trustProxy: readonly string[]
    baseUrl: string
    /** For tests only. */
    intervals?: IdleIntervals
    /** For tests only. */
    patienceMs?: number
    /** For tests only: how long a request waits for a mail to be parsed. */
    parseDeadlineMs?: number
  }
  smtp: { hostname: string }
  sessions: LifetimeLimits & MailboxLimits & { cooldownMs: number }
}

/** Of long polls and event streams. */
export interface IdleIntervals {
  /** Polls the store although no notification came. */
  pollMs: number
  /** Heartbeat of a stream. */
  heartbeatMs: number
}

/** Settings used by routes. */
export interface RouteSettings
  extends Pick<CreateSessionDeps, 'lifetimes' | 'cooldownMs' | 'accountRules'> {
  mailbox: MailboxLimits
  intervals: IdleIntervals
  /** How long a response waits for codes and sender checks. */
  resultWaitMs: number
  /** Empty: taken from the request. */
  baseUrl: string
  /** In our Received lines. */
  hostname: string
  /** Empty: metrics and readiness details are public. */
  adminToken: string
  /** Origins allowed to use the keyed API. */
  readerOrigins: readonly string[]
  readerPool: PoolAccess
  plans: readonly Plan[]
  /** Whether receipts are mailed. */
  receipts: boolean
  checksSenders: boolean
}

export interface RouteDeps
  extends Omit<HttpDeps, 'config' | 'largeReads' | 'parse'>,
    RouteSettings,
    Pick<
      ServiceDeps,
      'attachments' | 'codes' | 'largeReads' | 'parsed' | 'mailboxPolls' | 'readerPolls'
    > {
  responseCache: ResponseCache
  sendBudget: SendBudget
  longPolls: LongPollLimit
  /** True while shutting down: no new long polls, no keep-alive. */
  draining(): boolean
}
