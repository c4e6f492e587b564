import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { ipRangeMatcher, isLoopback } from '../../core/ip.ts'
import { Problem } from '../../core/problem.ts'
import { outageReporter } from '../../service/background/outage.ts'
import { openCodeScanner } from '../../service/mail/code-scanner.ts'
import { openLargeReads } from '../../service/mail/large-reads.ts'
import { openParsedReader } from '../../service/mail/parsed-mail.ts'
import { openAttachmentReader } from '../../service/mail/read-mail.ts'
import { openSharedPolls } from '../../service/mail/shared-poll.ts'
import { accountRules } from '../../service/sessions/accounts.ts'
import { routes } from '../routes.ts'
import { openResponseCache } from './caching.ts'
import {
  clientFinder,
  httpsTest,
  sourceAddressFinder,
  trustedProxyTest,
  untrustedProxyWarning,
} from './client.ts'
import { limitConnections } from './connection-limit.ts'
import type { HttpConfig, HttpDeps, IdleIntervals, RouteDeps, RouteSettings } from './deps.ts'
import { waitSignals } from './disconnect.ts'
import { fallbackHandler } from './fallback.ts'
import { openLongPollLimit, openSendBudget } from './limits.ts'
import { handleClientError } from './problem-response.ts'
import { routeHandler, type ServerContext, sendProblem } from './serve.ts'

interface HttpOptions {
  host: string
  port: number
  reusePort: boolean
  /** Within so long a request must have arrived whole. */
  requestMs?: number
}

const MAX_BODY_BYTES = 256 * 1024
const MAX_HEADER_BYTES = 16 * 1024
// Longer than the longest wait: a client that takes nothing for so long is gone.
const IDLE_TIMEOUT_MS = 75_000
const CLOSE_TIMEOUT_MS = 5_000
const IDLE_CHECK_MS = 50
const RESPONSE_CACHE_BYTES = 64 * 1024 * 1024
const IDLE_INTERVALS: IdleIntervals = { lookMs: 3_000, beatMs: 15_000 }
// Hardly felt, and longer than a usual mail takes to read.
const PATIENCE_MS = 300
const NO_QUERY = {}
const SEND_BUDGET_BYTES = 256 * 1024 * 1024

interface HttpServer {
  port: number
  /** From now on we are not ready: who waits is sent home, all else is answered, and each answer ends its connection. */
  drain(): void
  /** Drains, answers what is under way, and then lets go of every connection. */
  close(): Promise<void>
}

export async function openHttpServer(
  deps: HttpDeps,
  { host, port, reusePort, requestMs = 15_000 }: HttpOptions,
): Promise<HttpServer> {
  const { config } = deps
  let draining = false
  const { trustProxy } = config.http
  const { waitSignalOf, stop } = waitSignals()
  const { routeDeps, closeLookups } = openRouteDeps(deps, () => draining)
  const serving: ServerContext = {
    deps: routeDeps,
    clientOf: clientFinder(
      trustProxy,
      config.rateLimits,
      untrustedProxyWarning(deps.log, (address) =>
        Boolean(deps.connections.hold(`proxy warning ${address}`, 1)),
      ),
    ),
    addressOf: sourceAddressFinder(trustProxy),
    isOwnRequest: trustedProxyTest(trustProxy),
    secureOf: httpsTest(config.http),
    waitSignalOf,
    reportOutage: outageReporter(deps.log),
    requestId: () => Buffer.from(deps.randomBytes(12)).toString('base64url'),
    routes,
  }
  const app = buildApp(serving, requestMs)
  const isProxy = ipRangeMatcher(trustProxy)
  limitConnections(app.server, {
    slots: deps.connections,
    isExempt: (ip) => isLoopback(ip) || isProxy(ip),
    requestId: serving.requestId,
  })
  // Fastify hands every option on to node, also this one that its types do not know.
  const listening = { host, port, reusePort }
  await app.listen(listening)
  const address = app.server.address()

  function drain(): void {
    draining = true
    stop(new Problem('shutting_down', 'The service is stopping. Try again in a moment.', 1))
  }

  return {
    port: typeof address === 'object' && address ? address.port : port,
    drain,
    async close() {
      drain()
      closeLookups()
      const idle = setInterval(() => app.server.closeIdleConnections(), IDLE_CHECK_MS)
      const late = setTimeout(() => app.server.closeAllConnections(), CLOSE_TIMEOUT_MS)
      await app.close()
      clearInterval(idle)
      clearTimeout(late)
    },
  }
}

/** What the routes share: queues, caches and budgets of this thread. */
function openRouteDeps(
  deps: HttpDeps,
  draining: () => boolean,
): { routeDeps: RouteDeps; closeLookups(): void } {
  const { config } = deps
  const rules = routeSettings(config)
  const { parseDeadlineMs: deadlineMs } = config.http
  const deadline = deadlineMs === undefined ? {} : { deadlineMs }
  const { largeReads = openLargeReads(deadline) } = deps
  const parsed = openParsedReader({ ...deps, largeReads, ...deadline })
  const codes = openCodeScanner({ ...deps, parsed }, rules)
  const routeDeps: RouteDeps = {
    ...deps,
    ...rules,
    parsed,
    codes,
    largeReads,
    attachments: openAttachmentReader({ ...deps, largeReads }),
    mailboxPolls: openSharedPolls(deps.bus),
    readerPolls: openSharedPolls(deps.bus),
    responseCache: openResponseCache(RESPONSE_CACHE_BYTES),
    longPolls: openLongPollLimit(),
    sendBudget: openSendBudget(SEND_BUDGET_BYTES),
    draining,
  }
  return { routeDeps, closeLookups: codes.close }
}

function routeSettings(config: HttpConfig): RouteSettings {
  const { adminToken, http, plans, readerOrigins, readerPool, sessions, smtp } = config
  return {
    adminToken,
    readerOrigins,
    readerPool,
    plans,
    receipts: config.mailOut.url !== '',
    checksSenders: config.senderChecks.on,
    accountRules: accountRules(config.gmailAccounts),
    baseUrl: http.baseUrl,
    hostname: smtp.hostname,
    lifetimes: sessions,
    cooldownMs: sessions.cooldownMs,
    mailbox: sessions,
    quiet: http.quiet ?? IDLE_INTERVALS,
    resultWaitMs: http.patienceMs ?? PATIENCE_MS,
  }
}

function buildApp(serving: ServerContext, requestMs: number): FastifyInstance {
  const rest = fallbackHandler(serving)
  const app = fastify({
    bodyLimit: MAX_BODY_BYTES,
    requestTimeout: requestMs,
    connectionTimeout: IDLE_TIMEOUT_MS,
    // Ours is an answer in our shape, see drain().
    return503OnClosing: false,
    exposeHeadRoutes: false,
    http: {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: requestMs,
      connectionsCheckingInterval: requestMs / 15,
      requireHostHeader: false,
    },
    // The query is read in serve.ts, by the rules of a form.
    routerOptions: { querystringParser: () => NO_QUERY },
    frameworkErrors: (_error, request, reply) => void rest(request, reply),
    clientErrorHandler: (fault, socket) => handleClientError(fault, socket, serving.requestId()),
  })
  // An Expect that we do not know is no reason to refuse.
  app.server.on('checkExpectation', app.routing)

  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.setErrorHandler(async (error, request, reply) => {
    reply.hijack()
    if (request.is404) await rest(request, reply)
    else await sendProblem(serving, request, { response: reply.raw, error })
  })
  app.setNotFoundHandler(rest)
  for (const route of serving.routes) {
    app.route({
      method: route.method === 'GET' ? ['GET', 'HEAD'] : 'POST',
      url: route.path.replace(/\{(\w+)\}/g, ':$1'),
      ...(route.method === 'POST' ? { onRequest: hideMediaType } : {}),
      handler: routeHandler(serving, route),
    })
  }
  return app
}

/** Fastify judges the media type before it knows whether there is a body at all; we judge it in body.ts. */
function hideMediaType(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  request.headers = { 'content-type': undefined }
  done()
}
