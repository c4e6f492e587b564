import { type Connection, cut, type Shared } from './connection.ts'
import { guarded } from './faults.ts'
import { REPLIES } from './replies.ts'
import { leave } from './session-loop.ts'

/** Ends those that have had their time. One timer looks at all of them, so that a byte costs none. */
export function checkAll({ connections, headerless, times, clock }: Shared): void {
  const now = clock()
  for (const connection of connections) guarded(connection, () => check(connection, now))
  for (const [socket, since] of headerless) if (now - since > times.handshakeMs) socket.destroy()
}

/** Asks everybody who talks to come to an end. */
export function leaveAll({ connections }: Shared): void {
  for (const connection of connections) guarded(connection, () => leave(connection))
}

/** Those who have not begun to talk. */
export function endHeaderless({ headerless }: Shared): void {
  for (const socket of headerless.keys()) socket.destroy()
}

export function endAll({ connections }: Shared): void {
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
