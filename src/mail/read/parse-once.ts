import { freeLarge } from '../../base/free-large.ts'
import { Problem } from '../../base/problem.ts'
import type { Parse, Parser } from '../../mime/parser.ts'
import { type Mail, PARSE_VERSION } from '../../shared/mail.ts'
import type { MailStore } from '../store.ts'
import { parseCompact } from './long-strings.ts'

export interface ParseOnceDeps {
  store: Pick<MailStore, 'readRaw' | 'readParsedJson' | 'saveParsed' | 'storageFault'>
  parser: Pick<Parser, 'use'>
}

/** On whose behalf mail is read. */
export interface Reader {
  /** Rate-limit key of the client; undefined if rate limits do not apply: fairness is then between mailboxes only. */
  client: string | undefined
  mailbox: string | number
}

export interface ParseRequest extends Reader {
  /** Nobody waits for it: it yields to other requests. */
  background?: boolean
  /** The result is not stored, unless a reader shares it. */
  transient?: boolean
}

/** Parses the mail and stores the result; undefined if it was deleted. `stored`: read the result from the store. */
export type ParseOnce = (
  rawId: number,
  request: ParseRequest,
  signal?: AbortSignal,
) => Promise<Mail | 'stored' | undefined>

/** Concurrent requests for a mail, on any thread, share one parse. The mail is read only when it is its turn. */
export function openParseOnce({ store, parser }: ParseOnceDeps): ParseOnce {
  /** Mails that a client waits for. */
  const wanted = new Set<number>()
  let isFull = false

  // A background result must not take scarce space from mail, and a failed write fails everything in its commit.
  async function canStore(): Promise<boolean> {
    return !isFull && (await store.storageFault()) === undefined
  }

  // A full disk must not prevent reading: the next request parses again.
  async function keep(rawId: number, mail: Mail): Promise<boolean> {
    try {
      await store.saveParsed(rawId, mail)
      isFull = false
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      isFull = true
    }
    return !isFull
  }

  async function parseAndKeep(
    rawId: number,
    transient: boolean,
    parse: Parse,
  ): Promise<Mail | 'stored' | undefined> {
    const json = await store.readParsedJson(rawId)
    const stored = json && (await parseCompact(json, MAX_RETURNED_LENGTH)).value
    if (stored && isCurrent(stored as Mail)) return 'stored'
    const raw = await store.readRaw(rawId)
    if (!raw) return undefined
    const mail = await parse(raw.bytes)
    freeLarge(raw.bytes)
    const isKept = wanted.has(rawId) || (!transient && (await canStore()))
    const isStored = isKept && (await keep(rawId, mail))
    return isStored && isLong(mail) ? 'stored' : mail
  }

  return async (rawId, { background = false, transient = false, ...request }, signal) => {
    const isReader = !background && !transient
    if (isReader) wanted.add(rawId)
    try {
      return await parser.use(rawId, { owner: ownerKeys(request), background, signal }, (parse) =>
        parseAndKeep(rawId, transient, parse),
      )
    } finally {
      if (isReader) wanted.delete(rawId)
    }
  }
}

// Each requesting thread gets a copy.
const MAX_RETURNED_LENGTH = 256 * 1024

/** Too long to be returned if it is stored. Fields that are always short are not counted. */
export function isLong({ text, html, htmlText, headers, links }: Mail): boolean {
  let length = (text?.length ?? 0) + (html?.length ?? 0) + (htmlText?.text.length ?? 0)
  for (const { name, value } of headers) length += name.length + value.length
  for (const { url } of links) length += url.length
  return length > MAX_RETURNED_LENGTH
}

/** Nodes of a newer version may already run beside this one. */
export function isCurrent({ version = 0 }: Mail): boolean {
  return version >= PARSE_VERSION
}

/** Keys that work for a reader is charged to. */
export function ownerKeys({ client, mailbox }: Reader): string[] {
  const keys = client === undefined ? [] : [`client ${client}`]
  return [...keys, `mailbox ${mailbox}`]
}
