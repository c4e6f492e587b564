import { type Address, parseAddress } from '../../core/address.ts'
import { secretHash } from '../../core/id.ts'
import type { ApiKey } from '../../core/key.ts'
import type { Mail, Message, NamedAddress } from '../../core/message.ts'
import { Problem } from '../../core/problem.ts'
import { keyedTopic, type MailboxId, POOL } from '../../core/session.ts'
import type { KeyScope, MailStore } from '../../store/store.ts'
import { type Caller, type KeyAuthDeps, requireQuota, rereadKey } from '../keys/authenticate-key.ts'
import type { ReadParsed } from './parsed-mail.ts'
import { type PollSource, pollUntil, type SharedPolls } from './shared-poll.ts'

interface EmailsDeps {
  store: Pick<MailStore, 'keyMailVersion' | 'listKeyMail'>
  parsed: ReadParsed
  readerPool: PoolAccess
  now(): Date
}

/** What keys see of the pool: all of it, what they know the address of, or nothing. */
export type PoolAccess = 'open' | 'by-address' | 'off'

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
export async function emailsVersion(deps: EmailsDeps, query: EmailQuery): Promise<string> {
  return await deps.store.keyMailVersion(scopeOf(deps, query))
}

/** The id of the newest message that the key may see; 0 when there is none. */
export async function newestEmailId(deps: EmailsDeps, query: EmailQuery): Promise<number> {
  const page = { sinceId: 0, beforeId: undefined, limit: 1 }
  const [message] = await deps.store.listKeyMail(scopeOf(deps, query), page)
  return message?.id ?? 0
}

/** For whom a page is made. */
interface PageRequest {
  /** Rate-limit key of the client; undefined if rate limits do not apply. */
  client: string | undefined
  signal?: AbortSignal
}

/** One page. It ends early where it grows too large or takes too long, but never before its first record. */
export async function listEmails(
  deps: EmailsDeps,
  query: EmailQuery,
  reader: PageRequest,
): Promise<EmailPage> {
  const { sinceId, beforeId, limit } = query
  // One more than wanted tells whether there is a next page.
  const page = { sinceId, beforeId, limit: limit + 1 }
  const messages = await deps.store.listKeyMail(scopeOf(deps, query), page)
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
  parsed: ReadParsed,
  messages: readonly Message[],
  reader: PageRequest,
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

function scopeOf(deps: EmailsDeps, { keyId, to }: EmailQuery): KeyScope {
  return { keyId, pool: seesPool(deps.readerPool, to), to, now: deps.now() }
}

function seesPool(pool: PoolAccess, to: Address | undefined): boolean {
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

export interface EmailsWaitDeps extends KeyAuthDeps, EmailsDeps {
  readerPolls: SharedPolls<KeyView>
}

/** What a key may see, as one poll found it. Shared by all who wait with this key for the same address. */
export interface KeyView {
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
  isDone(view: Pick<KeyView, 'mark' | 'newestId'>): boolean | Promise<boolean>
  signal: AbortSignal
  /** How often to look without being woken. */
  lookMs: number
}

/** Waits until there is something worth an answer or the time is over. Refuses when the key does not last so long. */
export async function awaitEmails(
  deps: EmailsWaitDeps,
  { caller, query, seconds, isDone, signal, lookMs }: Wait,
): Promise<{ key: ApiKey; mark: string; timedOut: boolean }> {
  const wanted: PollSource<KeyView> = {
    key: `${secretHash(caller.keyText ?? '')} ${query.to ?? ''}`,
    topics: queryTopics(deps, query),
    open: (left) => () => keyView(deps, { keyText: caller.keyText, query, left }),
    intervalMs: lookMs,
    signal,
  }
  return await pollUntil(deps.readerPolls, { ...wanted, seconds }, async (view, over) => {
    const { key, mark } = view
    requireQuota(deps, caller, key)
    const found = await isDone(view)
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

async function keyView(deps: EmailsWaitDeps, { keyText, query, left }: Watched): Promise<KeyView> {
  const key = await rereadKey(deps, keyText)
  left.throwIfAborted()
  const mark = await emailsVersion(deps, query)
  let newestId: Promise<number> | undefined
  return {
    key,
    mark,
    newestId() {
      newestId ??= newestEmailId(deps, query)
      return newestId
    },
  }
}

function queryTopics({ readerPool }: EmailsDeps, { keyId, to }: EmailQuery): MailboxId[] {
  const own = keyedTopic('key', keyId)
  if (!seesPool(readerPool, to)) return [own]
  return [own, to === undefined ? POOL : keyedTopic('pool', to)]
}

/** A mail as a reader with a key sees it. */
export interface EmailRecord {
  id: number
  /** Whose mail it is; `to` is how the mail itself names him. */
  recipient: Address
  from: string
  to: string
  subject: string
  receivedAt: Date
  body: string
  truncated: boolean
}

const MAX_BODY_BYTES = 256 * 1024

export function emailRecord(message: Message, mail: Mail): EmailRecord {
  const text = mail.text ?? ''
  const body = truncateUtf8(text, MAX_BODY_BYTES)
  return {
    id: message.id,
    recipient: message.recipient,
    from: message.senderEmail,
    to: toHeader(message.recipient, mail),
    subject: message.subject,
    receivedAt: message.receivedAt,
    body,
    truncated: mail.truncated === true || body.length < text.length,
  }
}

/** The entry of To or Cc that is this recipient, as a header would have it; he himself when none is. */
function toHeader(recipient: Address, { to, cc }: Mail): string {
  const entry = [...to, ...cc].find(({ address }) => parseAddress(address) === recipient)
  return entry ? entryText(entry) : recipient
}

function entryText({ name, address }: NamedAddress): string {
  if (name === '') return address
  // RFC 5322 3.2.3: these do not stand in a display name without quotes.
  const quoted = /[()<>[\]:;@\\,."]/.test(name) ? `"${name.replace(/["\\]/g, '\\$&')}"` : name
  return `${quoted} <${address}>`
}

/** As many whole characters as fit into so many bytes of UTF-8. */
function truncateUtf8(text: string, maxBytes: number): string {
  // A UTF-16 unit is at most three bytes: most texts need no look at their bytes.
  if (text.length * 3 <= maxBytes) return text
  const bytes = Buffer.from(text)
  if (bytes.length <= maxBytes) return text
  let end = maxBytes
  while (isContinuationByte(bytes[end])) end -= 1
  return bytes.toString('utf8', 0, end)
}

function isContinuationByte(byte = 0): boolean {
  return (byte & 0xc0) === 0x80
}
