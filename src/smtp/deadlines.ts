import { type Connection, cut } from './connection.ts'
import { REPLIES } from './replies.ts'

/** Ends a connection that has had its time. Looked at for all of them by one timer, so a byte costs none. */
export function checkDeadlines(connection: Connection, now: number): void {
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
