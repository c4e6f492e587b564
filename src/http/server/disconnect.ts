import type { ServerResponse } from 'node:http'
import { hasErrorCode } from '../../base/problem.ts'

class ClientDisconnected extends Error {
  constructor() {
    super('client disconnected')
  }
}

export function isDisconnect(error: unknown): boolean {
  return error instanceof ClientDisconnected || hasErrorCode(error, ...DISCONNECT_CODES)
}

const DISCONNECT_CODES = ['ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET', 'EPIPE']

// Whatever a request holds (a slot, a signal, a stream) is released when its response closes. A closed response emits no
// further event, so each function checks first.

export function throwIfClosed(response: ServerResponse): void {
  if (response.destroyed) throw new ClientDisconnected()
}

/** Calls `release` when the response closes, complete or not; at once if it is closed already. */
export function onClose(response: ServerResponse, release: () => void): void {
  if (response.destroyed) release()
  else response.once('close', release)
}

export function disconnectSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  onClose(response, () => controller.abort(new ClientDisconnected()))
  return controller.signal
}

/** Signals of long polls and streams: aborted when the client disconnects, and all at shutdown. */
export function waitSignals() {
  const open = new Set<AbortController>()
  let stopReason: Error | undefined

  return {
    waitSignalOf(response: ServerResponse): AbortSignal {
      if (response.destroyed) return AbortSignal.abort(new ClientDisconnected())
      if (stopReason) return AbortSignal.abort(stopReason)
      const controller = new AbortController()
      open.add(controller)
      response.once('close', () => {
        open.delete(controller)
        controller.abort(new ClientDisconnected())
      })
      return controller.signal
    },
    stop(reason: Error): void {
      stopReason = reason
      for (const controller of open) controller.abort(reason)
    },
    count: () => open.size,
  }
}
