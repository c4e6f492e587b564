import { type Address, parseAddress } from '../../core/address.ts'
import { secretHash } from '../../core/id.ts'
import type { ApiKey } from '../../core/key.ts'
import type { Message } from '../../core/message.ts'
import { Problem } from '../../core/problem.ts'
import { type MailboxId, POOL, readerTopic } from '../../core/session.ts'
import type { MailStore, ReaderScope } from '../../store/store.ts'
import { type AdmitDeps, admitRead, type Caller, readAgain } from '../keys/authenticate-key.ts'
import { type EmailRecord, emailRecord } from './email-record.ts'
import type { Parsed } from './parsed-mail.ts'
import { pollUntil, type SharedPolls, type Wanted } from './shared-poll.ts'

interface EmailsDeps {
  store: Pick<MailStore, 'readerMark' | 'listReaderMessages'>
  parsed: Parsed
  readerPool: ReaderPool
  now(): Date
}

/** What keys see of the pool: all of it, what they know the address of, or nothing. */
export type ReaderPool = 'open' | 'by-address' | 'off'

/** Which mail is asked for. */
export interface EmailQuery {
  keyId: string
  to: Address | undefined
  /** Only newer ones. */
  sinceId: number
  /** Only older ones: the last of the page before. */
  beforeId: number | undefined
  limit: number
}

interface EmailPage {
  /** Newest first. */
  records: EmailRecord[]
  /** After which one the next page begins; undefined: there is none. */
  nextAfter: number | undefined
}

const MAX_PAGE_BYTES = 8 * 1024 * 1024
// Mail can be made to take long to parse. What is parsed is kept: the next page goes on from there.
const MAX_PAGE_MS = 15_000
// Two processes parse: more at once would only wait there, and hold more mail in memory.
const AT_ONCE = 4

/** What of this query the key may see, as a mark: equal as long as the answer is. */
export async function emailsMark(deps: EmailsDeps, query: EmailQuery): Promise<string> {
  return await deps.store.readerMark(scopeOf(deps, query))
}

/** The id of the newest message that the key may see; 0 when there is none. */
export async function newestEmail(deps: EmailsDeps, query: EmailQuery): Promise<number> {
  const page = { sinceId: 0, beforeId: undefined, limit: 1 }
  const [message] = await deps.store.listReaderMessages(scopeOf(deps, query), page)
  return message?.id ?? 0
}

/** For whom a page is made. */
interface PageReader {
  /** Rate-limit key of the client; undefined if rate limits do not apply. */
  client: string | undefined
  signal?: AbortSignal
}

/** One page. It ends early where it grows too large or takes too long, but never before its first record. */
export async function listEmails(
  deps: EmailsDeps,
  query: EmailQuery,
  reader: PageReader,
): Promise<EmailPage> {
  const { sinceId, beforeId, limit } = query
  // One more than wanted tells whether there is a next page.
  const page = { sinceId, beforeId, limit: limit + 1 }
  const messages = await deps.store.listReaderMessages(scopeOf(deps, query), page)
  const wanted = messages.slice(0, limit)
  const records: EmailRecord[] = []
  const endsAt = deps.now().getTime() + MAX_PAGE_MS
  let bytes = 0
  try {
    for await (const record of recordsOf(deps.parsed, wanted, reader)) {
      bytes += sizeOf(record)
      const last = records.at(-1)
      const isOver = bytes > MAX_PAGE_BYTES || deps.now().getTime() > endsAt
      if (last && isOver) return { records, nextAfter: last.id }
      records.push(record)
    }
  } catch (error) {
    const last = records.at(-1)
    const isBusy = error instanceof Problem && error.code === 'overloaded'
    if (!last || !isBusy) throw error
    return { records, nextAfter: last.id }
  }
  return { records, nextAfter: messages.length > limit ? wanted.at(-1)?.id : undefined }
}

/** Mail that went away meanwhile is left out. */
async function* recordsOf(
  parsed: Parsed,
  messages: readonly Message[],
  reader: PageReader,
): AsyncGenerator<EmailRecord> {
  for (let at = 0; at < messages.length; at += AT_ONCE) {
    const some = messages.slice(at, at + AT_ONCE)
    const mails = await Promise.all(
      some.map(({ rawId, recipient: mailbox, size }) =>
        parsed(rawId, { ...reader, mailbox, size }),
      ),
    )
    for (const [index, message] of some.entries()) {
      const mail = mails[index]
      if (mail) yield emailRecord(message, mail)
    }
  }
}

function sizeOf(record: EmailRecord): number {
  return Buffer.byteLength(JSON.stringify(record))
}

function scopeOf(deps: EmailsDeps, { keyId, to }: EmailQuery): ReaderScope {
  return { keyId, pool: seesPool(deps.readerPool, to), to, now: deps.now() }
}

function seesPool(pool: ReaderPool, to: Address | undefined): boolean {
  return pool === 'open' || (pool === 'by-address' && to !== undefined)
}

/** `ann@box.test`, or the same with a name around it: `Ann <ann@box.test>`. */
export function parseTo(text: string): Address {
  const [, inside] = /^[^<>]*<([^<>]*)>\s*$/.exec(text) ?? []
  const address = parseAddress((inside ?? text).trim())
  if (!address) {
    throw new Problem('invalid_parameter', 'to: give one e-mail address; a + is written %2B.')
  }
  return address
}

export interface AwaitEmailsDeps extends AdmitDeps, EmailsDeps {
  readerPolls: SharedPolls<ReaderView>
}

/** What a key may see, as one poll found it. Shared by all who wait with this key for the same address. */
export interface ReaderView {
  key: ApiKey
  mark: string
  /** 0: there is none. */
  newestId(): Promise<number>
}

interface Wait {
  caller: Caller
  query: EmailQuery
  seconds: number
  /** True when what the key may see is worth an answer. */
  worth(view: Pick<ReaderView, 'mark' | 'newestId'>): boolean | Promise<boolean>
  signal: AbortSignal
  /** How often to look without being woken. */
  lookMs: number
}

/** Waits until there is something worth an answer or the time is over. Refuses when the key does not last so long. */
export async function awaitEmails(
  deps: AwaitEmailsDeps,
  { caller, query, seconds, worth, signal, lookMs }: Wait,
): Promise<{ key: ApiKey; mark: string; timedOut: boolean }> {
  const wanted: Wanted<ReaderView> = {
    key: `${secretHash(caller.keyText ?? '')} ${query.to ?? ''}`,
    topics: topicsOf(deps, query),
    open: (left) => () => readerView(deps, { keyText: caller.keyText, query, left }),
    intervalMs: lookMs,
    signal,
  }
  return await pollUntil(deps.readerPolls, { ...wanted, seconds }, async (view, over) => {
    const { key, mark } = view
    admitRead(deps, caller, key)
    const found = await worth(view)
    // Who has gone by now is not charged.
    signal.throwIfAborted()
    return found || over ? { key, mark, timedOut: !found } : undefined
  })
}

interface Watched {
  keyText: string | undefined
  query: EmailQuery
  /** Aborted when nobody waits any more. */
  left: AbortSignal
}

async function readerView(
  deps: AwaitEmailsDeps,
  { keyText, query, left }: Watched,
): Promise<ReaderView> {
  const key = await readAgain(deps, keyText)
  left.throwIfAborted()
  const mark = await emailsMark(deps, query)
  let newestId: Promise<number> | undefined
  return {
    key,
    mark,
    newestId() {
      newestId ??= newestEmail(deps, query)
      return newestId
    },
  }
}

function topicsOf({ readerPool }: EmailsDeps, { keyId, to }: EmailQuery): MailboxId[] {
  const own = readerTopic('key', keyId)
  if (!seesPool(readerPool, to)) return [own]
  return [own, to === undefined ? POOL : readerTopic('pool', to)]
}
