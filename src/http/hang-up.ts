import type { ServerResponse } from 'node:http'
import { hasCode } from '../core/fault.ts'

/** Nobody's fault: the client went away while we were at it. */
class HungUp extends Error {}

export function hungUp(): Error {
  return new HungUp('the client hung up')
}

export function isHangUp(error: unknown): boolean {
  return error instanceof HungUp || hasCode(error, ...BROKEN_OFF)
}

const BROKEN_OFF = ['ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET', 'EPIPE']

/** Signals of the requests that wait: aborted when their client goes, or all at once when we stop. */
export function hangUps() {
  const open = new Set<AbortController>()
  let stopReason: Error | undefined

  return {
    signalOf(response: ServerResponse): AbortSignal {
      const controller = new AbortController()
      if (stopReason) controller.abort(stopReason)
      open.add(controller)
      response.once('close', () => {
        open.delete(controller)
        controller.abort(hungUp())
      })
      return controller.signal
    },
    stop(reason: Error): void {
      stopReason = reason
      for (const controller of open) controller.abort(reason)
    },
  }
}
