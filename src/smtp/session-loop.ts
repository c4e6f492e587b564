import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { countMailOutcome, runAction, type ServiceAction } from './actions.ts'
import {
  type Connection,
  closeWithReply,
  countTraffic,
  failConnection,
  flush,
  guard,
  linger,
  reserveMemory,
  type ServerContext,
} from './connection.ts'
import { EXCESS_BYTES } from './data.ts'
import { type Step, smtpSession } from './protocol.ts'
import { type ActionResult, type CloseReason, greeting, REPLIES } from './state.ts'
import { upgradeToTls } from './tls.ts'

/** release is called when all is over; early is what came behind a PROXY header. */
interface Client {
  ip: string
  release: () => void
  early: Buffer | undefined
}

/** Greets and talks until the end. */
export function runSession(
  shared: ServerContext,
  socket: Socket,
  { ip, release, early }: Client,
): void {
  const now = shared.clock()
  const connection: Connection = {
    server: shared,
    socket,
    ip,
    session: smtpSession(shared.limits, ip),
    phase: 'talking',
    pendingReplies: greeting(shared.limits.hostname),
    actionPending: false,
    pendingInput: early,
    inputEnded: false,
    draining: false,
    startedAt: now,
    lastActivityAt: now,
    rateWindowStart: now,
    rateBytes: 0,
    reserved: 0,
    countedBytes: 0,
  }
  shared.connections.add(connection)
  socket.on('close', () => {
    shared.connections.delete(connection)
    guard(connection, () => {
      release()
      countTraffic(connection)
      if (!connection.actionPending) reserveMemory(connection, 0)
    })
  })
  attachSocket(connection)
  guard(connection, () => {
    flush(connection)
    resumeReading(connection)
  })
}

/** Ends the connection now, or after the mail in flight. */
export function drainConnection(connection: Connection): void {
  connection.draining = true
  if (connection.phase === 'handshake') connection.socket.destroy()
  else if (!connection.actionPending && !connection.session.inData()) closeForShutdown(connection)
}

function attachSocket(connection: Connection): void {
  const { socket } = connection
  socket.on('data', (chunk: Buffer) => guard(connection, () => onData(connection, chunk)))
  socket.on('end', () => {
    connection.inputEnded = true
    if (connection.phase === 'handshake') socket.destroy()
    else if (!connection.actionPending && !connection.pendingInput) socket.end()
  })
  // A reader that does not read its replies gets no more of them.
  socket.on('drain', () => guard(connection, () => resumeReading(connection)))
}

function onData(connection: Connection, chunk: Buffer): void {
  const { phase, actionPending, pendingInput, socket } = connection
  if (phase !== 'talking') discardInput(connection, chunk)
  else if (actionPending) {
    // Nothing is read while a deed is open, so no sender can fill our memory.
    connection.pendingInput = pendingInput ? Buffer.concat([pendingInput, chunk]) : chunk
    socket.pause()
  } else feedSession(connection, chunk)
}

function feedSession(connection: Connection, chunk: Buffer): void {
  const { session, server } = connection
  if (session.inData()) {
    connection.lastActivityAt = server.clock()
    connection.rateBytes += chunk.length
  }
  runStep(connection, session.receive(chunk))
}

/** Goes on for a little after our last word, so that the sender reads it; not for ever. */
function discardInput(connection: Connection, chunk: Buffer): void {
  connection.rateBytes += chunk.length
  if (connection.rateBytes > EXCESS_BYTES) connection.socket.destroy()
}

/** Does what a step asks for, until the engine wants more bytes. */
function runStep(connection: Connection, { replies, action }: Step): void {
  const { session } = connection
  if (replies !== '') queueReplies(connection, replies)
  // At the end of each mail, not at each piece of it: where Redis counts, that is a request.
  if (action || !session.inData()) countTraffic(connection)
  if (!action && !reserveMemory(connection, session.bufferedBytes())) session.discardMail()
  if (action?.kind === 'close') closeForReason(connection, action.reason)
  else if (connection.draining && !session.inData()) closeForShutdown(connection)
  else if (action?.kind === 'tls') startTls(connection)
  else if (action) startAction(connection, action)
  else {
    flush(connection)
    if (connection.inputEnded && !connection.pendingInput) connection.socket.end()
    else resumeReading(connection)
  }
}

function queueReplies(connection: Connection, replies: string): void {
  connection.pendingReplies += replies
  connection.lastActivityAt = connection.server.clock()
  connection.rateWindowStart = connection.lastActivityAt
  connection.rateBytes = 0
}

function closeForReason(connection: Connection, reason: CloseReason): void {
  if (reason === 'quit') closeAfterQuit(connection)
  else {
    connection.server.deps.log.info({ ip: connection.ip, reason }, 'SMTP session cut')
    closeWithReply(connection, '', reason)
  }
}

// A client that said QUIT sends nothing more, and many are gone before our answer. Once the kernel has the answer there
// is nothing to wait for; TLS alone has to say that it ends.
function closeAfterQuit(connection: Connection): void {
  const { socket } = connection
  flush(connection)
  if (socket.writableLength === 0 && !(socket instanceof TLSSocket)) socket.destroy()
  else linger(connection)
}

function startAction(connection: Connection, action: ServiceAction): void {
  const { server, ip, session } = connection
  if (action.kind === 'mail' && !reserveMemory(connection, action.raw.length)) {
    countMailOutcome('no_space', action.raw.length)
    runStep(connection, session.complete({ kind: 'mail', outcome: 'no_space' }))
    return
  }
  connection.actionPending = true
  const done = (result: ActionResult) => {
    connection.actionPending = false
    if (action.kind === 'mail') reserveMemory(connection, 0)
    connection.lastActivityAt = server.clock()
    // Nobody is there to hear a further answer: what else it sent is left undone.
    if (connection.socket.destroyed || connection.phase !== 'talking') return
    runStep(connection, session.complete(result))
  }
  runAction(server, ip, action)
    .then(done)
    .catch((err) => {
      connection.actionPending = false
      failConnection(connection, err)
    })
}

function startTls(connection: Connection): void {
  const { server, ip, session } = connection
  if (!server.secureContext) throw new Error('STARTTLS without a certificate')
  flush(connection)
  connection.phase = 'handshake'
  connection.lastActivityAt = server.clock()
  const plain = connection.socket
  plain.removeAllListeners('data').removeAllListeners('end').removeAllListeners('drain')
  connection.socket = upgradeToTls(plain, server.secureContext(), {
    done(tls) {
      connection.phase = 'talking'
      guard(connection, () => runStep(connection, session.complete({ kind: 'tls', tls })))
    },
    failed(code) {
      guard(connection, () => server.deps.log.info({ ip, code }, 'TLS connection failed'))
    },
  })
  attachSocket(connection)
}

function resumeReading(connection: Connection): void {
  const { socket, pendingInput } = connection
  if (connection.phase !== 'talking' || connection.actionPending || socket.writableNeedDrain) return
  if (pendingInput) {
    connection.pendingInput = undefined
    feedSession(connection, pendingInput)
  } else if (socket.isPaused()) socket.resume()
}

function closeForShutdown(connection: Connection): void {
  closeWithReply(connection, REPLIES.shuttingDown, 'shutting_down')
}
