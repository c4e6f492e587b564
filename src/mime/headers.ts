import { isUtf8 } from 'node:buffer'
import type { HeaderSummary, NamedAddress } from '../core/message.ts'
import { cleanLine } from '../core/text.ts'
import { readAddress, readMailboxes } from './addresses.ts'
import { decodeEncodedWords } from './header-values.ts'

export const MAX_HEADER_BYTES = 100 * 1024
const MAX_HEADER_LINES = 1_000

/** One header field; the value as it came, folded, one character per byte. */
export interface Field {
  /** The name in lower case. */
  key: string
  /** The name as written. */
  name: string
  value: string
}

/** The header block of a mail up to its limit, one character per byte. */
export function headerBlock(raw: Uint8Array): string {
  const head = Buffer.from(raw.buffer, raw.byteOffset, Math.min(raw.length, MAX_HEADER_BYTES))
  if (head[0] === LF || (head[0] === CR && head[1] === LF)) return ''
  return head.toString('latin1', 0, headerEnd(head))
}

/** The fields in order; lines that are none are passed over, as is what lies beyond the limit of lines. */
export function* readFields(block: string): Generator<Field> {
  let start = 0
  for (let lines = 0; start < block.length && lines < MAX_HEADER_LINES; ) {
    let end = lineEnd(block, start)
    lines += 1
    while (isBlank(block.charCodeAt(end)) && lines < MAX_HEADER_LINES) {
      end = lineEnd(block, end)
      lines += 1
    }
    const name = FIELD_NAME.exec(block.slice(start, Math.min(end, start + MAX_NAME)))
    if (name?.[1]) {
      const value = block.slice(start + name[0].length, end)
      yield { key: name[1].toLowerCase(), name: name[1], value }
    }
    start = end
  }
}

/** The value on one line, its bytes read as UTF-8 where they are that, else as Windows-1252. */
export function unfold(value: string): string {
  const line = value.replace(LINE_BREAK, ' ')
  if (ASCII.test(line)) return line.trim()
  const bytes = Buffer.from(line, 'latin1')
  return (isUtf8(bytes) ? bytes.toString('utf8') : WINDOWS_1252.decode(bytes)).trim()
}

const LF = 0x0a
const CR = 0x0d
const MAX_NAME = 256
// RFC 5322 4.5: old mail may have blanks before the colon. A line that begins with a blank is no field of its own.
const FIELD_NAME = /^([!-9;-~]+)[ \t]*:/
// A bare CR is no line end of ours, and nothing may follow one unseen.
const LINE_BREAK = /[\r\n]+[ \t]*/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII has them
const ASCII = /^[\u0000-\u007f]*$/
const WINDOWS_1252 = new TextDecoder('windows-1252')

function headerEnd(head: Buffer): number {
  const crlf = head.indexOf('\n\r\n', 0, 'latin1')
  const end = crlf < 0 ? head.length : crlf + 1
  const lf = head.subarray(0, end).indexOf('\n\n', 0, 'latin1')
  if (lf >= 0) return lf + 1
  // Cut by the limit: half a line would say something else than the whole.
  return crlf < 0 && head.length === MAX_HEADER_BYTES ? head.lastIndexOf(LF) + 1 : end
}

function lineEnd(block: string, from: number): number {
  const newline = block.indexOf('\n', from)
  return newline < 0 ? block.length : newline + 1
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}

const MAX_SUBJECT = 998
const MAX_SENDER = 320
// Enough for every character of a longest subject or name in its longest encoding. More would only cost the SMTP thread time.
const MAX_SUBJECT_BYTES = 16 * 1024
const MAX_FROM_BYTES = 4 * 1024

/**
 * Who a mail is from and what it is about, for lists. The sender is the first readable mailbox of the first From
 * header, else the envelope's: one rule, whatever else the mail claims.
 */
export function readHead(raw: Uint8Array, mailFrom: string): HeaderSummary {
  let from: string | undefined
  let subject: string | undefined
  for (const { key, value } of readFields(headerBlock(raw))) {
    if (key === 'from') from ??= value
    else if (key === 'subject') subject ??= value
    if (from !== undefined && subject !== undefined) break
  }
  const sender = from === undefined ? undefined : firstMailbox(unfold(shortenFrom(from)))
  return {
    senderName: sender?.name ?? '',
    senderEmail: sender?.address ?? envelopeSender(mailFrom),
    subject: subject === undefined ? '' : readSubject(subject),
  }
}

/** The first mailbox with an address. A name without one would stand beside somebody else's. */
function firstMailbox(line: string): NamedAddress | undefined {
  for (const mailbox of readMailboxes(line)) if (mailbox.address) return mailbox
  return undefined
}

/** Ends behind a whole mailbox: the first half of an address is another address. */
function shortenFrom(from: string): string {
  if (from.length <= MAX_FROM_BYTES) return from
  return from.slice(0, from.lastIndexOf('>', MAX_FROM_BYTES) + 1)
}

function readSubject(value: string): string {
  return cleanLine(decodeEncodedWords(unfold(value.slice(0, MAX_SUBJECT_BYTES))), MAX_SUBJECT)
}

function envelopeSender(mailFrom: string): string {
  return readAddress(mailFrom) || cleanLine(mailFrom, MAX_SENDER)
}
