import type { Mail } from '../../core/message.ts'
import { Problem } from '../../core/problem.ts'
import type { MailStore } from '../../store/store.ts'
import type { ServiceDeps } from '../deps.ts'
import { DEADLINE_MS, withDeadline } from './large-reads.ts'
import { isCurrent, type ParseOnce, type ParseRequest } from './parse-once.ts'

interface ParsedMailDeps extends Pick<ServiceDeps, 'largeReads'> {
  store: Pick<MailStore, 'readParsed'>
  parse: ParseOnce
  /** How long a request waits; only tests set it. */
  deadlineMs?: number
}

/** The parsed form of a stored mail; undefined if the mail was deleted. */
export type ReadParsed = (
  rawId: number,
  request: ParsedRequest & { signal?: AbortSignal },
) => Promise<Mail | undefined>

interface ParsedRequest extends ParseRequest {
  /** Of the mail, in bytes. */
  size: number
}

/**
 * Reads the stored result, or has the mail parsed. A request that waits too long is rejected with `overloaded`; parsing continues
 * and the result is stored, so a retry helps.
 */
export function openParsedMail({
  store,
  parse,
  largeReads,
  deadlineMs = DEADLINE_MS,
}: ParsedMailDeps): ReadParsed {
  async function read(rawId: number, { size, ...request }: ParsedRequest, ended?: AbortSignal) {
    const readStored = () =>
      largeReads.run(`parsed ${rawId}`, { ...request, size, signal: ended }, () =>
        store.readParsed(rawId),
      )
    const stored = await readStored()
    if (stored && isCurrent(stored)) return stored
    const made = await parse(rawId, request, ended)
    if (made !== 'stored') return made
    const again = await readStored()
    // Deleted, or moved to another partition: the caller reads the message again.
    if (!again) throw new Problem('overloaded', 'The message has just changed. Try again.', 1)
    return again
  }

  return (rawId, { signal, ...request }) =>
    request.background
      ? read(rawId, request)
      : withDeadline(deadlineMs, signal, (ended) => read(rawId, request, ended))
}
