import type { FromHeader } from '../core/address-rules.ts'
import type { HeaderSummary, NamedAddress } from '../core/message.ts'
import { cleanLine } from '../core/text.ts'
import { possibleAddresses, readAddress, readMailboxes } from './addresses.ts'
import { readHeader, unfold } from './header-fields.ts'
import { decodeEncodedWords } from './header-values.ts'

const MAX_SUBJECT = 998
const MAX_SENDER = 320
// Enough for the longest subject and name in their longest encoding. More would only cost the SMTP thread time.
const MAX_SUBJECT_BYTES = 16 * 1024
const MAX_FROM_BYTES = 4 * 1024

/**
 * Sender and subject, for lists. The sender is the first mailbox with an address in the first From field, else the
 * envelope sender: one rule, whatever else the mail claims.
 */
export function readHead(raw: Uint8Array, mailFrom: string): HeaderSummary {
  let from: string | undefined
  let subject: string | undefined
  for (const { key, value } of readHeader(raw).fields) {
    if (key === 'from') from ??= value
    else if (key === 'subject') subject ??= value
    if (from !== undefined && subject !== undefined) break
  }
  const sender = from === undefined ? undefined : firstMailbox(from)
  return {
    senderName: sender?.name ?? '',
    senderEmail: sender?.address ?? envelopeSender(mailFrom),
    subject: readSubject(subject ?? ''),
  }
}

/** For the rules of an address, which need exactly one From field. */
export function readFromHeader(raw: Uint8Array): FromHeader {
  const { fields, complete } = readHeader(raw)
  const [from, ...more] = fields.filter(({ key }) => key === 'from').take(2)
  const isOnly = complete && more.length === 0
  return { address: from && isOnly ? firstMailbox(from.value)?.address : undefined }
}

/** Of all From fields: whichever address a program shows, it is among them. */
export function readFromAddresses(raw: Uint8Array): string[] {
  const fields = [...readHeader(raw).fields.filter(({ key }) => key === 'from')]
  // What lists show is among these, however many @ signs there are.
  const shown = [...mailboxesOf(fields[0]?.value ?? '')].map(({ address }) => address)
  const possible = possibleAddresses(fields.map(({ value }) => unfold(value)))
  return [...new Set([...shown, ...possible])].filter((address) => address !== '')
}

/** A name without an address would be shown with another sender's address. */
function firstMailbox(from: string): NamedAddress | undefined {
  return mailboxesOf(from).find(({ address }) => address)
}

function mailboxesOf(from: string): Generator<NamedAddress> {
  return readMailboxes(unfold(shortenFrom(from)))
}

/** Ends after a whole mailbox: half an address is a different address. */
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
