import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../core/log.ts'
import { reasonOf } from './provider-fault.ts'

interface Round {
  /** Answers whether all of it was done. */
  deed(): Promise<boolean>
  /** What the operator reads when it throws. */
  failed: string
  restMs: number
  /** After failures the rest grows up to this. */
  longestMs: number
  log: Pick<Log, 'error'>
}

/** Does the deed again and again until it is told to end; what then still hangs on somebody else's server is left behind. */
export async function untilEnded(ended: AbortSignal, round: Round): Promise<void> {
  const { deed, failed, restMs, longestMs, log } = round
  const end = Promise.withResolvers<boolean>()
  ended.addEventListener('abort', () => end.resolve(true), { once: true })
  let rest = restMs
  while (!ended.aborted) {
    let whole = false
    try {
      whole = await Promise.race([deed(), end.promise])
    } catch (error) {
      if (!ended.aborted) log.error({ err: reasonOf(error) }, failed)
    }
    rest = whole ? restMs : Math.min(2 * rest, longestMs)
    await pause(rest, undefined, { signal: ended }).catch(() => {})
  }
}
