import type { ServerResponse } from 'node:http'

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
        controller.abort(new Error('the client hung up'))
      })
      return controller.signal
    },
    stop(reason: Error): void {
      stopReason = reason
      for (const controller of open) controller.abort(reason)
    },
  }
}
