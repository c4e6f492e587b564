import { setTimeout as pause } from 'node:timers/promises'
import { asError } from '../core/fault.ts'
import type { Log } from '../core/log.ts'
import type { MailStore, SweepDue } from '../store/store.ts'

interface Needs {
  store: Pick<MailStore, 'sweep'>
  now(): Date
  ended: AbortSignal
  log: Pick<Log, 'error'>
}

const REST_MS = 5_000
// Between two steps of a long sweep the writer belongs to the mail that waits.
const BREATH_MS = 5

/** Clears away what is over, in small steps, until it is told to end. */
export async function sweepForEver(
  { store, now, ended, log }: Needs,
  kept: Omit<SweepDue, 'now'>,
): Promise<void> {
  while (!ended.aborted) {
    let more = false
    try {
      more = await store.sweep({ ...kept, now: now() })
    } catch (error) {
      log.error({ err: asError(error) }, 'the sweep failed and is tried again')
    }
    await pause(more ? BREATH_MS : REST_MS, undefined, { signal: ended }).catch(() => {})
  }
}
