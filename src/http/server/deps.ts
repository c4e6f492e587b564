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

/** The parts of the house that this door stands on. */
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
  /** What else reads large mails in this thread shares it. */
  largeReads?: LargeReads
  store: ServiceDeps['store'] & ParsedMailDeps['store'] & CodeScannerDeps['store']
  bus: ServiceDeps['bus'] & SharedPollDeps['bus']
  connections: ConnectionSlots
  /** Prometheus text of the whole process. */
  metrics(): Promise<string>
  /** What the operator should know and what does not stop the service. */
  warnings(): Promise<string[]>
  builtPage: BuiltPage
  log: Log
  config: HttpConfig
}

/** What this door reads of the configuration. */
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
    /** No setting: it is here for tests that must see who was woken and who merely looked. */
    quiet?: IdleIntervals
    /** No setting either: tests have all the time there is, or none. */
    patienceMs?: number
    /** No setting: how long a reader waits for a mail to be parsed. */
    parseDeadlineMs?: number
  }
  smtp: { hostname: string }
  sessions: LifetimeLimits & MailboxLimits & { cooldownMs: number }
}

/** What happens while nothing happens. */
export interface IdleIntervals {
  /** So often somebody who waits looks without being woken. */
  lookMs: number
  /** So often a stream shows that it lives. */
  beatMs: number
}

/** Settings that routes read. */
export interface RouteSettings
  extends Pick<CreateSessionDeps, 'lifetimes' | 'cooldownMs' | 'accountRules'> {
  mailbox: MailboxLimits
  quiet: IdleIntervals
  /** So long an answer waits for what is read out of a mail besides its text. */
  resultWaitMs: number
  /** Empty: as the reader reached us. */
  baseUrl: string
  /** Our name in Received lines. */
  hostname: string
  /** Empty: metrics and the details of readiness are open. */
  adminToken: string
  /** Pages elsewhere that may read the paid interface. */
  readerOrigins: readonly string[]
  readerPool: PoolAccess
  plans: readonly Plan[]
  /** Whether buyers get a receipt by mail. */
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
  /** We stop soon: nothing that lasts is begun, and no connection is kept. */
  draining(): boolean
}
