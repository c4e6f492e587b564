import type { Log } from '../base/log/log.ts'
import type { Bus } from '../bus/bus.ts'
import type { ServerDeps } from '../http/server/deps.ts'
import type { HttpRequest } from '../http/server/request.ts'
import type { ApiKey } from '../keys/rules.ts'
import type { Limit } from '../limit/limit.ts'
import type { MailboxView } from './list/mailbox-view.ts'
import type { SharedPolls } from './list/shared-poll.ts'
import type { CodeScanner } from './read/code-scanner.ts'
import type { LargeReads } from './read/large-reads.ts'
import type { ReadMailJson, ReadParsed } from './read/parsed-mail.ts'
import type { StepScheduler } from './read/step-scheduler.ts'
import type { LifetimeLimits, MailboxLimits } from './rules/session.ts'
import type { SendLocalMail } from './send-test.ts'
import type { CheckSender } from './sender-checks.ts'
import type { AliasAccounts } from './sessions/alias-accounts.ts'
import type { MailStore } from './store.ts'

/** For those who also wait for changes. */
export type SubscribableBus = Pick<Bus, 'wake' | 'subscribe'>

/** What the use cases work with. Each declares the parts that it uses: `Pick<MailDeps, 'store' | 'now'>`. */
export interface MailDeps {
  store: MailStore
  bus: Pick<Bus, 'wake'>
  limit: Pick<Limit, 'take' | 'peek' | 'spend'>
  log: Pick<Log, 'warn' | 'error'>
  now(): Date
  randomBytes(count: number): Uint8Array
  aliasAccounts: AliasAccounts

  // One of each per thread.
  parsed: ReadParsed
  mailJson: ReadMailJson
  largeReads: LargeReads
  steps: StepScheduler
  senderChecks: CheckSender
  codes: Pick<CodeScanner, 'scan'>
  mailboxPolls: SharedPolls<MailboxView>

  // Settings.
  lifetimes: LifetimeLimits
  cooldownMs: number
  /** The names of this service, which are not available below a wildcard domain. */
  ownHosts: readonly string[]
  /** How long a response waits for codes and sender checks. */
  resultWaitMs: number
}

/** What the endpoints of mail work with. */
export interface MailRouteDeps extends ServerDeps, Omit<MailDeps, keyof ServerDeps> {
  mailbox: MailboxLimits
  intervals: IdleIntervals
  /** In our Received lines. */
  hostname: string
  checksSenders: boolean
  sendLocalMail: SendLocalMail
  /** The key of a request that creates a session; undefined if it has none. Throws Problem if the key is not accepted. */
  findSessionKey(request: HttpRequest): Promise<ApiKey | undefined>
}

/** Intervals of long polls and event streams. */
export interface IdleIntervals {
  /** Polls the store although no notification came. */
  pollMs: number
  heartbeatMs: number
}
