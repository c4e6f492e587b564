import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../../core/log.ts'
import { logFault } from './outage.ts'

interface Sweep {
  /** One small step; true when there is more to do. */
  step(): Promise<boolean>
  /** When there is not. */
  restMs: number
  ended: AbortSignal
  log: Pick<Log, 'error'>
}

// Between two steps of a long sweep the writer belongs to the mail and the requests that wait.
const BREATH_MS = 5

/** Clears away what is over, in small steps, until it is told to end. */
export async function sweepForEver({ step, restMs, ended, log }: Sweep): Promise<void> {
  while (!ended.aborted) {
    let more = false
    try {
      more = await step()
    } catch (error) {
      logFault(log, error, 'the sweep failed and is tried again')
    }
    await pause(more ? BREATH_MS : restMs, undefined, { signal: ended }).catch(() => {})
  }
}
