import type { Mail } from '../core/message.ts'
import { Problem } from '../core/problem.ts'
import type { MailStore } from '../store/store.ts'
import type { LargeReads } from './large-reads.ts'
import { isCurrent, type ParseOnce, type ParseRequest } from './parse-once.ts'

export interface ParsedMailDeps {
  store: Pick<MailStore, 'readParsed'>
  parse: ParseOnce
  largeReads: LargeReads
  /** How long a reader waits; only tests set it. */
  deadlineMs?: number
}

/** The parsed form of a stored mail; undefined when the mail is gone. */
export type Parsed = (
  rawId: number,
  /** `size`: of the mail. */
  request: ParseRequest & { size: number; signal?: AbortSignal },
) => Promise<Mail | undefined>

// Well below the time after which the HTTP server closes a silent connection, and longer than a client's fair share of two
// children takes unless some twenty others keep them busy with the costliest of mails.
const DEADLINE_MS = 10_000
const RETRY_SECONDS = 2

/** Reads what was parsed before, or has the mail parsed. A reader who has waited too long gets `overloaded`. */
export function parsedMail({
  store,
  parse,
  largeReads,
  deadlineMs = DEADLINE_MS,
}: ParsedMailDeps): Parsed {
  return async (rawId, { signal, size, ...request }) => {
    const readStored = () =>
      largeReads.run(`parsed ${rawId}`, { ...request, size, signal }, () => store.readParsed(rawId))
    const stored = await readStored()
    if (stored && isCurrent(stored)) return stored
    const made = request.background
      ? await parse(rawId, request)
      : await withDeadline(deadlineMs, signal, (ended) => parse(rawId, request, ended))
    if (made !== 'stored') return made
    const read = await readStored()
    // Deleted, or moved to another day's partition: the message tells which.
    if (!read) throw new Problem('overloaded', 'The message has just changed. Try again.', 1)
    return read
  }
}

/** A mail that is being parsed at the deadline is parsed to the end and stored: asking again then helps. */
async function withDeadline<T>(
  ms: number,
  signal: AbortSignal | undefined,
  task: (ended: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = new AbortController()
  const late = new Problem('overloaded', 'Too many mails are waiting to be parsed.', RETRY_SECONDS)
  const timer = setTimeout(() => deadline.abort(late), ms)
  try {
    return await task(signal ? AbortSignal.any([signal, deadline.signal]) : deadline.signal)
  } finally {
    clearTimeout(timer)
  }
}
