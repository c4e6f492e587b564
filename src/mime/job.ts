import { EMPTY_MAIL, type Mail } from '../core/message.ts'
import type { Lost } from '../sandbox/process.ts'

/** What the parent asks of a child: to parse a mail. */
export interface Job {
  raw: Uint8Array
}

/** What a child says: once that it is ready, then one answer per job. */
export type Answer =
  | { kind: 'ready' }
  | { kind: 'mail'; mail: Mail }
  /** By a fault of ours; `place` says which and where. */
  | { kind: 'failed'; place: string }

/** What a reader gets of a mail that could not be read: a text that says so, and the way to the mail itself. */
export function unreadable(outcome: Answer | Lost): Mail {
  const fault = `This mail could not be parsed: ${reasonOf(outcome)}.`
  return {
    ...EMPTY_MAIL,
    text: `${fault} It is kept exactly as it came, and the raw mail can be downloaded.`,
  }
}

function reasonOf(outcome: Answer | Lost): string {
  if (outcome.kind !== 'lost') return 'its structure makes no sense'
  if (outcome.why === 'too slow') return 'reading it took too long'
  return outcome.why === 'too large' ? 'reading it took too much memory' : 'its reader gave up'
}
