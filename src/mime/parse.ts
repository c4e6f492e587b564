import type { AttachmentInfo, Mail, NamedAddress } from '../core/message.ts'
import { cleanLine, cleanText } from '../core/text.ts'
import { findCodesAndLinks } from '../extract/extract.ts'
import { readMailboxes } from './addresses.ts'
import { type Body, chooseBody, unwrapFlowed } from './body.ts'
import { decodeBytes, decodeTransfer } from './decode.ts'
import { safeFilename } from './filename.ts'
import { decodeEncodedWords, readDate } from './header-values.ts'
import { type Field, unfold } from './headers.ts'
import { htmlConverter } from './html-text.ts'
import { type Part, readParts } from './parts.ts'

const MAX_CORRESPONDENTS = 1_000
const MAX_HEADER_VALUE = 10_000
const MAX_HEADER_NAME = 256
const MAX_CONTENT_ID = 256
/** Longer texts keep their line breaks: no person wrote them. */
const MAX_FLOWED = 1_000_000
const CR = 0x0d
const LF = 0x0a

/** Reads a whole mail. Runs in a child process: what it is given was written by strangers. */
export function parseMail(raw: Uint8Array): Mail {
  const { root, fields, isWhole } = readParts(raw)
  const body = chooseBody(root)
  const named = (key: string) => fields.filter((field) => field.key === key)
  const from = correspondents(named('from').slice(0, 1))
  const { text, html, plain, isTruncated } = readBody(body)
  return {
    from,
    to: correspondents(named('to')),
    cc: correspondents(named('cc')),
    replyTo: correspondents(named('reply-to')),
    messageId: readMessageId(fieldLine(fields, 'message-id')),
    date: readDate(fieldLine(fields, 'date')),
    text,
    html,
    headers: fields.map(({ name, value }) => ({
      name: cleanLine(name, MAX_HEADER_NAME),
      value: cleanLine(decodeEncodedWords(unfold(value)), MAX_HEADER_VALUE),
    })),
    attachments: body.attachments.map(({ part, related }, index) =>
      describeAttachment(part, { index, related, raw }),
    ),
    ...findCodesAndLinks({
      sender: from[0],
      subject: cleanLine(decodeEncodedWords(fieldLine(fields, 'subject')), MAX_HEADER_VALUE),
      otpToken: fieldLine(fields, 'otp-token'),
      listUnsubscribe: fieldLine(fields, 'list-unsubscribe'),
      plain,
      html,
    }),
    ...(isTruncated || !isWhole ? { truncated: true as const } : {}),
  }
}

interface AttachmentContext {
  index: number
  related: boolean
  raw: Uint8Array
}

function describeAttachment(
  part: Part,
  { index, related, raw }: AttachmentContext,
): AttachmentInfo {
  const contentId = cleanLine(part.contentId.replace(/^<|>$/g, ''), MAX_CONTENT_ID)
  const { body, encoding } = part
  const start = body.length === 0 ? 0 : body.byteOffset - raw.byteOffset
  return {
    index,
    filename: safeFilename(part.filename, index, part.type),
    contentType: part.type,
    size: decodeTransfer(body, encoding).length,
    contentId: contentId || null,
    inline: part.disposition === 'inline' || (related && contentId !== ''),
    position: { start, end: start + body.length, encoding },
  }
}

interface BodyText {
  text: string
  html: string | null
  /** What came as text. */
  plain: string
  isTruncated: boolean
}

/** The text and the HTML to show. */
function readBody({ texts, htmls }: Body): BodyText {
  const { convert, isTruncated } = htmlConverter()
  const isHtml = (part: Part) => part.type === 'text/html'
  const html = htmls.some(isHtml)
    ? htmls.map((part) => (isHtml(part) ? readText(part) : htmlFromText(readText(part)))).join('\n')
    : null
  const pieces = texts.map((part) => ({
    made: isHtml(part),
    text: isHtml(part) ? convert(readText(part)) : readText(part),
  }))
  const join = (some: typeof pieces) => some.map((piece) => piece.text).join('\n')
  const text = join(pieces)
  // Some senders offer a text without a word in it beside their HTML.
  const converted = new Set(texts)
  const hasOther = htmls.some((part) => isHtml(part) && !converted.has(part))
  const shown = html !== null && hasOther && text.trim() === '' ? convert(html) : text
  const plain = join(pieces.filter(({ made }) => !made))
  return { text: shown, html, plain: plain, isTruncated: isTruncated() }
}

/** The text of a part, its lines ended by LF. */
function readText(part: Part): string {
  const charset = part.parameters.get('charset') ?? ''
  const bytes = decodeTransfer(part.body, part.encoding)
  // In bytes, because a mail may have millions of lines; where CR is not one byte, after a detour.
  const wide = /16|ucs|unicode/i.test(charset)
  const text = wide
    ? withoutCr(Buffer.from(decodeBytes(bytes, charset))).toString()
    : decodeBytes(withoutCr(bytes), charset)
  return cleanText(
    isFlowed(part, text) ? unwrapFlowed(text, isYes(part.parameters.get('delsp'))) : text,
  )
}

/** Takes the CR out of each CRLF. */
function withoutCr(bytes: Buffer): Buffer {
  if (!bytes.includes(CR)) return bytes
  const kept = Buffer.allocUnsafe(bytes.length)
  let length = 0
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0
    if (byte !== CR || bytes[at + 1] !== LF) kept[length++] = byte
  }
  return kept.subarray(0, length)
}

function isFlowed(part: Part, text: string): boolean {
  const declared = part.parameters.get('format')?.toLowerCase() === 'flowed'
  return declared && part.type === 'text/plain' && text.length <= MAX_FLOWED
}

function isYes(value: string | undefined): boolean {
  return value?.toLowerCase() === 'yes'
}

function htmlFromText(text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  return `<div style="white-space: pre-wrap">${escaped}</div>`
}

/** Those with an address; where nobody has one, the names. */
function correspondents(fields: Field[]): NamedAddress[] {
  const all: NamedAddress[] = []
  for (const field of fields) {
    for (const one of readMailboxes(unfold(field.value))) {
      if (all.length >= MAX_CORRESPONDENTS) break
      all.push(one)
    }
  }
  return all.some((one) => one.address) ? all.filter((one) => one.address) : all
}

function fieldLine(fields: Field[], key: string): string {
  const field = fields.find((one) => one.key === key)
  return field ? unfold(field.value) : ''
}

function readMessageId(line: string): string | null {
  const text = /<([^<>]*)>/.exec(line)?.[1] ?? line
  return /^[!-~]{1,998}$/.test(text.trim()) ? text.trim() : null
}
