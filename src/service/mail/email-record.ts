import { type Address, parseAddress } from '../../core/address.ts'
import type { Correspondent, Mail, Message } from '../../core/message.ts'

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
  const body = cut(text, MAX_BODY_BYTES)
  return {
    id: message.id,
    recipient: message.recipient,
    from: message.senderEmail,
    to: namedTo(message.recipient, mail),
    subject: message.subject,
    receivedAt: message.receivedAt,
    body,
    truncated: mail.truncated === true || body.length < text.length,
  }
}

/** The entry of To or Cc that is this recipient, as a header would have it; he himself when none is. */
function namedTo(recipient: Address, { to, cc }: Mail): string {
  const entry = [...to, ...cc].find(({ address }) => parseAddress(address) === recipient)
  return entry ? entryText(entry) : recipient
}

function entryText({ name, address }: Correspondent): string {
  if (name === '') return address
  // RFC 5322 3.2.3: these do not stand in a display name without quotes.
  const quoted = /[()<>[\]:;@\\,."]/.test(name) ? `"${name.replace(/["\\]/g, '\\$&')}"` : name
  return `${quoted} <${address}>`
}

/** As many whole characters as fit into so many bytes of UTF-8. */
function cut(text: string, maxBytes: number): string {
  // A UTF-16 unit is at most three bytes: most texts need no look at their bytes.
  if (text.length * 3 <= maxBytes) return text
  const bytes = Buffer.from(text)
  if (bytes.length <= maxBytes) return text
  let end = maxBytes
  while (isContinued(bytes[end])) end -= 1
  return bytes.toString('utf8', 0, end)
}

function isContinued(byte = 0): boolean {
  return (byte & 0xc0) === 0x80
}
