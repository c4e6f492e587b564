import type { Socket } from 'node:net'
import type { SecureContext } from 'node:tls'
import { toError } from '../core/problem.ts'
import type { ReportOutage } from '../service/background/outage.ts'
import { closedSessions } from './metrics.ts'
import type { SmtpDeps, SmtpTimeouts } from './options.ts'
import type { SmtpSession } from './protocol.ts'
import { REPLIES, type SmtpLimits } from './state.ts'

/** What all connections of one server share. */
export interface ServerContext {
  deps: SmtpDeps
  limits: SmtpLimits
  timeouts: SmtpTimeouts
  clock: () => number
  secureContext: (() => SecureContext) | undefined
  isProxy: ((ip: string) => boolean) | undefined
  /** Tells the log that the store is away. */
  reportOutage: ReportOutage
  /** Newcomers are sent elsewhere. */
  draining: boolean
  connections: Set<Connection>
  /** Balancers' connections whose PROXY header has not come yet, and since when. */
  awaitingProxyHeader: Map<Socket, number>
}

export interface Connection {
  server: ServerContext
  socket: Socket
  /** The client's address, by the PROXY header where one is due. */
  ip: string
  session: SmtpSession
  /** handshake: of TLS; lingering: we have said our last word and wait for the other side to close. */
  phase: 'talking' | 'handshake' | 'lingering'
  /** Replies not yet written: one write for all that one packet asked for. */
  pendingReplies: string
  /** True while a deed of the house is open. */
  actionPending: boolean
  /** What came while a deed was open; the socket is paused then. */
  pendingInput: Buffer | undefined
  /** The client has said all it will say. */
  inputEnded: boolean
  /** Asked to come to an end after the mail in flight. */
  draining: boolean
  startedAt: number
  /** When this phase began or something last went forward in it. */
  lastActivityAt: number
  /** The present stretch of DATA, or of lingering: since when, and how much came. */
  rateWindowStart: number
  rateBytes: number
  /** Bytes reserved for the mail in flight. */
  reserved: number
  /** Bytes of mail that were counted towards the hourly limit of the client. */
  countedBytes: number
}

/** Says its last word and closes, at the latest after lingerMs. */
export function closeWithReply(connection: Connection, reply: string, reason: string): void {
  if (connection.phase === 'lingering') return
  closedSessions.add(reason)
  connection.pendingReplies += reply
  linger(connection)
}

// Closing with bytes unread would reset the connection, and the sender might never see our last word.
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

/** Counts what has come in of mail since the last call. */
export function countTraffic(connection: Connection): void {
  const { server, ip, session, countedBytes } = connection
  const bytes = session.dataBytes() - countedBytes
  if (bytes === 0) return
  connection.countedBytes += bytes
  server.deps.countTraffic(ip, bytes)
}

/** Makes the reservation as large as the mail in flight; false when there is no room. */
export function reserveMemory(connection: Connection, bytes: number): boolean {
  const { deps } = connection.server
  const more = bytes - connection.reserved
  if (more > 0 && !deps.reserveBytes(more)) return false
  if (more < 0) deps.releaseBytes(-more)
  connection.reserved = bytes
  return true
}

/** Runs one piece of a conversation: a fault of ours in it ends this connection, and no other. */
export function guard(connection: Connection, piece: () => void): void {
  try {
    piece()
  } catch (err) {
    failConnection(connection, err)
  }
}

/** Tells the log why and the client that it is our fault, and lets it go. */
export function failConnection(connection: Connection, err: unknown): void {
  const { server, ip, socket, phase } = connection
  logInternalError(server.deps, ip, err)
  try {
    if (phase === 'handshake') socket.destroy()
    else closeWithReply(connection, REPLIES.internalErrorClosing, 'fault')
  } catch {
    // The same fault once more, most likely: nothing more is tried.
    socket.destroy()
  }
}

export function logInternalError({ log }: SmtpDeps, ip: string, err: unknown): void {
  try {
    log.error({ ip, err: toError(err) }, 'a fault of ours ended an SMTP session')
  } catch {
    // The log itself may be what fails; then there is nowhere to say so.
  }
}
