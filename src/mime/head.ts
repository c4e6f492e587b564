import type { Correspondent, MailHead } from '../core/message.ts'
import { cleanLine } from '../core/clean-text.ts'
import { headerBlock, readFields, unfold } from './header-block.ts'
import { readAddress, readMailboxes } from './mailbox.ts'
import { decodeWords } from './words.ts'

const MAX_SUBJECT = 998
const MAX_SENDER = 320
// Enough for every character of a longest subject or name in its longest encoding. More would only cost the SMTP thread time.
const MAX_SUBJECT_BYTES = 16 * 1024
const MAX_FROM_BYTES = 4 * 1024

/**
 * Who a mail is from and what it is about, for lists. The sender is the first readable mailbox of the first From
 * header, else the envelope's: one rule, whatever else the mail claims.
 */
export function readHead(raw: Uint8Array, mailFrom: string): MailHead {
  let from: string | undefined
  let subject: string | undefined
  for (const { key, value } of readFields(headerBlock(raw))) {
    if (key === 'from') from ??= value
    else if (key === 'subject') subject ??= value
    if (from !== undefined && subject !== undefined) break
  }
  const sender = from === undefined ? undefined : firstSender(unfold(shorten(from)))
  return {
    senderName: sender?.name ?? '',
    senderEmail: sender?.address ?? envelopeSender(mailFrom),
    subject: subject === undefined ? '' : readSubject(subject),
  }
}

/** The first mailbox with an address. A name without one would stand beside somebody else's. */
function firstSender(line: string): Correspondent | undefined {
  for (const mailbox of readMailboxes(line)) if (mailbox.address) return mailbox
  return undefined
}

/** Ends behind a whole mailbox: the first half of an address is another address. */
function shorten(from: string): string {
  if (from.length <= MAX_FROM_BYTES) return from
  return from.slice(0, from.lastIndexOf('>', MAX_FROM_BYTES) + 1)
}

function readSubject(value: string): string {
  return cleanLine(decodeWords(unfold(value.slice(0, MAX_SUBJECT_BYTES))), MAX_SUBJECT)
}

function envelopeSender(mailFrom: string): string {
  return readAddress(mailFrom) || cleanLine(mailFrom, MAX_SENDER)
}
