import type { Lost } from '../sandbox/process.ts'
import { EMPTY_MAIL, type Mail } from '../core/message.ts'
import type { Answer } from './job.ts'

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
