import type { Socket } from 'node:net'
import type { SecureContext } from 'node:tls'
import { carryOut, countMail, type HouseDeed } from './deeds.ts'
import { type SmtpSession, type Step, smtpSession } from './engine.ts'
import { cutSessions } from './metrics.ts'
import type { SmtpNeeds, SmtpTimes } from './needs.ts'
import { greeting, REPLIES } from './replies.ts'
import { secureSocket } from './secure.ts'
import type { CloseReason, SmtpLimits } from './state.ts'

/** What all connections of one server share. */
export interface Shared {
  needs: SmtpNeeds
  limits: SmtpLimits
  times: SmtpTimes
  clock: () => number
  secureContext: (() => SecureContext) | undefined
  isProxy: ((ip: string) => boolean) | undefined
  connections: Set<Connection>
  /** Balancers' connections whose PROXY header has not come yet, and since when. */
  headerless: Map<Socket, number>
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
  /** The present stretch of DATA: since when, and how much came. */
  rateSince: number
  rateBytes: number
  /** Bytes reserved for the mail in flight. */
  reserved: number
}

/** release is called when all is over; early is what came behind a PROXY header. */
interface Client {
  ip: string
  release: () => void
  early: Buffer | undefined
}

/** Greets and talks until the end. */
export function talk(shared: Shared, socket: Socket, { ip, release, early }: Client): void {
  const now = shared.clock()
  const connection: Connection = {
    shared,
    socket,
    ip,
    session: smtpSession(shared.limits),
    phase: 'talking',
    unsaid: greeting(shared.limits.hostname),
    busy: false,
    backlog: early,
    inputEnded: false,
    leaving: false,
    startedAt: now,
    activeAt: now,
    rateSince: now,
    rateBytes: 0,
    reserved: 0,
  }
  shared.connections.add(connection)
  socket.on('close', () => {
    shared.connections.delete(connection)
    release()
    if (!connection.busy) reserve(connection, 0)
  })
  listen(connection)
  flush(connection)
  readOn(connection)
}

/** Says its last word and closes, at the latest after lingerMs. */
export function cut(connection: Connection, reply: string, reason: string): void {
  if (connection.phase === 'lingering') return
  cutSessions.add(reason)
  connection.unsaid += reply
  linger(connection)
}

/** Ends the connection now, or after the mail in flight. */
export function leave(connection: Connection): void {
  connection.leaving = true
  if (connection.phase === 'handshake') connection.socket.destroy()
  else if (!connection.busy && !connection.session.inMail()) sayGoodbye(connection)
}

function listen(connection: Connection): void {
  const { socket } = connection
  socket.on('data', (chunk: Buffer) => {
    if (connection.phase !== 'talking') return
    if (connection.busy) {
      // Nothing is read while a deed is open, so no sender can fill our memory.
      connection.backlog = connection.backlog ? Buffer.concat([connection.backlog, chunk]) : chunk
      socket.pause()
    } else take(connection, chunk)
  })
  socket.on('end', () => {
    connection.inputEnded = true
    if (connection.phase === 'handshake') socket.destroy()
    else if (!connection.busy && !connection.backlog) socket.end()
  })
  // A reader that does not read its replies gets no more of them.
  socket.on('drain', () => readOn(connection))
}

function take(connection: Connection, chunk: Buffer): void {
  const { session, shared } = connection
  if (session.inMail()) {
    connection.activeAt = shared.clock()
    connection.rateBytes += chunk.length
  }
  follow(connection, session.feed(chunk))
}

/** Does what a step asks for, until the engine wants more bytes. */
function follow(connection: Connection, { replies, deed }: Step): void {
  const { session } = connection
  if (replies !== '') goOn(connection, replies)
  if (!deed && !reserve(connection, session.heldBytes())) session.dropMail()
  if (deed?.kind === 'close') hangUp(connection, deed.reason)
  else if (connection.leaving && !session.inMail()) sayGoodbye(connection)
  else if (deed?.kind === 'tls') secure(connection)
  else if (deed) work(connection, deed)
  else {
    flush(connection)
    if (connection.inputEnded && !connection.backlog) connection.socket.end()
    else readOn(connection)
  }
}

function goOn(connection: Connection, replies: string): void {
  connection.unsaid += replies
  connection.activeAt = connection.shared.clock()
  connection.rateSince = connection.activeAt
  connection.rateBytes = 0
}

function hangUp(connection: Connection, reason: CloseReason): void {
  if (reason === 'quit') {
    linger(connection)
    return
  }
  connection.shared.needs.log.info({ ip: connection.ip, reason }, 'SMTP session cut')
  cut(connection, '', reason)
}

function work(connection: Connection, deed: HouseDeed): void {
  const { shared, ip, session } = connection
  if (deed.kind === 'mail' && !reserve(connection, deed.raw.length)) {
    countMail('no_space', deed.raw.length)
    follow(connection, session.settle({ kind: 'mail', outcome: 'no_space' }))
    return
  }
  connection.busy = true
  void carryOut(shared.needs, ip, deed).then((verdict) => {
    connection.busy = false
    if (deed.kind === 'mail') reserve(connection, 0)
    connection.activeAt = shared.clock()
    // Nobody is there to hear a further answer: what else it sent is left undone.
    if (connection.socket.destroyed || connection.phase !== 'talking') return
    follow(connection, session.settle(verdict))
  })
}

/** Makes the reservation as large as the mail in flight; false when there is no room. */
function reserve(connection: Connection, bytes: number): boolean {
  const { needs } = connection.shared
  const more = bytes - connection.reserved
  if (more > 0 && !needs.reserveBytes(more)) return false
  if (more < 0) needs.releaseBytes(-more)
  connection.reserved = bytes
  return true
}

function secure(connection: Connection): void {
  const { shared, ip, session } = connection
  if (!shared.secureContext) throw new Error('STARTTLS without a certificate')
  flush(connection)
  connection.phase = 'handshake'
  connection.activeAt = shared.clock()
  const plain = connection.socket
  plain.removeAllListeners('data').removeAllListeners('end').removeAllListeners('drain')
  connection.socket = secureSocket(plain, shared.secureContext(), {
    ip,
    log: shared.needs.log,
    done(tls) {
      connection.phase = 'talking'
      follow(connection, session.settle({ kind: 'tls', tls }))
    },
  })
  listen(connection)
}

function sayGoodbye(connection: Connection): void {
  cut(connection, REPLIES.shuttingDown, 'shutting_down')
}

function flush(connection: Connection): void {
  const { socket, unsaid } = connection
  connection.unsaid = ''
  if (unsaid !== '' && !socket.destroyed) socket.write(unsaid, 'latin1')
  if (socket.writableNeedDrain) socket.pause()
}

function readOn(connection: Connection): void {
  const { socket, backlog } = connection
  if (connection.phase !== 'talking' || connection.busy || socket.writableNeedDrain) return
  if (backlog) {
    connection.backlog = undefined
    take(connection, backlog)
  } else if (socket.isPaused()) socket.resume()
}

// Closing with bytes unread would reset the connection, and the sender might never see our last word.
function linger(connection: Connection): void {
  const { socket, shared } = connection
  flush(connection)
  connection.phase = 'lingering'
  connection.backlog = undefined
  connection.activeAt = shared.clock()
  if (!connection.busy) reserve(connection, 0)
  socket.end()
  socket.resume()
}
