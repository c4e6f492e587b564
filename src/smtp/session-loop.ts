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
import { logAborted, logRefusedConnection, logReply } from './log-lines.ts'
import { commandSeconds } from './metrics.ts'
import { type Step, smtpSession } from './protocol.ts'
import { greeting, REPLIES } from './replies.ts'
import type { ActionResult, CloseReason } from './state.ts'
import { upgradeToTls } from './tls.ts'

interface Client {
  ip: string
  /** By the operator. */
  blocked: boolean
  /** Called once the connection is closed. */
  release: () => void
  /** Input received after the PROXY header. */
  early: Buffer | undefined
}

/** Sends the greeting and serves the connection until it closes. */
export function runSession(
  server: ServerContext,
  socket: Socket,
  { ip, blocked, release, early }: Client,
): void {
  const now = server.clock()
  const connection: Connection = {
    server,
    socket,
    ip,
    session: smtpSession(server.limits, ip, {
      blocked,
      report: (reply, state, about) => logReply(connection, reply, state, about),
    }),
    phase: 'open',
    pendingReplies: blocked ? REPLIES.clientBlocked : greeting(server.limits.hostname),
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
    mailStartedAt: undefined,
    actionStartedAt: undefined,
    lastReply: '',
  }
  server.connections.add(connection)
  if (blocked) logRefusedConnection(server, ip, REPLIES.clientBlocked)
  socket.on('close', () => {
    server.connections.delete(connection)
    guard(connection, () => {
      release()
      logAborted(connection)
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

/** Closes the connection now, or after the mail in progress. */
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
  // Backpressure: we stop reading from a client that does not read our replies.
  socket.on('drain', () => guard(connection, () => resumeReading(connection)))
}

function onData(connection: Connection, chunk: Buffer): void {
  const { phase, actionPending, pendingInput, socket } = connection
  if (phase !== 'open') discardInput(connection, chunk)
  else if (actionPending) {
    // Reading is paused while an action is pending, so a client cannot make us buffer without bound.
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

/** Input after our last reply is read for a while, so that the client gets the reply instead of a reset. */
function discardInput(connection: Connection, chunk: Buffer): void {
  connection.rateBytes += chunk.length
  if (connection.rateBytes > EXCESS_BYTES) connection.socket.destroy()
}

/** Writes the replies and runs the actions; without one, reads on. */
function runStep(connection: Connection, first: Step): void {
  let step: Step | undefined = first
  while (step) step = startStep(connection, step)
}

/** Returns the next step if the action was completed at once. */
function startStep(connection: Connection, { replies, action }: Step): Step | undefined {
  const { session } = connection
  if (replies !== '') queueReplies(connection, replies)
  // Once per mail, not per chunk: with Redis, each count is a request.
  if (action || !session.inData()) countTraffic(connection)
  if (!action && !reserveMemory(connection, session.bufferedBytes())) session.discardMail()
  if (action?.kind === 'close') closeForReason(connection, action.reason)
  else if (connection.draining && !session.inData()) closeForShutdown(connection)
  else if (action?.kind === 'tls') startTls(connection)
  else if (action) return startAction(connection, action)
  else {
    flush(connection)
    if (connection.inputEnded && !connection.pendingInput) connection.socket.end()
    else resumeReading(connection)
  }
  return undefined
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
    connection.server.deps.log.info({ ip: connection.ip, reason }, 'SMTP session closed by server')
    closeWithReply(connection, '', reason)
  }
}

// After QUIT the client sends nothing more, and many disconnect before our reply. Once the kernel has the reply there is
// nothing to wait for, except that TLS has to send its close_notify.
function closeAfterQuit(connection: Connection): void {
  const { socket } = connection
  flush(connection)
  if (socket.writableLength === 0 && !(socket instanceof TLSSocket)) socket.destroy()
  else linger(connection)
}

const COMMANDS = { 'mail-from': 'MAIL', 'rcpt-to': 'RCPT', message: 'DATA' } as const

function startAction(connection: Connection, action: ServiceAction): Step | undefined {
  const { server, ip, session } = connection
  if (action.kind === 'message' && !reserveMemory(connection, action.raw.length)) {
    countMailOutcome('no_space', action.raw.length)
    return session.complete({ kind: 'message', outcome: 'no_space' })
  }
  const startedAt = server.clock()
  connection.actionStartedAt = startedAt
  if (action.kind === 'mail-from') connection.mailStartedAt = startedAt
  const result = runAction(server, ip, action)
  if (!(result instanceof Promise)) {
    commandSeconds.observe(COMMANDS[action.kind], (server.clock() - startedAt) / 1000)
    return session.complete(result)
  }
  connection.actionPending = true
  const done = (known: ActionResult) => {
    connection.actionPending = false
    if (action.kind === 'message') reserveMemory(connection, 0)
    connection.lastActivityAt = server.clock()
    commandSeconds.observe(COMMANDS[action.kind], (connection.lastActivityAt - startedAt) / 1000)
    // The client is gone: the rest of its input is not processed.
    if (connection.socket.destroyed || connection.phase !== 'open') session.abandon(known)
    else runStep(connection, session.complete(known))
  }
  result.then(done).catch((err) => {
    connection.actionPending = false
    failConnection(connection, err)
  })
  return undefined
}

function startTls(connection: Connection): void {
  const { server, ip, session } = connection
  if (!server.secureContext) throw new Error('STARTTLS without a certificate')
  flush(connection)
  connection.phase = 'handshake'
  connection.lastActivityAt = server.clock()
  const plain = connection.socket
  plain.removeAllListeners('data').removeAllListeners('end').removeAllListeners('drain')
  connection.socket = upgradeToTls(plain, server.secureContext, {
    done(tls) {
      connection.phase = 'open'
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
  if (connection.phase !== 'open' || connection.actionPending || socket.writableNeedDrain) return
  if (pendingInput) {
    connection.pendingInput = undefined
    feedSession(connection, pendingInput)
  } else if (socket.isPaused()) socket.resume()
}

function closeForShutdown(connection: Connection): void {
  closeWithReply(connection, REPLIES.shuttingDown, 'shutting_down')
}
