import type { Log } from '../../core/log.ts'
import type { Plan } from '../../core/plan.ts'
import type { Lifetimes, MailboxLimits } from '../../core/session.ts'
import type { FiledAccount } from '../../service/sessions/accounts.ts'
import type { AttachmentDeps } from '../../service/mail/attachments.ts'
import type { AwaitEmailsNeeds, ReaderPool } from '../../service/mail/emails.ts'
import type { ChargeNeeds } from '../../service/keys/charge.ts'
import type { CheckoutNeeds } from '../../service/shop/checkout.ts'
import type { ClaimNeeds } from '../../service/shop/claim.ts'
import type { CreateSessionNeeds } from '../../service/sessions/create-session.ts'
import type { DeleteMailNeeds } from '../../service/mail/delete-mail.ts'
import type { EndSessionNeeds } from '../../service/sessions/end-session.ts'
import type { ExtendSessionNeeds } from '../../service/sessions/extend-session.ts'
import type { ForceLookNeeds, AwaitMailNeeds, ListMailNeeds } from '../../service/mail/check-mail.ts'
import type { RollNeeds } from '../../service/keys/keys.ts'
import type { LargeReads } from '../../service/mail/large-reads.ts'
import type { CodeLookNeeds } from '../../service/mail/code-lookup.ts'
import type { MailEventsNeeds } from '../../service/mail/events.ts'
import type { ParsedMailDeps } from '../../service/mail/parsed-mail.ts'
import type { PayFakeNeeds } from '../../service/shop/pay-fake.ts'
import type { HearPaymentNeeds } from '../../service/shop/payment-notice.ts'
import type { RateNeeds } from '../../service/rates.ts'
import type { FindMailNeeds, ReadMailNeeds } from '../../service/mail/read-mail.ts'
import type { ReadinessNeeds } from '../../service/background/readiness.ts'
import type { SharedPollNeeds } from '../../service/mail/shared-poll.ts'
import type { UsageNeeds } from '../../service/keys/usage.ts'
import type { Answers } from './response-cache.ts'
import type { BuiltPage } from '../pages/built-page.ts'
import type { ConnectionSlots } from './connection-limit.ts'
import type { Outgoing } from './send-budget.ts'
import type { Waiting } from './long-poll-limit.ts'

type ServiceNeeds = AttachmentDeps &
  AwaitEmailsNeeds &
  AwaitMailNeeds &
  ChargeNeeds &
  CheckoutNeeds &
  ClaimNeeds &
  CreateSessionNeeds &
  DeleteMailNeeds &
  EndSessionNeeds &
  ExtendSessionNeeds &
  FindMailNeeds &
  ForceLookNeeds &
  HearPaymentNeeds &
  ListMailNeeds &
  MailEventsNeeds &
  PayFakeNeeds &
  RateNeeds &
  ReadMailNeeds &
  ReadinessNeeds &
  RollNeeds &
  UsageNeeds

/** The parts of the house that this door stands on. */
export interface HttpNeeds
  extends Omit<
      ServiceNeeds,
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
  store: ServiceNeeds['store'] & ParsedMailDeps['store'] & CodeLookNeeds['store']
  bus: ServiceNeeds['bus'] & SharedPollNeeds['bus']
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
export interface Rules extends Pick<CreateSessionNeeds, 'lives' | 'cooldownMs' | 'accountRules'> {
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

export interface RouteNeeds
  extends Omit<HttpNeeds, 'config' | 'largeReads' | 'parse'>,
    Rules,
    Pick<
      ServiceNeeds,
      'attachments' | 'codes' | 'largeReads' | 'parsed' | 'mailboxPolls' | 'readerPolls'
    > {
  answers: Answers
  outgoing: Outgoing
  waiting: Waiting
  /** We stop soon: nothing that lasts is begun, and no connection is kept. */
  draining(): boolean
}
