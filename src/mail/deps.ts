import type { Log } from '../base/log/log.ts'
import type { Bus } from '../bus/bus.ts'
import type { AccountRules } from '../gmail/rules.ts'
import type { KeyView, PoolAccess } from '../keys/emails/emails.ts'
import type { Limit } from '../limit/limit.ts'
import type { Plan } from '../shared/plan.ts'
import type { PaymentProvider } from '../shop/pay/provider.ts'
import type { ShopStore } from '../store/shop-store.ts'
import type { MailboxView } from './list/mailbox-view.ts'
import type { SharedPolls } from './list/shared-poll.ts'
import type { CodeScanner } from './read/code-scanner.ts'
import type { LargeReads } from './read/large-reads.ts'
import type { ReadMailJson, ReadParsed } from './read/parsed-mail.ts'
import type { StepScheduler } from './read/step-scheduler.ts'
import type { LifetimeLimits } from './rules/session.ts'
import type { CheckSender } from './sender-checks.ts'
import type { MailStore } from './store.ts'

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
