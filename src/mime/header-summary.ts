import type { FromHeader } from '../core/address-rules.ts'
import type { HeaderSummary, NamedAddress } from '../core/message.ts'
import { cleanLine } from '../core/text.ts'
import { firstMailbox, plainAddresses, possibleAddresses, readAddress } from './addresses.ts'
import {
  type DeclaredCharset,
  decodeField,
  fieldsNamed,
  firstFields,
  unfold,
} from './header-fields.ts'
import { decodeEncodedWords } from './header-values.ts'
import { declaredCharset } from './parts.ts'

const MAX_SUBJECT = 998
const MAX_SENDER = 320
// Enough for the longest subject and name in their longest encoding. More would only cost the SMTP thread time.
const MAX_SUBJECT_BYTES = 16 * 1024
const MAX_SENDER_BYTES = 4 * 1024
/** Of all From fields. The rest is compared as far as it is plain. */
const MAX_FROM_BYTES = 64 * 1024

/**
 * Sender and subject, for lists. The sender is the first mailbox of the first From field, with the address of the
 * envelope if it has none: one rule, whatever else the mail claims.
 */
export function readHead(raw: Uint8Array, mailFrom: string): HeaderSummary {
  const fields = firstFields(raw, ['from', 'subject'])
  const declared = declaredCharset(raw)
  const sender = readSender(fields.get('from')?.value ?? '', declared)
  return {
    senderName: sender?.name ?? '',
    senderEmail: sender?.address || envelopeSender(mailFrom),
    subject: readSubject(fields.get('subject')?.value ?? '', declared),
  }
}

/** For the rules of an address, which need exactly one From field. */
export function readFromHeader(raw: Uint8Array): FromHeader {
  const [from, ...more] = fieldsNamed(raw, ['from']).take(2)
  const sender =
    from && more.length === 0 ? readSender(from.value, declaredCharset(raw)) : undefined
  return { address: sender?.address || undefined }
}

/**
 * Of all From fields: whichever address a program shows, it is among them. One at a time, so that the caller can pause: a
 * hostile header has millions. '' if there is none here.
 */
export function* readFromAddresses(raw: Uint8Array): Generator<string> {
  const declared = declaredCharset(raw)
  let read = 0
  let rest = ''
  for (const { value } of fieldsNamed(raw, ['from'])) {
    const left = MAX_FROM_BYTES - read
    read += value.length
    // What lists show is among these.
    if (left === MAX_FROM_BYTES) yield readSender(value, declared)?.address ?? ''
    if (left > 0) {
      const part = value.slice(0, left)
      const texts = new Set([unfold(part), unfold(part, declared)])
      for (const text of texts) yield* possibleAddresses(text)
    }
    if (left < value.length) rest += `,${value}`
    if (rest.length > MAX_FROM_BYTES) {
      yield* plainAddresses(decodeField(rest))
      rest = ''
    }
    yield ''
  }
  yield* plainAddresses(decodeField(rest))
}

/** The first mailbox of a From field; its address is '' if it cannot be used. */
export function readSender(from: string, declared: DeclaredCharset): NamedAddress | undefined {
  return firstMailbox(unfold(shortenFrom(from), declared))
}

/** Ends after a whole mailbox: half an address is a different address. */
function shortenFrom(from: string): string {
  if (from.length <= MAX_SENDER_BYTES) return from
  return from.slice(0, from.lastIndexOf('>', MAX_SENDER_BYTES) + 1)
}

function readSubject(value: string, declared: DeclaredCharset): string {
  const line = unfold(value.slice(0, MAX_SUBJECT_BYTES), declared)
  return cleanLine(decodeEncodedWords(line), MAX_SUBJECT)
}

function envelopeSender(mailFrom: string): string {
  return readAddress(mailFrom) || cleanLine(mailFrom, MAX_SENDER)
}
