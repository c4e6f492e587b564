import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type ListenOptions, type Server } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { rangeTest } from '../core/ip.ts'
import { outageReporter } from '../service/background/outage.ts'
import { acceptConnection } from './accept.ts'
import { installationCertificate } from './certificate.ts'
import { type Connection, cut, guarded, type Shared } from './connection.ts'
import { type SmtpDeps, type SmtpOptions, USUAL_LIMITS, USUAL_TIMES } from './options.ts'
import { leave } from './session-loop.ts'
import { REPLIES } from './state.ts'
import { type CertificateFiles, secureContextOf } from './tls.ts'

export interface SmtpServer {
  port: number
  /** From now on newcomers hear 421, and so do all others after the mail that they are sending. */
  drain(): void
  /** Drains, takes no more clients, lets mails in flight finish, and is back at the latest after closeMs. */
  close(): Promise<void>
}

export async function openSmtp(deps: SmtpDeps, options: SmtpOptions): Promise<SmtpServer> {
  const shared = await share(deps, options)
  // Half-open, so that a client that sends all it has and shuts its side still hears our answers.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
    acceptConnection(shared, socket),
  )
  await listen(server, options)
  // Out of file descriptors, say: this client is lost, the listener lives on.
  server.on('error', (err) => deps.log.error({ err }, 'a client could not be taken'))
  const timer = setInterval(() => checkAll(shared), shared.times.checkMs)

  function drain(): void {
    shared.draining = true
    leaveAll(shared)
  }

  async function close(): Promise<void> {
    const closed = once(server, 'close')
    server.close()
    const force = setTimeout(() => endAll(shared), shared.times.closeMs)
    drain()
    endHeaderless(shared)
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

async function share(deps: SmtpDeps, options: SmtpOptions): Promise<Shared> {
  const { hostname, maxBytes, refuseBareNewlines } = { ...USUAL_LIMITS, ...options }
  const files = await certificateFiles(deps, options)
  return {
    deps,
    limits: {
      ...USUAL_LIMITS,
      ...options.limits,
      hostname,
      maxBytes,
      refuseBareNewlines,
      offerTls: files !== undefined,
    },
    times: { ...USUAL_TIMES, ...options.times },
    clock: options.clock ?? (() => performance.now()),
    secureContext: files && secureContextOf(files, deps.log),
    isProxy: options.proxyFrom?.length ? rangeTest(options.proxyFrom) : undefined,
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
  const wish = { hostname, now: now(), serial: randomBytes(16) }
  const both = await installationCertificate(folder, wish)
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
function checkAll({ connections, awaitingProxyHeader, times, clock }: Shared): void {
  const now = clock()
  for (const connection of connections) guarded(connection, () => check(connection, now))
  for (const [socket, since] of awaitingProxyHeader)
    if (now - since > times.handshakeMs) socket.destroy()
}

/** Asks everybody who talks to come to an end. */
function leaveAll({ connections }: Shared): void {
  for (const connection of connections) guarded(connection, () => leave(connection))
}

/** Those who have not begun to talk. */
function endHeaderless({ awaitingProxyHeader }: Shared): void {
  for (const socket of awaitingProxyHeader.keys()) socket.destroy()
}

function endAll({ connections }: Shared): void {
  for (const connection of connections) connection.socket.destroy()
}

function check(connection: Connection, now: number): void {
  const { phase, busy, activeAt, startedAt, socket } = connection
  const { times } = connection.shared
  // The disk may be slow; that is not the sender's fault.
  if (busy) return
  if (phase === 'lingering') {
    if (now - activeAt > times.lingerMs) socket.destroy()
  } else if (phase === 'handshake') {
    if (now - activeAt > times.handshakeMs) socket.destroy()
  } else if (now - startedAt > times.sessionMs) {
    cut(connection, REPLIES.sessionOver, 'session_over')
  } else if (now - activeAt > times.idleMs || isTooSlow(connection, now)) {
    cut(connection, REPLIES.tooSlow, 'too_slow')
  }
}

// Stretch by stretch: a fast start must not buy an hour of one byte a second.
function isTooSlow(connection: Connection, now: number): boolean {
  const { times } = connection.shared
  const elapsed = now - connection.rateSince
  if (!connection.session.inMail() || elapsed < times.rateWindowMs) return false
  if (connection.rateBytes * 1000 < times.minBytesPerSecond * elapsed) return true
  connection.rateSince = now
  connection.rateBytes = 0
  return false
}
