import { asError } from '../core/fault.ts'
import { type Connection, cut } from './connection.ts'
import type { SmtpNeeds } from './options.ts'
import { REPLIES } from './replies.ts'

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
  logFault(shared.needs, ip, err)
  try {
    if (phase === 'handshake') socket.destroy()
    else cut(connection, REPLIES.faultOfOurs, 'fault')
  } catch {
    // The same fault once more, most likely: nothing more is tried.
    socket.destroy()
  }
}

export function logFault({ log }: SmtpNeeds, ip: string, err: unknown): void {
  try {
    log.error({ ip, err: asError(err) }, 'a fault of ours ended an SMTP session')
  } catch {
    // The log itself may be what fails; then there is nowhere to say so.
  }
}
