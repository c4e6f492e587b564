import type { Bus } from '../../bus/bus.ts'
import type { Envelope } from '../../core/message.ts'
import type { Recipient } from '../../core/recipient.ts'
import { type MailboxId, POOL, readerTopic } from '../../core/session.ts'
import { readHead } from '../../mime/header.ts'
import type { Kept, KeptRecipient, MailStore } from '../../store/store.ts'

interface Deps {
  store: Pick<MailStore, 'addMail'>
  bus: Pick<Bus, 'wake'>
  now(): Date
}

interface ReceivedMail {
  /** Without repeats. */
  recipients: Recipient[]
  envelope: Envelope
  raw: Uint8Array
  /** Whose share of a shared mailbox it counts towards; undefined: the sender is exempt. */
  senderNetwork?: string | undefined
}

/** Keeps one mail for everybody it names who is still there, then wakes those who wait. */
export async function receive(
  { store, bus, now }: Deps,
  mail: ReceivedMail,
): Promise<Kept['outcome']> {
  const head = readHead(mail.raw, mail.envelope.mailFrom)
  const kept = await store.addMail({ ...mail, head, receivedAt: now() })
  if (kept.outcome === 'kept') for (const topic of topicsOf(kept.recipients)) bus.wake(topic)
  return kept.outcome
}

/** The mailboxes, and what readers with a key wait for. */
export function topicsOf(recipients: readonly KeptRecipient[]): Set<MailboxId> {
  const topics = new Set<MailboxId>()
  for (const { address, mailbox, keyId } of recipients) {
    topics.add(mailbox)
    if (mailbox === POOL) topics.add(readerTopic('pool', address))
    if (keyId !== undefined) topics.add(readerTopic('key', keyId))
  }
  return topics
}
