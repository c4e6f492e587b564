import type { Log } from '../base/log/log.ts'
import type { Bus } from '../bus/bus.ts'
import type { AccountRules } from '../core/gmail.ts'
import type { Plan } from '../core/plan.ts'
import type { LifetimeLimits } from '../core/session.ts'
import type { Limit } from '../limit/limit.ts'
import type { PaymentProvider } from '../pay/provider.ts'
import type { ShopStore } from '../store/shop-store.ts'
import type { MailStore } from '../store/store.ts'
import type { CodeScanner } from './mail/code-scanner.ts'
import type { KeyView, PoolAccess } from './mail/emails.ts'
import type { LargeReads } from './mail/large-reads.ts'
import type { MailboxView } from './mail/mailbox-view.ts'
import type { ReadMailJson, ReadParsed } from './mail/parsed-mail.ts'
import type { CheckSender } from './mail/sender-checks.ts'
import type { SharedPolls } from './mail/shared-poll.ts'
import type { StepScheduler } from './mail/step-scheduler.ts'

/** For those who also wait for changes. */
export type SubscribableBus = Pick<Bus, 'wake' | 'subscribe'>

/** What the operations of the service work with. Each declares the parts that it uses: `Pick<ServiceDeps, 'store' | 'now'>`. */
export interface ServiceDeps {
  store: MailStore
  shop: ShopStore
  bus: Pick<Bus, 'wake'>
  limit: Pick<Limit, 'take' | 'peek' | 'spend'>
  pay: PaymentProvider
  log: Pick<Log, 'warn' | 'error'>
  now(): Date
  randomBytes(count: number): Uint8Array

  // One of each per thread.
  parsed: ReadParsed
  mailJson: ReadMailJson
  largeReads: LargeReads
  steps: StepScheduler
  senderChecks: CheckSender
  codes: Pick<CodeScanner, 'scan'>
  mailboxPolls: SharedPolls<MailboxView>
  keyPolls: SharedPolls<KeyView>

  // Settings.
  lifetimes: LifetimeLimits
  cooldownMs: number
  /** Of the accounts that are active in the operator's file. */
  accountRules: readonly AccountRules[]
  poolAccess: PoolAccess
  plans: readonly Plan[]
  /** How long a response waits for codes and sender checks. */
  resultWaitMs: number
}
