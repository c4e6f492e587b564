import { openAdminDeps } from '../admin/api/require-operator.ts'
import type { Log } from '../base/log/log.ts'
import { installationEntries } from '../blocks/blocks.ts'
import { openOwnDomainDns } from '../domains/own/dns.ts'
import { openDomainUsage } from '../domains/own/own-domains.ts'
import { openPasswords } from '../doors/mailtm/passwords.ts'
import { openAccountDeps } from '../gmail/aliases.ts'
import type { BuiltPage } from '../http/pages/assets.ts'
import { openResponseCache } from '../http/server/caching.ts'
import type { ConnectionSlots } from '../http/server/connection-limit.ts'
import { requireAdminToken } from '../http/server/credentials.ts'
import { openLongPollLimit, openSendBudget } from '../http/server/limits.ts'
import type { HttpRequest } from '../http/server/request.ts'
import { findSessionKey } from '../keys/api/session-key.ts'
import type { KeyView } from '../keys/emails/emails.ts'
import type { MailDeps, SubscribableBus } from '../mail/deps.ts'
import type { MailboxView } from '../mail/list/mailbox-view.ts'
import { openSharedPolls } from '../mail/list/shared-poll.ts'
import { openCodeScanner } from '../mail/read/code-scanner.ts'
import type { ParseOnce } from '../mail/read/parse-once.ts'
import { openMailJson, openParsedMail } from '../mail/read/parsed-mail.ts'
import { openStepScheduler } from '../mail/read/step-scheduler.ts'
import type { SendLocalMail } from '../mail/send-test.ts'
import { NO_ALIASES } from '../mail/sessions/alias-accounts.ts'
import { openPaymentProvider } from '../shop/pay/open.ts'
import type { ShopStore, Store } from '../store/store.ts'
import { openWebhookClient } from '../webhooks/client.ts'
import type { Config } from './config.ts'
import type { Call } from './ports.ts'

/** What an HTTP thread is given. */
export interface HttpParts
  extends Pick<MailDeps, 'limit' | 'senderChecks' | 'largeReads' | 'now' | 'randomBytes'> {
  config: Config
  store: Store
  shop: ShopStore
  bus: SubscribableBus
  parse: ParseOnce
  sendLocalMail: SendLocalMail
  connections: ConnectionSlots
  builtPage: BuiltPage
  /** Addresses of this machine. */
  ownAddresses: readonly string[]
  mailLogKey: Uint8Array
  log: Log
  callMain: Call
}

export type RouteDeps = Awaited<ReturnType<typeof openRouteDeps>>

/** What all routes work with: queues, caches and budgets of this thread, settings, and what each folder adds. */
export async function openRouteDeps(
  parts: HttpParts,
  { draining, closing }: { draining(): boolean; closing: AbortSignal },
) {
  const { config, bus, now, callMain } = parts
  const { http, memory } = config
  const parsed = openParsedMail(parts)
  const own = {
    ...parts,
    ...routeSettings(config),
    parsed,
    mailJson: openMailJson(parts),
    codes: openCodeScanner({ ...parts, parsed }, http),
    steps: openStepScheduler(),
    mailboxPolls: openSharedPolls<MailboxView>(bus),
    keyPolls: openSharedPolls<KeyView>(bus),
    responseCache: openResponseCache(memory.responseCacheBytes / http.threads),
    longPolls: openLongPollLimit(),
    sendBudget: openSendBudget(memory.sendBytes / http.threads),
    draining,
    closing,
    metrics: async () => String(await callMain('metrics')),
    acmeChallenge: async (token: string) =>
      config.acme.on ? ((await callMain('acmeChallenge', token)) as string | undefined) : undefined,
    warnings: async () => (await callMain('warnings')) as string[],
  }
  const deps = {
    ...own,
    findSessionKey: (request: HttpRequest) => findSessionKey(own, request),
    // These two are replaced by a folder below, if it is there.
    requireOperator: (request: HttpRequest) => requireAdminToken(own, request),
    aliasAccounts: NO_ALIASES,
  }
  return {
    ...deps,
    ...openAccountDeps(deps),
    ...openAdminDeps(deps),
    own: installationEntries(config, parts.ownAddresses),
    pay: await openPaymentProvider({ ...config.payments, now }),
    domainUsage: openDomainUsage(own),
    ownDomainDns: openOwnDomainDns(config),
    passwords: openPasswords(own),
    webhookClient: openWebhookClient({ ...config.webhooks, dnsServers: config.senderChecks.dns }),
  }
}

function routeSettings(config: Config) {
  const { http, sessions } = config
  return {
    adminToken: config.adminToken,
    rateLimits: config.rateLimits,
    keyedOrigins: config.keyedOrigins,
    poolAccess: config.poolAccess,
    plans: config.plans,
    ownDomains: config.ownDomains.on,
    ownMailSeconds: config.ownDomains.mailTtlMs / 1000,
    shopOpen: config.shopOpen,
    testKeys: config.testKeys,
    receipts: config.mailOut.url !== '',
    checksSenders: config.senderChecks.on,
    hostname: config.smtp.hostname,
    baseUrl: http.baseUrl,
    mtaSts: http.mtaSts,
    intervals: http.intervals,
    resultWaitMs: http.resultWaitMs,
    lifetimes: sessions,
    cooldownMs: sessions.cooldownMs,
    ownHosts: config.ownHosts,
    mailbox: sessions,
  }
}
