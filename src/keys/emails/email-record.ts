import { type Address, parseAddress } from '../../base/address.ts'
import { type Message, scanResult } from '../../mail/rules/message.ts'
import type { Link, Mail, NamedAddress } from '../../shared/mail.ts'

export interface EmailRecord {
  id: number
  /** The mailbox address; `to` is the matching entry of the To or Cc header. */
  recipient: Address
  from: string
  to: string
  subject: string
  receivedAt: Date
  body: string
  truncated: boolean
  /** The most likely one; null if it has none. */
  code: string | null
  /** The most important ones first. */
  links: Link[]
  /** How many, besides inline images. */
  attachments: number
  hasHtml: boolean
}

export const MAX_BODY_BYTES = 256 * 1024
export const MAX_LINKS = 10

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
    code: mail.codes[0]?.value ?? null,
    links: mail.links.slice(0, MAX_LINKS),
    attachments: scanResult(mail).attachments,
    hasHtml: mail.html !== null,
  }
}

/** The entry of To or Cc with this recipient, in header form; the address itself if there is none. */
export function toHeader(recipient: Address, { to, cc }: Mail): string {
  const entry = [...to, ...cc].find(({ address }) => parseAddress(address) === recipient)
  return entry ? entryText(entry) : recipient
}

function entryText({ name, address }: NamedAddress): string {
  if (name === '') return address
  // RFC 5322 3.2.3: these need quotes in a display name.
  const quoted = /[()<>[\]:;@\\,."]/.test(name) ? `"${name.replace(/["\\]/g, '\\$&')}"` : name
  return `${quoted} <${address}>`
}

/** As many whole characters as fit into this many bytes of UTF-8. */
function truncateUtf8(text: string, maxBytes: number): string {
  // A UTF-16 unit is at most three bytes, so most texts need no encoding.
  if (text.length * 3 <= maxBytes) return text
  return text.slice(0, new TextEncoder().encodeInto(text, new Uint8Array(maxBytes)).read)
}
