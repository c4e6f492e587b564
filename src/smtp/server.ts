import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type ListenOptions, type Server } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { ipRangeMatcher } from '../core/ip.ts'
import { outageReporter } from '../service/background/outage.ts'
import { acceptConnection } from './accept.ts'
import { type Connection, closeWithReply, guard, type ServerContext } from './connection.ts'
import { DEFAULT_LIMITS, DEFAULT_TIMEOUTS, type SmtpDeps, type SmtpOptions } from './options.ts'
import { drainConnection } from './session-loop.ts'
import { REPLIES } from './state.ts'
import { type CertificateFiles, ensureCertificate, reloadingSecureContext } from './tls.ts'

export interface SmtpServer {
  port: number
  /** From now on newcomers hear 421, and so do all others after the mail that they are sending. */
  drain(): void
  /** Drains, takes no more clients, lets mails in flight finish, and is back at the latest after closeMs. */
  close(): Promise<void>
}

export async function openSmtpServer(deps: SmtpDeps, options: SmtpOptions): Promise<SmtpServer> {
  const shared = await createContext(deps, options)
  // Half-open, so that a client that sends all it has and shuts its side still hears our answers.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
    acceptConnection(shared, socket),
  )
  await listen(server, options)
  // Out of file descriptors, say: this client is lost, the listener lives on.
  server.on('error', (err) => deps.log.error({ err }, 'a client could not be taken'))
  const timer = setInterval(() => checkAllTimeouts(shared), shared.timeouts.checkMs)

  function drain(): void {
    shared.draining = true
    drainAll(shared)
  }

  async function close(): Promise<void> {
    const closed = once(server, 'close')
    server.close()
    const force = setTimeout(() => destroyAll(shared), shared.timeouts.closeMs)
    drain()
    destroyUnidentified(shared)
    await closed
    // The server is told of a socket's end a little before we are.
    while (shared.connections.size > 0) await setImmediate()
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

/** Ends those that have had their time. One timer looks at all of them, so that a byte costs none. */
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

/** Asks everybody who talks to come to an end. */
function drainAll({ connections }: ServerContext): void {
  for (const connection of connections) guard(connection, () => drainConnection(connection))
}

/** Those who have not begun to talk. */
function destroyUnidentified({ awaitingProxyHeader }: ServerContext): void {
  for (const socket of awaitingProxyHeader.keys()) socket.destroy()
}

function destroyAll({ connections }: ServerContext): void {
  for (const connection of connections) connection.socket.destroy()
}

function checkTimeouts(connection: Connection, now: number): void {
  const { phase, actionPending, lastActivityAt, startedAt, socket } = connection
  const { timeouts } = connection.server
  // The disk may be slow; that is not the sender's fault.
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

// Stretch by stretch: a fast start must not buy an hour of one byte a second.
function isTooSlow(connection: Connection, now: number): boolean {
  const { timeouts } = connection.server
  const elapsed = now - connection.rateWindowStart
  if (!connection.session.inData() || elapsed < timeouts.rateWindowMs) return false
  if (connection.rateBytes * 1000 < timeouts.minBytesPerSecond * elapsed) return true
  connection.rateWindowStart = now
  connection.rateBytes = 0
  return false
}
