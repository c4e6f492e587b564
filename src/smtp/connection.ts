import type { Socket } from 'node:net'
import type { SecureContext } from 'node:tls'
import { asError } from '../core/problem.ts'
import type { ReportOutage } from '../service/background/outage.ts'
import { closedSessions } from './metrics.ts'
import type { SmtpDeps, SmtpTimes } from './options.ts'
import type { SmtpSession } from './protocol.ts'
import { REPLIES, type SmtpLimits } from './state.ts'

/** What all connections of one server share. */
export interface Shared {
  deps: SmtpDeps
  limits: SmtpLimits
  times: SmtpTimes
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
  shared: Shared
  socket: Socket
  /** The client's address, by the PROXY header where one is due. */
  ip: string
  session: SmtpSession
  /** handshake: of TLS; lingering: we have said our last word and wait for the other side to close. */
  phase: 'talking' | 'handshake' | 'lingering'
  /** Replies not yet written: one write for all that one packet asked for. */
  unsaid: string
  /** True while a deed of the house is open. */
  busy: boolean
  /** What came while a deed was open; the socket is paused then. */
  backlog: Buffer | undefined
  /** The client has said all it will say. */
  inputEnded: boolean
  /** Asked to come to an end after the mail in flight. */
  leaving: boolean
  startedAt: number
  /** When this phase began or something last went forward in it. */
  activeAt: number
  /** The present stretch of DATA, or of lingering: since when, and how much came. */
  rateSince: number
  rateBytes: number
  /** Bytes reserved for the mail in flight. */
  reserved: number
  /** Bytes of mail that were counted towards the hourly limit of the client. */
  countedBytes: number
}

/** Says its last word and closes, at the latest after lingerMs. */
export function cut(connection: Connection, reply: string, reason: string): void {
  if (connection.phase === 'lingering') return
  closedSessions.add(reason)
  connection.unsaid += reply
  linger(connection)
}

// Closing with bytes unread would reset the connection, and the sender might never see our last word.
export function linger(connection: Connection): void {
  const { socket, shared } = connection
  flush(connection)
  connection.phase = 'lingering'
  connection.backlog = undefined
  connection.activeAt = shared.clock()
  connection.rateBytes = 0
  socket.end()
  socket.resume()
  reserve(connection, 0)
}

export function flush(connection: Connection): void {
  const { socket, unsaid } = connection
  connection.unsaid = ''
  if (unsaid !== '' && !socket.destroyed) socket.write(unsaid, 'latin1')
  if (socket.writableNeedDrain) socket.pause()
}

/** Counts what has come in of mail since the last call. */
export function countTraffic(connection: Connection): void {
  const { shared, ip, session, countedBytes } = connection
  const bytes = session.dataBytes() - countedBytes
  if (bytes === 0) return
  connection.countedBytes += bytes
  shared.deps.countTraffic(ip, bytes)
}

/** Makes the reservation as large as the mail in flight; false when there is no room. */
export function reserve(connection: Connection, bytes: number): boolean {
  const { deps } = connection.shared
  const more = bytes - connection.reserved
  if (more > 0 && !deps.reserveBytes(more)) return false
  if (more < 0) deps.releaseBytes(-more)
  connection.reserved = bytes
  return true
}

/** Runs one piece of a conversation: a fault of ours in it ends this connection, and no other. */
export function guarded(connection: Connection, piece: () => void): void {
  try {
    piece()
  } catch (err) {
    fail(connection, err)
  }
}

/** Tells the log why and the client that it is our fault, and lets it go. */
export function fail(connection: Connection, err: unknown): void {
  const { shared, ip, socket, phase } = connection
  logFault(shared.deps, ip, err)
  try {
    if (phase === 'handshake') socket.destroy()
    else cut(connection, REPLIES.faultOfOurs, 'fault')
  } catch {
    // The same fault once more, most likely: nothing more is tried.
    socket.destroy()
  }
}

export function logFault({ log }: SmtpDeps, ip: string, err: unknown): void {
  try {
    log.error({ ip, err: asError(err) }, 'a fault of ours ended an SMTP session')
  } catch {
    // The log itself may be what fails; then there is nowhere to say so.
  }
}
