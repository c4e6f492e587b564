import { cleanLine } from '../base/text.ts'
import type { FromHeader } from '../shared/address-rules.ts'
import type { HeaderSummary, NamedAddress } from '../shared/mail.ts'
import { firstMailbox, readAddress, readMailboxes } from './addresses.ts'
import { type DeclaredCharset, type FieldRange, findFields, unfold } from './header-fields.ts'
import { decodeEncodedWords } from './header-values.ts'
import { declaredCharset } from './parts.ts'
import { plainAddresses, possibleAddresses, readingsOf } from './possible-addresses.ts'

const MAX_SUBJECT = 998
const MAX_SENDER = 320
// Enough for the longest subject and name in their longest encoding. More would only cost the SMTP thread time.
const MAX_SUBJECT_BYTES = 16 * 1024
const MAX_SENDER_BYTES = 4 * 1024
/** Most bytes of all From fields together. The rest is compared as far as it is plain. */
const MAX_FROM_BYTES = 64 * 1024

/** What is needed of a header when a mail arrives. */
export interface ScannedHeader {
  bytes: Buffer
  declared: DeclaredCharset
  /** By name. */
  first: Map<string, FieldRange>
  /** The first mailbox of the first From field. */
  sender: NamedAddress | undefined
  hasMoreFrom: boolean
}

/** Finds it in one pass, in steps of 64 KB. */
export function* scanHeader(raw: Uint8Array): Generator<undefined, ScannedHeader> {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.length)
  const first = new Map<string, FieldRange>()
  let hasMoreFrom = false
  for (const field of findFields(bytes, ['from', 'subject', 'return-path'])) {
    if (field === undefined) yield undefined
    else if (!first.has(field.key)) first.set(field.key, field)
    else if (field.key === 'from') hasMoreFrom = true
  }
  const declared = declaredCharset(raw)
  // A byte more than is read shows that the field is longer.
  const from = beginningOf({ bytes, first }, 'from', MAX_SENDER_BYTES + 1)
  return { bytes, declared, first, sender: readSender(from, declared), hasMoreFrom }
}

/**
 * Sender and subject, for lists. The sender is the first mailbox of the first From field, with the address of the
 * envelope if it has none: one rule, whatever else the mail claims.
 */
export function readHead(header: ScannedHeader, mailFrom: string): HeaderSummary {
  const { sender } = header
  const subject = unfold(beginningOf(header, 'subject', MAX_SUBJECT_BYTES), header.declared)
  return {
    senderName: sender?.name ?? '',
    senderEmail: sender?.address || envelopeSender(mailFrom),
    subject: cleanLine(decodeEncodedWords(subject), MAX_SUBJECT),
  }
}

/** For the rules of an address, which need exactly one From field. */
export function readFromHeader({ sender, hasMoreFrom }: ScannedHeader): FromHeader {
  return { address: (!hasMoreFrom && sender?.address) || undefined }
}

/** '' if there is none. */
export function readReturnPath(header: ScannedHeader): string {
  const text = unfold(beginningOf(header, 'return-path', MAX_SENDER_BYTES))
  return /<([^<>]*)>/.exec(text)?.[1]?.trim() ?? ''
}

/**
 * Addresses of all From fields: whichever one a program shows, it is among them. One at a time, because a hostile header has
 * millions. '' if there is none here, undefined after each 64 KB: the caller may pause then.
 */
export function* readFromAddresses({
  bytes,
  declared,
  first,
  sender,
  hasMoreFrom,
}: ScannedHeader): Generator<string | undefined> {
  const from = first.get('from')
  if (!from) return
  // What lists show is among these.
  yield sender?.address ?? ''
  let left = MAX_FROM_BYTES
  for (const field of hasMoreFrom ? findFields(bytes, ['from'], from.at) : [from]) {
    if (field === undefined) {
      yield undefined
      continue
    }
    const { start, end } = field
    if (left > 0) {
      const part = bytes.toString('latin1', start, Math.min(end, start + left))
      yield* addressesOf(new Set([unfold(part), unfold(part, declared)]))
      yield ''
    }
    if (left < end - start) yield* plainAddresses(bytes.subarray(start, end))
    left -= end - start
  }
}

/** Of a field, as it may be decoded. */
function* addressesOf(texts: Set<string>): Generator<string> {
  for (const text of texts) yield* readMailboxes(text).map(({ address }) => address)
  for (const text of new Set([...texts].flatMap(readingsOf))) yield* possibleAddresses(text)
}

/** The beginning of the first field with this name, as latin1. */
function beginningOf(
  { bytes, first }: Pick<ScannedHeader, 'bytes' | 'first'>,
  key: string,
  maxBytes: number,
): string {
  const { start, end } = first.get(key) ?? { start: 0, end: 0 }
  return bytes.toString('latin1', start, Math.min(end, start + maxBytes))
}

/** The first mailbox of a From field; its address is '' if it cannot be used. */
export function readSender(from: string, declared: DeclaredCharset): NamedAddress | undefined {
  const isCut = from.length > MAX_SENDER_BYTES
  return firstMailbox(unfold(from.slice(0, MAX_SENDER_BYTES), declared), isCut)
}

function envelopeSender(mailFrom: string): string {
  return readAddress(mailFrom) || cleanLine(mailFrom, MAX_SENDER)
}
