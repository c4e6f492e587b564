import type { MailStore, SweepDue } from '../store/store.ts'

interface Needs {
  store: Pick<MailStore, 'sweep'>
  now(): Date
  /** Resolves after that long, or at once when the sweep is to end. */
  pause(ms: number): Promise<void>
  ended(): boolean
  log: { error(fields: object, text: string): void }
}

const REST_MS = 5_000
// Between two steps of a long sweep the writer belongs to the mail that waits.
const BREATH_MS = 5

/** Clears away what is over, in small steps, until it is told to end. */
export async function sweepForEver(
  { store, now, pause, ended, log }: Needs,
  kept: Omit<SweepDue, 'now'>,
): Promise<void> {
  while (!ended()) {
    let more = false
    try {
      more = await store.sweep({ ...kept, now: now() })
    } catch (error) {
      log.error({ err: error }, 'the sweep failed and is tried again')
    }
    await pause(more ? BREATH_MS : REST_MS)
  }
}
