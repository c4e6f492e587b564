import type { Socket } from 'node:net'
import type { ReportOutage } from '../base/jobs/outage.ts'
import { toError } from '../base/problem.ts'
import { closedSessions } from './metrics.ts'
import type { SmtpDeps, SmtpTimeouts } from './options.ts'
import type { SmtpSession } from './protocol.ts'
import { REPLIES } from './replies.ts'
import type { SmtpLimits } from './state.ts'
import type { ContextFor } from './tls.ts'

/** State shared by all connections of one server. */
export interface ServerContext {
  deps: SmtpDeps
  limits: SmtpLimits
  timeouts: SmtpTimeouts
  clock: () => number
  secureContext: ContextFor | undefined
  isProxy: ((ip: string) => boolean) | undefined
  reportOutage: ReportOutage
  /** New connections get 421. */
  draining: boolean
  connections: Set<Connection>
  /** Connections of load balancers that have not sent their PROXY header yet, with the time they were accepted. */
  awaitingProxyHeader: Map<Socket, number>
}

export interface Connection {
  server: ServerContext
  socket: Socket
  /** Address of the client, from the PROXY header if one is required. */
  ip: string
  session: SmtpSession
  /** handshake: TLS is being negotiated. lingering: the last reply is sent, and we wait for the client to close. */
  phase: 'open' | 'handshake' | 'lingering'
  /** Replies to pipelined commands, sent in one write. */
  pendingReplies: string
  actionPending: boolean
  /** Input received while an action was pending. The socket is paused then. */
  pendingInput: Buffer | undefined
  /** The client has closed its side. */
  inputEnded: boolean
  /** Close after the mail in progress. */
  draining: boolean
  startedAt: number
  /** Start of the phase, or of the last progress in it. */
  lastActivityAt: number
  /** Current rate window of DATA; while lingering, rateBytes counts the discarded input. */
  rateWindowStart: number
  rateBytes: number
  /** Bytes of memory reserved for the mail in progress. */
  reserved: number
  /** Bytes of mail already counted towards the client's hourly limit. */
  countedBytes: number
  /** When the last MAIL was received. */
  mailStartedAt: number | undefined
  /** When the current action was started. */
  actionStartedAt: number | undefined
  /** With which we closed the connection. */
  lastReply: string
}

/** Sends a last reply and closes, after lingerMs at the latest. */
export function closeWithReply(connection: Connection, reply: string, reason: string): void {
  if (connection.phase === 'lingering') return
  closedSessions.add(reason)
  connection.lastReply = reply
  connection.pendingReplies += reply
  linger(connection)
}

// Closing with unread input would reset the connection, and the client might never see our last reply.
export function linger(connection: Connection): void {
  const { socket, server } = connection
  flush(connection)
  connection.phase = 'lingering'
  connection.pendingInput = undefined
  connection.lastActivityAt = server.clock()
  connection.rateBytes = 0
  socket.end()
  socket.resume()
  reserveMemory(connection, 0)
}

export function flush(connection: Connection): void {
  const { socket, pendingReplies } = connection
  connection.pendingReplies = ''
  if (pendingReplies !== '' && !socket.destroyed) socket.write(pendingReplies, 'latin1')
  if (socket.writableNeedDrain) socket.pause()
}

/** Counts the mail bytes received since the last call. */
export function countTraffic(connection: Connection): void {
  const { server, ip, session, countedBytes } = connection
  const bytes = session.dataBytes() - countedBytes
  if (bytes === 0) return
  connection.countedBytes += bytes
  server.deps.countTraffic(ip, bytes)
}

/** Resizes the reservation of this connection; false if the memory is not available. */
export function reserveMemory(connection: Connection, bytes: number): boolean {
  const { deps } = connection.server
  const more = bytes - connection.reserved
  if (more > 0 && !deps.reserveBytes(more)) return false
  if (more < 0) deps.releaseBytes(-more)
  connection.reserved = bytes
  return true
}

/** An unexpected error ends this connection and no other. */
export function guard(connection: Connection, callback: () => void): void {
  try {
    callback()
  } catch (err) {
    failConnection(connection, err)
  }
}

export function failConnection(connection: Connection, err: unknown): void {
  const { server, ip, socket, phase } = connection
  logInternalError(server.deps, ip, err)
  try {
    if (phase === 'handshake') socket.destroy()
    else closeWithReply(connection, REPLIES.internalErrorClosing, 'fault')
  } catch {
    // Most likely the same error again.
    socket.destroy()
  }
}

export function logInternalError({ log }: SmtpDeps, ip: string, err: unknown): void {
  try {
    log.error({ ip, err: toError(err) }, 'SMTP session ended by an internal error')
  } catch {
    // The log itself may be what fails.
  }
}
