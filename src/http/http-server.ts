import { once } from 'node:events'
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { requireOperator } from '../admin/api/require-operator.ts'
import type { FeatureFigures } from '../admin/deps.ts'
import { ipRangeMatcher, isLoopback } from '../base/ip.ts'
import { outageReporter } from '../base/jobs/outage.ts'
import { Problem } from '../base/problem.ts'
import { installationEntries } from '../blocks/blocks.ts'
import { checkFigures } from '../doctor/admin.ts'
import { accountRules, accountStatuses } from '../gmail/accounts.ts'
import { openAliasAccounts } from '../gmail/aliases.ts'
import { findSessionKey } from '../keys/api/session-key.ts'
import type { IdleIntervals } from '../mail/deps.ts'
import { openSharedPolls } from '../mail/list/shared-poll.ts'
import { openCodeScanner } from '../mail/read/code-scanner.ts'
import { openLargeReads } from '../mail/read/large-reads.ts'
import { openMailJson, openParsedMail } from '../mail/read/parsed-mail.ts'
import { openStepScheduler } from '../mail/read/step-scheduler.ts'
import type { HttpDeps, RouteDeps } from './deps.ts'
import { browserProblemPage } from './pages/plain/page.ts'
import { adminRoutes, routes } from './routes.ts'
import { openResponseCache } from './server/caching.ts'
import {
  clientFinder,
  httpsTest,
  sourceAddressFinder,
  trustedProxyTest,
  untrustedProxyWarning,
} from './server/client.ts'
import { limitConnections } from './server/connection-limit.ts'
import { waitSignals } from './server/disconnect.ts'
import { openLongPollLimit, openSendBudget } from './server/limits.ts'
import { handleClientError } from './server/problem-response.ts'
import { type HttpServerContext, requestHandler } from './server/request-handler.ts'

// An import would also load undici, which node:http re-exports: 40 ms of each start.
const { createServer } = process.getBuiltinModule('node:http')

interface HttpOptions {
  host: string
  port: number
  reusePort: boolean
  /** A request must arrive completely within this time. */
  requestTimeoutMs?: number
}

const MAX_HEADER_BYTES = 16 * 1024
// Longer than the longest long poll.
const IDLE_TIMEOUT_MS = 75_000
const KEEP_ALIVE_MS = 72_000
const CLOSE_TIMEOUT_MS = 5_000
const IDLE_CHECK_MS = 50
// Of all threads together.
const RESPONSE_CACHE_BYTES = 64 * 1024 * 1024
const SEND_BUDGET_BYTES = 256 * 1024 * 1024
const IDLE_INTERVALS: IdleIntervals = { pollMs: 3_000, heartbeatMs: 15_000 }
// Barely noticeable, and longer than parsing an ordinary mail takes.
const RESULT_WAIT_MS = 300

interface HttpServer {
  port: number
  /** Not ready from now on: long polls end with 503, other requests are served, and each response closes its connection. */
  drain(): void
  /** Drains, completes requests in progress, then closes every connection. */
  close(): Promise<void>
}

export async function openHttpServer(
  deps: HttpDeps,
  { host, port, reusePort, requestTimeoutMs = 15_000 }: HttpOptions,
): Promise<HttpServer> {
  const { config } = deps
  let draining = false
  const { trustProxy } = config.http
  const { waitSignalOf, stop } = waitSignals()
  const { routeDeps, closeLookups } = openRouteDeps(deps, () => draining)
  const context: HttpServerContext = {
    deps: routeDeps,
    clientOf: clientFinder(
      trustProxy,
      config.rateLimits,
      untrustedProxyWarning(deps.log, (address) =>
        Boolean(deps.connections.acquireFor(`proxy warning ${address}`, 1)),
      ),
    ),
    sourceAddressOf: sourceAddressFinder(trustProxy),
    isTrustedProxy: trustedProxyTest(trustProxy),
    isSecure: httpsTest(config.http),
    waitSignalOf,
    reportOutage: outageReporter(deps.log),
    requestId: () => Buffer.from(deps.randomBytes(12)).toString('base64url'),
    // Without a token there is no admin page: its paths do not exist.
    routes: config.adminToken === '' ? routes : [...routes, ...adminRoutes],
    problemPage: browserProblemPage,
  }
  const server = createHttpServer(context, requestTimeoutMs)
  const isProxy = ipRangeMatcher(trustProxy)
  limitConnections(server, {
    slots: deps.connections,
    isExempt: (ip) => isLoopback(ip) || isProxy(ip),
    requestId: context.requestId,
  })
  server.listen({ host, port, reusePort })
  await once(server, 'listening')
  const address = server.address()

  function drain(): void {
    draining = true
    stop(new Problem('shutting_down', 'The service is shutting down. Try again in a moment.', 1))
  }

  return {
    port: typeof address === 'object' && address ? address.port : port,
    drain,
    async close() {
      drain()
      closeLookups()
      const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS)
      const late = setTimeout(() => server.closeAllConnections(), CLOSE_TIMEOUT_MS)
      const closed = once(server, 'close')
      server.close()
      await closed
      clearInterval(idle)
      clearTimeout(late)
    },
  }
}

/** Queues, caches and budgets of this thread, shared by all routes. */
function openRouteDeps(
  deps: HttpDeps,
  draining: () => boolean,
): { routeDeps: RouteDeps; closeLookups(): void } {
  const { config } = deps
  const rules = routeSettings(deps)
  const { parseDeadlineMs: deadlineMs } = config.http
  const deadline = deadlineMs === undefined ? {} : { deadlineMs }
  const { largeReads = openLargeReads(deadline) } = deps
  const readers = { ...deps, largeReads, ...deadline }
  const parsed = openParsedMail(readers)
  const codes = openCodeScanner({ ...deps, parsed }, rules)
  const routeDeps: RouteDeps = {
    ...deps,
    ...rules,
    shopOpen: deps.pay.provider !== 'manual' && rules.plans.length > 0,
    aliasAccounts: openAliasAccounts({ ...deps, ...rules }),
    accountStatuses: () => accountStatuses({ ...deps, ...rules }),
    featureFigures: () => featureFigures(routeDeps),
    findSessionKey: (request) => findSessionKey(routeDeps, request),
    requireOperator: (request) => requireOperator(routeDeps, request),
    parsed,
    mailJson: openMailJson(readers),
    codes,
    largeReads,
    steps: openStepScheduler(),
    mailboxPolls: openSharedPolls(deps.bus),
    keyPolls: openSharedPolls(deps.bus),
    responseCache: openResponseCache(RESPONSE_CACHE_BYTES / config.http.threads),
    longPolls: openLongPollLimit(),
    sendBudget: openSendBudget(SEND_BUDGET_BYTES / config.http.threads),
    draining,
  }
  return { routeDeps, closeLookups: codes.close }
}

/** A line for each folder that adds to the operator's overview. */
async function featureFigures(deps: RouteDeps): Promise<FeatureFigures> {
  const accounts = await deps.accountStatuses()
  return {
    gmail_accounts: {
      all: accounts.length,
      failing: accounts.filter(({ health }) => health === 'failing').length,
    },
    webhooks: await deps.shop.countWebhooks(),
    checks: await checkFigures(deps),
  }
}

function routeSettings({ config, ownAddresses }: Pick<HttpDeps, 'config' | 'ownAddresses'>) {
  const { adminToken, http, plans, keyedOrigins, poolAccess, sessions, smtp } = config
  return {
    adminToken,
    rateLimits: config.rateLimits,
    dailyChecks: config.dailyChecks,
    keyedOrigins,
    poolAccess,
    plans,
    receipts: config.mailOut.url !== '',
    checksSenders: config.senderChecks.on,
    webhooks: config.webhooks.on,
    accountRules: accountRules(config.gmailAccounts),
    gmailAccounts: config.gmailAccounts.map(({ email, dots, masked, active }) => ({
      email,
      dots,
      masked,
      active,
    })),
    baseUrl: http.baseUrl,
    mcp: http.mcp,
    mtaSts: http.mtaSts,
    hostname: smtp.hostname,
    own: installationEntries(config, ownAddresses),
    lifetimes: sessions,
    cooldownMs: sessions.cooldownMs,
    mailbox: sessions,
    intervals: http.intervals ?? IDLE_INTERVALS,
    resultWaitMs: http.resultWaitMs ?? RESULT_WAIT_MS,
  }
}

function createHttpServer(context: HttpServerContext, requestTimeoutMs: number): Server {
  const handle = requestHandler(context)
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      requestTimeout: requestTimeoutMs,
      headersTimeout: requestTimeoutMs,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: requestTimeoutMs / 15,
      // Checked in request-handler.ts, for an error in our format.
      requireHostHeader: false,
    },
    handle,
  )
  server.setTimeout(IDLE_TIMEOUT_MS)
  // An unknown Expect header is ignored.
  server.on('checkExpectation', handle)
  server.on('clientError', (fault, socket) =>
    handleClientError(fault, socket as Socket, context.requestId()),
  )
  return server
}
