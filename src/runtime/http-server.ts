import { once } from 'node:events'
import type { RequestListener, Server } from 'node:http'
import type { Socket } from 'node:net'
import { ipRangeMatcher, isLoopback } from '../base/ip.ts'
import { outageReporter } from '../base/jobs/outage.ts'
import { Problem } from '../base/problem.ts'
import { browserProblemPage } from '../http/pages/plain/page.ts'
import { adminRoutes, routes } from '../http/routes.ts'
import { clientAddresses, untrustedProxyWarning } from '../http/server/client-address.ts'
import { limitConnections } from '../http/server/connection-limit.ts'
import { waitSignals } from '../http/server/disconnect.ts'
import { handleClientError } from '../http/server/problem-response.ts'
import { type HttpServerContext, requestHandler } from '../http/server/request-handler.ts'
import type { RequiresDeps, Route } from '../http/server/route.ts'
import type { TlsContexts } from '../tls/contexts.ts'
import { createHttpsServer, redirectToHttps } from '../tls/https.ts'
import type { Config } from './config.ts'
import { type HttpParts, openRouteDeps, type RouteDeps } from './route-deps.ts'

// An import would also load undici, which node:http re-exports: 40 ms of each start.
const { createServer } = process.getBuiltinModule('node:http')

interface HttpOptions {
  host: string
  port: number
  reusePort: boolean
  /** A request must arrive completely within this time. */
  requestTimeoutMs?: number
  /** A second port, with TLS; the first one then redirects to it. */
  https?: { port: number; contexts: TlsContexts } | undefined
}

interface ListenOptions {
  port: number
  isTls: boolean
}

const MAX_HEADER_BYTES = 16 * 1024
// Longer than the longest long poll.
const IDLE_TIMEOUT_MS = 75_000
const KEEP_ALIVE_MS = 72_000
const CLOSE_TIMEOUT_MS = 5_000
const IDLE_CHECK_MS = 50

export async function openHttpServer(
  parts: HttpParts,
  { host, port, reusePort, requestTimeoutMs = 15_000, https }: HttpOptions,
) {
  const { config } = parts
  let draining = false
  const closing = new AbortController()
  const { trustProxy } = config.http
  const { waitSignalOf, stop } = waitSignals()
  const deps = await openRouteDeps(parts, { draining: () => draining, closing: closing.signal })
  const context: HttpServerContext = {
    deps,
    ...clientAddresses({
      ...config.http,
      rateLimits: config.rateLimits,
      onUntrustedProxy: untrustedProxyWarning(deps.log, (address) =>
        Boolean(deps.connections.acquireFor(`proxy warning ${address}`, 1)),
      ),
    }),
    waitSignalOf,
    reportOutage: outageReporter(deps.log),
    requestId: () => Buffer.from(deps.randomBytes(12)).toString('base64url'),
    routes: servedRoutes(config).filter((route) => route.served?.(deps) ?? true),
    problemPage: browserProblemPage,
  }
  const handle = requestHandler(context)
  const isProxy = ipRangeMatcher(trustProxy)
  const servers: Server[] = []

  async function listen(server: Server, listener: RequestListener, to: ListenOptions) {
    const { port, isTls } = to
    onClientErrors(server, listener, context)
    limitConnections(server, {
      slots: deps.connections,
      isExempt: (ip) => isLoopback(ip) || isProxy(ip),
      requestId: context.requestId,
      isTls,
    })
    servers.push(server)
    server.listen({ host, port, reusePort })
    await once(server, 'listening')
  }
  const options = serverOptions(requestTimeoutMs)
  const { baseUrl } = config.http
  const isProxied = context.isSecureAtProxy
  const plain = https ? redirectToHttps({ baseUrl, isProxied }, handle) : handle
  const server = createServer(options, plain)
  await listen(server, plain, { port, isTls: false })
  if (https) {
    const secure = createHttpsServer(options, https.contexts, handle)
    await listen(secure, handle, { port: https.port, isTls: true })
  }
  const address = server.address()

  /** Not ready from now on: long polls end with 503, other requests are served, and each response closes its connection. */
  function drain(): void {
    draining = true
    stop(new Problem('shutting_down', 'The service is shutting down. Try again in a moment.', 1))
  }

  return {
    port: typeof address === 'object' && address ? address.port : port,
    drain,
    /** Drains, completes requests in progress, then closes every connection. */
    async close(): Promise<void> {
      drain()
      deps.codes.close()
      closing.abort()
      await Promise.all(servers.map(closeServer))
    },
  }
}

/** Without a token there is no admin page: its paths do not exist. */
function servedRoutes({ adminToken }: Config): readonly (Route & RequiresDeps<RouteDeps>)[] {
  return adminToken === '' ? routes : [...routes, ...adminRoutes]
}

async function closeServer(server: Server): Promise<void> {
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS)
  const late = setTimeout(() => server.closeAllConnections(), CLOSE_TIMEOUT_MS)
  const closed = once(server, 'close')
  server.close()
  await closed
  clearInterval(idle)
  clearTimeout(late)
}

function serverOptions(requestTimeoutMs: number) {
  return {
    maxHeaderSize: MAX_HEADER_BYTES,
    requestTimeout: requestTimeoutMs,
    headersTimeout: requestTimeoutMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: requestTimeoutMs / 15,
    // Checked in request-handler.ts, for an error in our format.
    requireHostHeader: false,
  }
}

function onClientErrors(
  server: Server,
  handle: RequestListener,
  { requestId }: Pick<HttpServerContext, 'requestId'>,
): void {
  server.setTimeout(IDLE_TIMEOUT_MS)
  // An unknown Expect header is ignored.
  server.on('checkExpectation', handle)
  server.on('clientError', (fault, socket) =>
    handleClientError(fault, socket as Socket, requestId()),
  )
}
