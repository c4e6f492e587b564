import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { type Connection, countTraffic, cut, flush, linger, reserve, type Shared, fail, guarded } from './connection.ts'
import { EXCESS_BYTES } from './data.ts'
import { carryOut, countMail, type HouseDeed } from './actions.ts'
import { type Step, smtpSession } from './protocol.ts'
import { greeting, REPLIES, type CloseReason } from './state.ts'
import { secureSocket } from './tls.ts'
import type { Verdict } from './results.ts'

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
    session: smtpSession(shared.limits, ip),
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
    countedBytes: 0,
  }
  shared.connections.add(connection)
  socket.on('close', () => {
    shared.connections.delete(connection)
    guarded(connection, () => {
      release()
      countTraffic(connection)
      if (!connection.busy) reserve(connection, 0)
    })
  })
  listen(connection)
  guarded(connection, () => {
    flush(connection)
    readOn(connection)
  })
}

/** Ends the connection now, or after the mail in flight. */
export function leave(connection: Connection): void {
  connection.leaving = true
  if (connection.phase === 'handshake') connection.socket.destroy()
  else if (!connection.busy && !connection.session.inMail()) sayGoodbye(connection)
}

function listen(connection: Connection): void {
  const { socket } = connection
  socket.on('data', (chunk: Buffer) => guarded(connection, () => hear(connection, chunk)))
  socket.on('end', () => {
    connection.inputEnded = true
    if (connection.phase === 'handshake') socket.destroy()
    else if (!connection.busy && !connection.backlog) socket.end()
  })
  // A reader that does not read its replies gets no more of them.
  socket.on('drain', () => guarded(connection, () => readOn(connection)))
}

function hear(connection: Connection, chunk: Buffer): void {
  const { phase, busy, backlog, socket } = connection
  if (phase !== 'talking') skip(connection, chunk)
  else if (busy) {
    // Nothing is read while a deed is open, so no sender can fill our memory.
    connection.backlog = backlog ? Buffer.concat([backlog, chunk]) : chunk
    socket.pause()
  } else take(connection, chunk)
}

function take(connection: Connection, chunk: Buffer): void {
  const { session, shared } = connection
  if (session.inMail()) {
    connection.activeAt = shared.clock()
    connection.rateBytes += chunk.length
  }
  follow(connection, session.feed(chunk))
}

/** Goes on for a little after our last word, so that the sender reads it; not for ever. */
function skip(connection: Connection, chunk: Buffer): void {
  connection.rateBytes += chunk.length
  if (connection.rateBytes > EXCESS_BYTES) connection.socket.destroy()
}

/** Does what a step asks for, until the engine wants more bytes. */
function follow(connection: Connection, { replies, deed }: Step): void {
  const { session } = connection
  if (replies !== '') goOn(connection, replies)
  // At the end of each mail, not at each piece of it: where Redis counts, that is a request.
  if (deed || !session.inMail()) countTraffic(connection)
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
  if (reason === 'quit') sayBye(connection)
  else {
    connection.shared.needs.log.info({ ip: connection.ip, reason }, 'SMTP session cut')
    cut(connection, '', reason)
  }
}

// A client that said QUIT sends nothing more, and many are gone before our answer. Once the kernel has the answer there
// is nothing to wait for; TLS alone has to say that it ends.
function sayBye(connection: Connection): void {
  const { socket } = connection
  flush(connection)
  if (socket.writableLength === 0 && !(socket instanceof TLSSocket)) socket.destroy()
  else linger(connection)
}

function work(connection: Connection, deed: HouseDeed): void {
  const { shared, ip, session } = connection
  if (deed.kind === 'mail' && !reserve(connection, deed.raw.length)) {
    countMail('no_space', deed.raw.length)
    follow(connection, session.settle({ kind: 'mail', outcome: 'no_space' }))
    return
  }
  connection.busy = true
  const done = (verdict: Verdict) => {
    connection.busy = false
    if (deed.kind === 'mail') reserve(connection, 0)
    connection.activeAt = shared.clock()
    // Nobody is there to hear a further answer: what else it sent is left undone.
    if (connection.socket.destroyed || connection.phase !== 'talking') return
    follow(connection, session.settle(verdict))
  }
  carryOut(shared, ip, deed)
    .then(done)
    .catch((err) => {
      connection.busy = false
      fail(connection, err)
    })
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
    done(tls) {
      connection.phase = 'talking'
      guarded(connection, () => follow(connection, session.settle({ kind: 'tls', tls })))
    },
    failed(code) {
      guarded(connection, () => shared.needs.log.info({ ip, code }, 'TLS connection failed'))
    },
  })
  listen(connection)
}

function readOn(connection: Connection): void {
  const { socket, backlog } = connection
  if (connection.phase !== 'talking' || connection.busy || socket.writableNeedDrain) return
  if (backlog) {
    connection.backlog = undefined
    take(connection, backlog)
  } else if (socket.isPaused()) socket.resume()
}

function sayGoodbye(connection: Connection): void {
  cut(connection, REPLIES.shuttingDown, 'shutting_down')
}
