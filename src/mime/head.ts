import type { Correspondent, MailHead } from '../core/message.ts'
import { cleanLine } from './clean.ts'
import { headerBlock, readFields, unfold } from './header-block.ts'
import { readAddress, readMailboxes } from './mailbox.ts'
import { decodeWords } from './words.ts'

const MAX_SUBJECT = 998
const MAX_SENDER = 320
/** Enough for every character of a longest subject in its longest encoding; more would only cost the SMTP thread time. */
const MAX_VALUE = 16 * 1024

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
  const sender = from === undefined ? undefined : firstSender(unfold(from.slice(0, MAX_VALUE)))
  return {
    senderName: sender?.name ?? '',
    senderEmail: sender?.address || envelopeSender(mailFrom),
    subject: subject === undefined ? '' : readSubject(subject),
  }
}

/** The first mailbox with an address; where none has one, the first with a name. */
export function firstSender(line: string): Correspondent | undefined {
  let nameless: Correspondent | undefined
  for (const mailbox of readMailboxes(line)) {
    if (mailbox.address) return mailbox
    nameless ??= mailbox
  }
  return nameless
}

function readSubject(value: string): string {
  return cleanLine(decodeWords(unfold(value.slice(0, MAX_VALUE))), MAX_SUBJECT)
}

function envelopeSender(mailFrom: string): string {
  return readAddress(mailFrom) || cleanLine(mailFrom, MAX_SENDER)
}
