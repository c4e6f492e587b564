import type { AdminDeps } from '../admin/deps.ts'
import type { Log } from '../base/log/log.ts'
import type { BlockRouteDeps } from '../blocks/admin.ts'
import type { CheckRouteDeps } from '../doctor/admin.ts'
import type { CheckProgress } from '../doctor/checks/daily-checks.ts'
import type { ConfiguredAccount } from '../gmail/accounts.ts'
import type { AccountRouteDeps } from '../gmail/admin.ts'
import type { KeyRouteDeps } from '../keys/deps.ts'
import type { PoolAccess } from '../keys/emails/emails.ts'
import type { IdleIntervals, MailDeps, MailRouteDeps, SubscribableBus } from '../mail/deps.ts'
import type { LargeReads } from '../mail/read/large-reads.ts'
import type { ParseOnce } from '../mail/read/parse-once.ts'
import type { LifetimeLimits, MailboxLimits } from '../mail/rules/session.ts'
import type { SendLocalMail } from '../mail/send-test.ts'
import type { McpDeps } from '../mcp/api.ts'
import type { Plan } from '../shared/plan.ts'
import type { ShopRouteDeps } from '../shop/deps.ts'
import type { PaymentProvider } from '../shop/pay/provider.ts'
import type { ShopStore, Store } from '../store/store.ts'
import type { WebhookClient } from '../webhooks/client.ts'
import type { WebhookRouteDeps } from '../webhooks/webhooks.ts'
import type { HealthDeps } from './health.ts'
import type { BuiltPage } from './pages/assets.ts'
import type { ConnectionSlots } from './server/connection-limit.ts'

/** What the HTTP server is given. */
export interface HttpDeps extends Pick<MailDeps, 'limit' | 'senderChecks' | 'now' | 'randomBytes'> {
  store: Store
  shop: ShopStore
  pay: PaymentProvider
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

/** What all routes work with: a line for each folder that has some. */
export interface RouteDeps
  extends MailRouteDeps,
    Omit<KeyRouteDeps, 'pay' | 'shop'>,
    Omit<ShopRouteDeps, 'pay' | 'shop'>,
    Omit<WebhookRouteDeps, 'pay' | 'shop'>,
    Omit<AccountRouteDeps, 'store'>,
    Omit<BlockRouteDeps, 'store'>,
    Omit<AdminDeps, 'store' | 'shop'>,
    Omit<CheckRouteDeps, 'store'>,
    Omit<McpDeps, 'pay' | 'shop'>,
    Omit<HealthDeps, 'store'> {
  store: Store
  shop: ShopStore
  pay: PaymentProvider
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
