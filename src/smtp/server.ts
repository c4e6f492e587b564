import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type ListenOptions, type Server } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { ipRangeMatcher } from '../core/ip.ts'
import { outageReporter } from '../service/background/outage.ts'
import { acceptConnection } from './accept-connection.ts'
import { type Connection, closeWithReply, guard, type ServerContext } from './connection.ts'
import { DEFAULT_LIMITS, DEFAULT_TIMEOUTS, type SmtpDeps, type SmtpOptions } from './options.ts'
import { drainConnection } from './session-loop.ts'
import { REPLIES } from './state.ts'
import { type CertificateFiles, ensureCertificate, reloadingSecureContext } from './tls.ts'

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
  await listen(server, options)
  // For example, out of file descriptors: this client is lost, but the listener continues.
  server.on('error', (err) => deps.log.error({ err }, 'cannot accept an SMTP connection'))
  const timer = setInterval(() => checkAllTimeouts(context), context.timeouts.checkMs)

  function drain(): void {
    context.draining = true
    drainAll(context)
  }

  async function close(): Promise<void> {
    const closed = once(server, 'close')
    server.close()
    const force = setTimeout(() => destroyAll(context), context.timeouts.closeMs)
    drain()
    destroyUnidentified(context)
    await closed
    // The server's close event comes slightly before that of the last socket.
    while (context.connections.size > 0) await setImmediate()
    clearTimeout(force)
    clearInterval(timer)
  }

  let closing: Promise<void> | undefined
  return {
    port: portOf(server),
    drain,
    close() {
      closing ??= close()
      return closing
    },
  }
}

async function createContext(deps: SmtpDeps, options: SmtpOptions): Promise<ServerContext> {
  const { hostname, maxBytes, refuseBareNewlines } = { ...DEFAULT_LIMITS, ...options }
  const files = await certificateFiles(deps, options)
  return {
    deps,
    limits: {
      ...DEFAULT_LIMITS,
      ...options.limits,
      hostname,
      maxBytes,
      refuseBareNewlines,
      offerTls: files !== undefined,
    },
    timeouts: { ...DEFAULT_TIMEOUTS, ...options.timeouts },
    clock: options.clock ?? (() => performance.now()),
    secureContext: files && reloadingSecureContext(files, deps.log),
    isProxy: options.proxyFrom?.length ? ipRangeMatcher(options.proxyFrom) : undefined,
    reportOutage: outageReporter(deps.log),
    draining: false,
    connections: new Set(),
    awaitingProxyHeader: new Map(),
  }
}

async function certificateFiles(
  { now }: SmtpDeps,
  { tlsCert, tlsKey, folder, hostname }: SmtpOptions,
): Promise<CertificateFiles | undefined> {
  if (tlsCert && tlsKey) return { cert: tlsCert, key: tlsKey }
  if (folder === undefined) return undefined
  const request = { hostname, now: now(), serial: randomBytes(16) }
  const both = await ensureCertificate(folder, request)
  return { cert: both, key: both }
}

async function listen(
  server: Server,
  { port, host = '::', reusePort }: SmtpOptions,
): Promise<void> {
  const wish: ListenOptions = { port, host, backlog: 1_024, reusePort: reusePort ?? false }
  server.listen(wish)
  await once(server, 'listening')
}

function portOf(server: Server): number {
  const address = server.address()
  return typeof address === 'object' && address ? address.port : 0
}

/** One timer for all connections, so that receiving a byte does not have to reset one. */
function checkAllTimeouts({
  connections,
  awaitingProxyHeader,
  timeouts,
  clock,
}: ServerContext): void {
  const now = clock()
  for (const connection of connections) guard(connection, () => checkTimeouts(connection, now))
  for (const [socket, since] of awaitingProxyHeader)
    if (now - since > timeouts.handshakeMs) socket.destroy()
}

function drainAll({ connections }: ServerContext): void {
  for (const connection of connections) guard(connection, () => drainConnection(connection))
}

function destroyUnidentified({ awaitingProxyHeader }: ServerContext): void {
  for (const socket of awaitingProxyHeader.keys()) socket.destroy()
}

function destroyAll({ connections }: ServerContext): void {
  for (const connection of connections) connection.socket.destroy()
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
