import type { Bus } from '../bus/bus.ts'
import type { Envelope } from '../core/message.ts'
import type { Recipient } from '../core/recipient.ts'
import { readHead } from '../mime/head.ts'
import type { Kept, MailStore } from '../store/store.ts'

interface Needs {
  store: Pick<MailStore, 'addMail'>
  bus: Pick<Bus, 'wake'>
  now(): Date
}

export interface ReceivedMail {
  /** Without repeats. */
  recipients: Recipient[]
  envelope: Envelope
  raw: Uint8Array
}

/** Keeps one mail for everybody it names who is still there, then wakes those who wait. */
export async function receive(
  { store, bus, now }: Needs,
  { recipients, envelope, raw }: ReceivedMail,
): Promise<Kept['outcome']> {
  const head = readHead(raw, envelope.mailFrom)
  const kept = await store.addMail({ recipients, envelope, head, raw, receivedAt: now() })
  if (kept.outcome === 'kept') for (const mailbox of kept.mailboxes) bus.wake(mailbox)
  return kept.outcome
}
