import type { ServerResponse } from 'node:http'
import { hasErrorCode } from '../../core/problem.ts'

/** Nobody's fault: the client went away while we were at it. */
class ClientDisconnected extends Error {}

export function clientDisconnected(): Error {
  return new ClientDisconnected('the client hung up')
}

export function isDisconnect(error: unknown): boolean {
  return error instanceof ClientDisconnected || hasErrorCode(error, ...DISCONNECT_CODES)
}

const DISCONNECT_CODES = ['ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET', 'EPIPE']

// What a request holds (a slot, a signal, a stream) it holds until its response is closed. A response that is closed already
// emits no further event, so each of these looks first.

/** Throws when the response is closed: the client has gone. */
export function throwIfClosed(response: ServerResponse): void {
  if (response.destroyed) throw clientDisconnected()
}

/** Calls `release` once the response is closed, complete or not; at once if it is already. */
export function onClose(response: ServerResponse, release: () => void): void {
  if (response.destroyed) release()
  else response.once('close', release)
}

/** Aborted when the client disconnects. */
export function disconnectSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  onClose(response, () => controller.abort(clientDisconnected()))
  return controller.signal
}

/** Signals of long polls and streams: aborted when their client disconnects, or all at once when we stop. */
export function waitSignals() {
  const open = new Set<AbortController>()
  let stopReason: Error | undefined

  return {
    waitSignalOf(response: ServerResponse): AbortSignal {
      if (response.destroyed) return AbortSignal.abort(clientDisconnected())
      if (stopReason) return AbortSignal.abort(stopReason)
      const controller = new AbortController()
      open.add(controller)
      response.once('close', () => {
        open.delete(controller)
        controller.abort(clientDisconnected())
      })
      return controller.signal
    },
    stop(reason: Error): void {
      stopReason = reason
      for (const controller of open) controller.abort(reason)
    },
    /** How many are kept at this moment. */
    count: () => open.size,
  }
}
