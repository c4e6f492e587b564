import {
  type Level,
  place,
  type ReceiveLimits,
  type Recipient,
  type RecipientFacts,
} from '../core/recipient.ts'
import type { KeptRecipient, NewMail } from './store.ts'

/** What decides about a recipient inside the commit; with the key that the session was made with. */
export type FoundRecipient = RecipientFacts & { keyId: string | undefined }

/** Those who are still there, or that one has no room. */
export function resolveRecipients(
  mail: Pick<NewMail, 'recipients' | 'receivedAt'> & { size: number; stored: number },
  limits: ReceiveLimits,
  find: (recipient: Recipient) => FoundRecipient,
): KeptRecipient[] | 'full' {
  const taken: KeptRecipient[] = []
  const { receivedAt: now, size, stored } = mail
  const rules = { limits, now, size, stored, others: taken }
  for (const { address, mailbox } of mail.recipients) {
    const { keyId, ...facts } = find({ address, mailbox })
    const found = place(address, facts, rules)
    if ('refused' in found && found.refused === 'full') return 'full'
    // The address may have changed hands between RCPT and now.
    if ('mailbox' in found && found.mailbox === mailbox) taken.push({ address, mailbox, keyId })
  }
  return taken
}

export const NOTHING: Level = { count: 0, bytes: 0 }
/** Of an address that nothing lies at. */
export const NOWHERE = {
  domain: undefined,
  session: undefined,
  everHeld: false,
  poolAddress: NOTHING,
  pool: NOTHING,
  operator: NOTHING,
  senderShare: undefined,
} satisfies RecipientFacts
