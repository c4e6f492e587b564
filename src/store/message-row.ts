import type { Address } from '../core/address.ts'
import type { Message, MessageSummary } from '../core/message.ts'
import type { MailboxId } from '../core/session.ts'

/** A message as each engine keeps it, but for where its bytes lie. */
export interface MessageRow {
  mailbox: MailboxId
  id: number
  recipient: Address
  sender_name: string
  sender_email: string
  subject: string
  received_at: number
  size: number
  code: string | null
}

export function messageOf(row: MessageRow, rawId: number): Message {
  return { ...summaryOf(row), rawId, recipient: row.recipient, size: row.size }
}

export function summaryOf(row: MessageRow): MessageSummary {
  return {
    id: row.id,
    senderName: row.sender_name,
    senderEmail: row.sender_email,
    subject: row.subject,
    receivedAt: new Date(row.received_at),
    code: row.code ?? undefined,
  }
}
