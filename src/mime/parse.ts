import { cleanLine, cleanText } from '../base/text.ts'
import { findCodesAndLinks } from '../codes/extract.ts'
import { type AttachmentInfo, type Mail, type NamedAddress, PARSE_VERSION } from '../shared/mail.ts'
import { readMailboxes } from './addresses.ts'
import { type Body, chooseBody, unwrapFlowed } from './body.ts'
import { decodeBytes, decodeTransfer } from './decode.ts'
import { safeFilename } from './filename.ts'
import { fieldText, unfold } from './header-fields.ts'
import { readSender } from './header-summary.ts'
import { decodeEncodedWords, readDate } from './header-values.ts'
import { htmlConverter } from './html-text.ts'
import { declaredCharset, type Part, readParts } from './parts.ts'

const MAX_CORRESPONDENTS = 1_000
const MAX_HEADER_VALUE = 10_000
const MAX_HEADER_NAME = 256
const MAX_CONTENT_ID = 256
/** Longer text keeps its line breaks. */
const MAX_FLOWED = 1_000_000
const MAX_HTML_TEXT = 256 * 1024
/** Longer than any text made from HTML. */
const MAX_COMPARED = 2_000_000
const CR = 0x0d
const LF = 0x0a

/** Parses a whole mail. Runs in a sandboxed child process, because the input is untrusted. */
export function parseMail(raw: Uint8Array): Mail {
  const declared = declaredCharset(raw)
  const { root, fields, isWhole } = readParts(raw, declared)
  const body = chooseBody(root)
  const line = (key: string) => fieldText(fields, key, declared)
  const mailboxes = (key: string) =>
    fields
      .filter((field) => field.key === key)
      .map(({ value, isCut }) => readMailboxes(unfold(value, declared), isCut))
  const sender = readSender(fields.find(({ key }) => key === 'from')?.value ?? '', declared)
  const from = authors(sender, mailboxes('from').slice(0, 1))
  const { text, html, htmlText, plain, isTruncated } = readBody(body)
  return {
    version: PARSE_VERSION,
    from,
    to: correspondents(mailboxes('to')),
    cc: correspondents(mailboxes('cc')),
    replyTo: correspondents(mailboxes('reply-to')),
    messageId: readMessageId(line('message-id')),
    date: readDate(line('date')),
    text,
    html,
    ...(htmlText && { htmlText }),
    headers: fields.map(({ name, value }) => ({
      name: cleanLine(name, MAX_HEADER_NAME),
      value: cleanLine(decodeEncodedWords(unfold(value, declared)), MAX_HEADER_VALUE),
    })),
    attachments: body.attachments.map((found, index) => describeAttachment(found, index, raw)),
    ...findCodesAndLinks({
      sender,
      subject: cleanLine(decodeEncodedWords(line('subject')), MAX_HEADER_VALUE),
      otpToken: line('otp-token'),
      listUnsubscribe: line('list-unsubscribe'),
      plain,
      html,
    }),
    ...(isTruncated || !isWhole ? { truncated: true as const } : {}),
  }
}

function describeAttachment(
  { part, related, alternative }: Body['attachments'][number],
  index: number,
  raw: Uint8Array,
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
    inline: part.disposition === 'inline' || (related && contentId !== '') || alternative,
    position: { start, end: start + body.length, encoding },
  }
}

/** `plain` is the text of those parts that are plain text. */
function readBody({ texts, htmls }: Body) {
  const { convert, isTruncated } = htmlConverter()
  const isHtml = (part: Part) => part.type === 'text/html'
  const html = htmls.some(isHtml)
    ? htmls.map((part) => (isHtml(part) ? readText(part) : htmlFromText(readText(part)))).join('\n')
    : null
  const pieces = texts.map((part) => ({
    converted: isHtml(part),
    text: isHtml(part) ? convert(readText(part)) : readText(part),
  }))
  const join = (some: typeof pieces) => some.map((piece) => piece.text).join('\n')
  const text = join(pieces)
  // Some senders send blank text as the alternative to their HTML.
  const hasOther = htmls.some((part) => isHtml(part) && !texts.includes(part))
  const shown = html !== null && hasOther && text.trim() === '' ? convert(html) : text
  const plain = join(pieces.filter(({ converted }) => !converted))
  const htmlText = html !== null && plain.trim() !== '' ? fullerText(html, text) : undefined
  return { text: shown, html, htmlText, plain, isTruncated: isTruncated() }
}

/** Undefined if the HTML says no more than the text. It is cut where pages cut it. */
function fullerText(html: string, text: string): Mail['htmlText'] {
  const { convert, isTruncated } = htmlConverter()
  const converted = convert(html)
  if (letterCount(converted) <= letterCount(text.slice(0, MAX_COMPARED))) return undefined
  const shown = converted.slice(0, MAX_HTML_TEXT)
  return { text: shown, truncated: isTruncated() || shown.length < converted.length }
}

/** Without the targets of links, which are often longer than what they are about. */
function letterCount(text: string): number {
  return text.replace(/https?:\/\/\S+/g, '').replace(/[^\p{L}\p{N}]+/gu, '').length
}

/** The text of a part with LF line ends. */
function readText(part: Part): string {
  const charset = part.parameters.get('charset') ?? ''
  const bytes = decodeTransfer(part.body, part.encoding)
  // CR is removed from the bytes, because a mail may have millions of lines; wide charsets are converted to UTF-8 first.
  const wide = /16|ucs|unicode/i.test(charset)
  const text = wide
    ? withoutCr(Buffer.from(decodeBytes(bytes, charset))).toString()
    : decodeBytes(withoutCr(bytes), charset)
  if (!isFlowed(part, text)) return cleanText(text)
  return cleanText(unwrapFlowed(text, part.parameters.get('delsp')?.toLowerCase() === 'yes'))
}

/** Replaces CRLF with LF. */
function withoutCr(bytes: Buffer): Buffer {
  if (!bytes.includes(CR)) return bytes
  const result = Buffer.allocUnsafe(bytes.length)
  let length = 0
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0
    if (byte !== CR || bytes[at + 1] !== LF) result[length++] = byte
  }
  return result.subarray(0, length)
}

function isFlowed(part: Part, text: string): boolean {
  const declared = part.parameters.get('format')?.toLowerCase() === 'flowed'
  return declared && part.type === 'text/plain' && text.length <= MAX_FLOWED
}

function htmlFromText(text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  return `<div style="white-space: pre-wrap">${escaped}</div>`
}

/** The sender that lists show comes first, also without an address. */
function authors(
  sender: NamedAddress | undefined,
  fields: readonly Iterable<NamedAddress>[],
): NamedAddress[] {
  const all = correspondents(fields)
  return sender?.address === '' ? [sender, ...all.filter((one) => one.address)] : all
}

/** The mailboxes with an address; if there are none, the names. */
function correspondents(fields: readonly Iterable<NamedAddress>[]): NamedAddress[] {
  const all: NamedAddress[] = []
  for (const mailboxes of fields) {
    for (const one of mailboxes) {
      if (all.length >= MAX_CORRESPONDENTS) break
      all.push({ name: one.name, address: one.address })
    }
  }
  return all.some((one) => one.address) ? all.filter((one) => one.address) : all
}

function readMessageId(line: string): string | null {
  const text = /<([^<>]*)>/.exec(line)?.[1] ?? line
  return /^[!-~]{1,998}$/.test(text.trim()) ? text.trim() : null
}
