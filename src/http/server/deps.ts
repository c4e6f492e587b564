import type { Log } from '../../core/log.ts'
import type { Plan } from '../../core/plan.ts'
import type { Lifetimes, MailboxLimits } from '../../core/session.ts'
import type { ReadinessDeps } from '../../service/background/readiness.ts'
import type { ChargeDeps } from '../../service/keys/charge.ts'
import type { RollDeps } from '../../service/keys/keys.ts'
import type { UsageDeps } from '../../service/keys/usage.ts'
import type { AttachmentDeps } from '../../service/mail/attachments.ts'
import type { AwaitMailDeps, ForceLookDeps, ListMailDeps } from '../../service/mail/check-mail.ts'
import type { CodeLookDeps } from '../../service/mail/code-lookup.ts'
import type { DeleteMailDeps } from '../../service/mail/delete-mail.ts'
import type { AwaitEmailsDeps, ReaderPool } from '../../service/mail/emails.ts'
import type { MailEventsDeps } from '../../service/mail/events.ts'
import type { LargeReads } from '../../service/mail/large-reads.ts'
import type { ParsedMailDeps } from '../../service/mail/parsed-mail.ts'
import type { FindMailDeps, ReadMailDeps } from '../../service/mail/read-mail.ts'
import type { SharedPollDeps } from '../../service/mail/shared-poll.ts'
import type { RateDeps } from '../../service/rates.ts'
import type { FiledAccount } from '../../service/sessions/accounts.ts'
import type { CreateSessionDeps } from '../../service/sessions/create-session.ts'
import type { EndSessionDeps } from '../../service/sessions/end-session.ts'
import type { ExtendSessionDeps } from '../../service/sessions/extend-session.ts'
import type { CheckoutDeps } from '../../service/shop/checkout.ts'
import type { ClaimDeps } from '../../service/shop/claim.ts'
import type { PayFakeDeps } from '../../service/shop/pay-fake.ts'
import type { HearPaymentDeps } from '../../service/shop/payment-notice.ts'
import type { BuiltPage } from '../pages/built-page.ts'
import type { ConnectionSlots } from './connection-limit.ts'
import type { LongPollLimit } from './long-poll-limit.ts'
import type { ResponseCache } from './response-cache.ts'
import type { SendBudget } from './send-budget.ts'

type ServiceDeps = AttachmentDeps &
  AwaitEmailsDeps &
  AwaitMailDeps &
  ChargeDeps &
  CheckoutDeps &
  ClaimDeps &
  CreateSessionDeps &
  DeleteMailDeps &
  EndSessionDeps &
  ExtendSessionDeps &
  FindMailDeps &
  ForceLookDeps &
  HearPaymentDeps &
  ListMailDeps &
  MailEventsDeps &
  PayFakeDeps &
  RateDeps &
  ReadMailDeps &
  ReadinessDeps &
  RollDeps &
  UsageDeps

/** The parts of the house that this door stands on. */
export interface HttpDeps
  extends Omit<
      ServiceDeps,
      | keyof Rules
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
  store: ServiceDeps['store'] & ParsedMailDeps['store'] & CodeLookDeps['store']
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
  readerPool: ReaderPool
  plans: readonly Plan[]
  mailOut: { url: string }
  senderChecks: { on: boolean }
  gmailAccounts: readonly FiledAccount[]
  http: {
    trustProxy: readonly string[]
    baseUrl: string
    /** No setting: it is here for tests that must see who was woken and who merely looked. */
    quiet?: Quiet
    /** No setting either: tests have all the time there is, or none. */
    patienceMs?: number
    /** No setting: how long a reader waits for a mail to be parsed. */
    parseDeadlineMs?: number
  }
  smtp: { hostname: string }
  sessions: Lifetimes & MailboxLimits & { cooldownMs: number }
}

/** What happens while nothing happens. */
export interface Quiet {
  /** So often somebody who waits looks without being woken. */
  lookMs: number
  /** So often a stream shows that it lives. */
  beatMs: number
}

/** Settings that routes read. */
export interface Rules extends Pick<CreateSessionDeps, 'lives' | 'cooldownMs' | 'accountRules'> {
  mailbox: MailboxLimits
  quiet: Quiet
  /** So long an answer waits for what is read out of a mail besides its text. */
  patienceMs: number
  /** Empty: as the reader reached us. */
  baseUrl: string
  /** Our name in Received lines. */
  hostname: string
  /** Empty: metrics and the details of readiness are open. */
  adminToken: string
  /** Pages elsewhere that may read the paid interface. */
  readerOrigins: readonly string[]
  readerPool: ReaderPool
  plans: readonly Plan[]
  /** Whether buyers get a receipt by mail. */
  receipts: boolean
  checksSenders: boolean
}

export interface RouteDeps
  extends Omit<HttpDeps, 'config' | 'largeReads' | 'parse'>,
    Rules,
    Pick<
      ServiceDeps,
      'attachments' | 'codes' | 'largeReads' | 'parsed' | 'mailboxPolls' | 'readerPolls'
    > {
  answers: ResponseCache
  outgoing: SendBudget
  waiting: LongPollLimit
  /** We stop soon: nothing that lasts is begun, and no connection is kept. */
  draining(): boolean
}
