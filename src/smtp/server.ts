import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { ipRangeMatcher } from '../base/ip.ts'
import { outageReporter } from '../base/jobs/outage.ts'
import { ensureCertificate } from '../tls/own-certificate.ts'
import { acceptConnection } from './accept-connection.ts'
import { type Connection, closeWithReply, guard, type ServerContext } from './connection.ts'
import { DEFAULT_LIMITS, DEFAULT_TIMEOUTS, type SmtpDeps, type SmtpOptions } from './options.ts'
import { REPLIES } from './replies.ts'
import { drainConnection } from './session-loop.ts'
import { type ContextFor, obtainedContext, reloadingSecureContext } from './tls.ts'

export interface SmtpServer {
  port: number
  /** New connections get 421; existing ones get it after the mail in progress. */
  drain(): void
  /** Drains and stops listening; resolves when all mail in progress is complete, or after closeMs. */
  close(): Promise<void>
}

export async function openSmtpServer(deps: SmtpDeps, options: SmtpOptions): Promise<SmtpServer> {
  const context = await createContext(deps, options)
  // Half-open, so that a client that closes its side after its last command still gets our replies.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
    acceptConnection(context, socket),
  )
  const { port, host = '::', reusePort = false } = options
  server.listen({ port, host, backlog: 1_024, reusePort })
  await once(server, 'listening')
  const address = server.address()
  // For example, out of file descriptors: this client is lost, but the listener continues.
  server.on('error', (err) => deps.log.error({ err }, 'cannot accept an SMTP connection'))
  // One timer for all connections, so that receiving a byte does not have to reset one.
  const timer = setInterval(() => checkAllTimeouts(context), context.timeouts.checkMs)
  const { connections, awaitingProxyHeader, timeouts } = context

  function drain(): void {
    context.draining = true
    for (const connection of connections) guard(connection, () => drainConnection(connection))
  }

  async function close(): Promise<void> {
    const closed = once(server, 'close')
    server.close()
    const force = setTimeout(() => {
      for (const { socket } of connections) socket.destroy()
    }, timeouts.closeMs)
    drain()
    for (const socket of awaitingProxyHeader.keys()) socket.destroy()
    await closed
    // The server's close event comes slightly before that of the last socket.
    while (connections.size > 0) await setImmediate()
    clearTimeout(force)
    clearInterval(timer)
  }

  let closing: Promise<void> | undefined
  return {
    port: typeof address === 'object' && address ? address.port : port,
    drain,
    close() {
      closing ??= close()
      return closing
    },
  }
}

async function createContext(deps: SmtpDeps, options: SmtpOptions): Promise<ServerContext> {
  const { hostname, maxBytes, refuseBareNewlines } = { ...DEFAULT_LIMITS, ...options }
  const secureContext = await openSecureContext(deps, options)
  return {
    deps,
    limits: {
      ...DEFAULT_LIMITS,
      ...options.limits,
      hostname,
      maxBytes,
      refuseBareNewlines,
      offerTls: secureContext !== undefined,
    },
    timeouts: { ...DEFAULT_TIMEOUTS, ...options.timeouts },
    clock: options.clock ?? (() => performance.now()),
    secureContext,
    isProxy: options.proxyFrom?.length ? ipRangeMatcher(options.proxyFrom) : undefined,
    reportOutage: outageReporter(deps.log),
    draining: false,
    connections: new Set(),
    awaitingProxyHeader: new Map(),
  }
}

async function openSecureContext(
  { now, log }: SmtpDeps,
  { tlsCert, tlsKey, contexts, folder, hostname }: SmtpOptions,
): Promise<ContextFor | undefined> {
  if (tlsCert && tlsKey) return reloadingSecureContext({ cert: tlsCert, key: tlsKey }, log)
  if (contexts) return obtainedContext(contexts)
  if (folder === undefined) return undefined
  const both = await ensureCertificate(folder, { hostname, now: now(), serial: randomBytes(16) })
  return reloadingSecureContext({ cert: both, key: both }, log)
}

function checkAllTimeouts({ connections, awaitingProxyHeader, timeouts, clock }: ServerContext) {
  const now = clock()
  for (const connection of connections) guard(connection, () => checkTimeouts(connection, now))
  for (const [socket, since] of awaitingProxyHeader)
    if (now - since > timeouts.handshakeMs) socket.destroy()
}

function checkTimeouts(connection: Connection, now: number): void {
  const { phase, actionPending, lastActivityAt, startedAt, socket } = connection
  const { timeouts } = connection.server
  // A slow disk is not the client's fault.
  if (actionPending) return
  if (phase === 'lingering') {
    if (now - lastActivityAt > timeouts.lingerMs) socket.destroy()
  } else if (phase === 'handshake') {
    if (now - lastActivityAt > timeouts.handshakeMs) socket.destroy()
  } else if (now - startedAt > timeouts.sessionMs) {
    closeWithReply(connection, REPLIES.sessionTimeout, 'session_over')
  } else if (now - lastActivityAt > timeouts.idleMs || isTooSlow(connection, now)) {
    closeWithReply(connection, REPLIES.tooSlow, 'too_slow')
  }
}

// Per window: a fast start must not pay for an hour of one byte a second.
function isTooSlow(connection: Connection, now: number): boolean {
  const { timeouts } = connection.server
  const elapsed = now - connection.rateWindowStart
  if (!connection.session.inData() || elapsed < timeouts.rateWindowMs) return false
  if (connection.rateBytes * 1000 < timeouts.minBytesPerSecond * elapsed) return true
  connection.rateWindowStart = now
  connection.rateBytes = 0
  return false
}
