import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { countMail, runAction, type ServiceAction } from './actions.ts'
import {
  type Connection,
  countTraffic,
  cut,
  fail,
  flush,
  guarded,
  linger,
  reserve,
  type Shared,
} from './connection.ts'
import { EXCESS_BYTES } from './data.ts'
import { type Step, smtpSession } from './protocol.ts'
import type { ActionResult } from './results.ts'
import { type CloseReason, greeting, REPLIES } from './state.ts'
import { secureSocket } from './tls.ts'

/** release is called when all is over; early is what came behind a PROXY header. */
interface Client {
  ip: string
  release: () => void
  early: Buffer | undefined
}

/** Greets and talks until the end. */
export function runSession(shared: Shared, socket: Socket, { ip, release, early }: Client): void {
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
function follow(connection: Connection, { replies, action }: Step): void {
  const { session } = connection
  if (replies !== '') goOn(connection, replies)
  // At the end of each mail, not at each piece of it: where Redis counts, that is a request.
  if (action || !session.inMail()) countTraffic(connection)
  if (!action && !reserve(connection, session.heldBytes())) session.dropMail()
  if (action?.kind === 'close') hangUp(connection, action.reason)
  else if (connection.leaving && !session.inMail()) sayGoodbye(connection)
  else if (action?.kind === 'tls') secure(connection)
  else if (action) work(connection, action)
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
    connection.shared.deps.log.info({ ip: connection.ip, reason }, 'SMTP session cut')
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

function work(connection: Connection, action: ServiceAction): void {
  const { shared, ip, session } = connection
  if (action.kind === 'mail' && !reserve(connection, action.raw.length)) {
    countMail('no_space', action.raw.length)
    follow(connection, session.complete({ kind: 'mail', outcome: 'no_space' }))
    return
  }
  connection.busy = true
  const done = (result: ActionResult) => {
    connection.busy = false
    if (action.kind === 'mail') reserve(connection, 0)
    connection.activeAt = shared.clock()
    // Nobody is there to hear a further answer: what else it sent is left undone.
    if (connection.socket.destroyed || connection.phase !== 'talking') return
    follow(connection, session.complete(result))
  }
  runAction(shared, ip, action)
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
      guarded(connection, () => follow(connection, session.complete({ kind: 'tls', tls })))
    },
    failed(code) {
      guarded(connection, () => shared.deps.log.info({ ip, code }, 'TLS connection failed'))
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
