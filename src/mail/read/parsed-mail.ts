import { openLru } from '../../base/lru.ts'
import { Problem } from '../../base/problem.ts'
import type { Mail } from '../../shared/mail.ts'
import type { MailStore } from '../store.ts'
import type { LargeRead, LargeReads } from './large-reads.ts'
import { type CompactJson, headOf, parseCompact } from './long-strings.ts'
import { isCurrent, isLong, type ParseOnce } from './parse-once.ts'

interface ParsedMailDeps {
  store: Pick<MailStore, 'readParsedJson'>
  parse: ParseOnce
  largeReads: LargeReads
}

/**
 * The parsed form of a stored mail; undefined if the mail was deleted. Concurrent requests share it. Of a text or HTML of several
 * megabytes it has the beginning, more than any list or page shows. `truncated` is about the text: it does not say that HTML was cut.
 */
export type ReadParsed = (rawId: number, request: ParsedRequest) => Promise<Mail | undefined>

/** The same for a response in JSON: text and HTML are complete, but long ones stay as stored. */
export type ReadMailJson = (rawId: number, request: ParsedRequest) => Promise<MailJson | undefined>

export interface MailJson extends Pick<CompactJson, 'long'> {
  /** With placeholders for what is long. */
  mail: Mail
}

export interface ParsedRequest extends LargeRead {
  /** Called with the size of the result, if it is known, before anything is read. Throws if there is no room for it. */
  reserve?(bytes: number): void
}

// A UTF-16 unit takes at most six bytes of JSON: no list or page shows more than 256 K of them.
const HEAD_BYTES = 6 * (256 * 1024 + 1)

export function openParsedMail(deps: ParsedMailDeps): ReadParsed {
  const read = openReader(deps, 'parsed', async (json) => {
    const { value, long } = await parseCompact(json, HEAD_BYTES)
    const mail = value as Mail
    const head = (text: string | null) => {
      const cut = long.get(text ?? '')
      return cut ? headOf(cut, HEAD_BYTES) : text
    }
    const cut = long.has(mail.text ?? '') ? { truncated: true as const } : {}
    return { mail: { ...mail, text: head(mail.text), html: head(mail.html), ...cut }, long }
  })
  return async (rawId, request) => (await read(rawId, request))?.mail
}

const MAX_SHORT_BYTES = 64 * 1024

export function openMailJson(deps: ParsedMailDeps): ReadMailJson {
  return openReader(deps, 'json', async (json) => {
    const { value, long } = await parseCompact(json, MAX_SHORT_BYTES)
    return { mail: value as Mail, long }
  })
}

const MAX_SIZES = 10_000

/**
 * Reads the stored result, or has the mail parsed. A request that waits too long is rejected with `overloaded`; parsing continues
 * and the result is stored, so a retry helps.
 */
function openReader(
  { store, parse, largeReads }: ParsedMailDeps,
  name: string,
  parseJson: (json: Buffer) => Promise<MailJson>,
) {
  /** Sizes of the results that were read before, in bytes. */
  const sizes = openLru<number, number>(MAX_SIZES)

  async function compact(rawId: number, json: Buffer | undefined): Promise<MailJson | undefined> {
    if (!json) return undefined
    if (json.length > MAX_SHORT_BYTES) sizes.set(rawId, json.length)
    return await parseJson(json)
  }

  async function read(
    rawId: number,
    { reserve, size, ...request }: Omit<ParsedRequest, 'signal'>,
    ended?: AbortSignal,
  ): Promise<MailJson | undefined> {
    const inTurn = (source: string, readJson: () => Promise<Buffer | undefined>) => {
      const known = sizes.get(rawId)
      if (known !== undefined) reserve?.(known)
      const key = `${name} ${source} ${rawId}`
      return largeReads.run(key, { ...request, size, signal: ended }, async () =>
        compact(rawId, await readJson()),
      )
    }
    const readStored = () => inTurn('stored', () => store.readParsedJson(rawId))
    const stored = await readStored()
    if (stored && isCurrent(stored.mail)) return stored
    const made = await parse(rawId, request, ended)
    if (!made) return undefined
    if (made !== 'stored') {
      if (!isLong(made)) return { mail: made, long: new Map() }
      // The disk is full, or the result is transient.
      return await inTurn('made', async () => Buffer.from(JSON.stringify(made)))
    }
    const again = await readStored()
    // Deleted, or moved to another partition: the caller reads the message again.
    if (!again) throw new Problem('overloaded', 'The message has just changed. Try again.', 1)
    return again
  }

  return (rawId: number, { signal, ...request }: ParsedRequest) =>
    request.background
      ? read(rawId, request)
      : largeReads.withDeadline(signal, (ended) => read(rawId, request, ended))
}
