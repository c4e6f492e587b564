import type { Mail } from '../core/message.ts'
import type { Outcome } from './parse-child.ts'

/** What a reader gets of a mail that could not be read: a text that says so, and the way to the mail itself. */
export function unreadable(outcome: Outcome): Mail {
  const fault = `This mail could not be parsed: ${reasonOf(outcome)}.`
  return {
    from: [],
    to: [],
    cc: [],
    replyTo: [],
    messageId: null,
    date: null,
    text: `${fault} It is kept exactly as it came, and the raw mail can be downloaded.`,
    html: null,
    headers: [],
    attachments: [],
    codes: [],
    links: [],
  }
}

function reasonOf(outcome: Outcome): string {
  if (outcome.kind !== 'lost') return 'its structure makes no sense'
  if (outcome.why === 'too slow') return 'reading it took too long'
  return outcome.why === 'too large' ? 'reading it took too much memory' : 'its reader gave up'
}
