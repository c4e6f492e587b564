import {
  place,
  type ReceiveLimits,
  type Recipient,
  type RecipientFacts,
} from '../core/recipient.ts'
import { type MailboxId, OPERATOR, POOL } from '../core/session.ts'
import type { KeptRecipient, NewMail } from './store.ts'

/** What decides about a recipient inside the commit; with the key that the session was made with. */
export type FoundRecipient = RecipientFacts & { keyId: string | undefined }

/** Those who are still there, or that one has no room. */
export function decide(
  mail: Pick<NewMail, 'recipients' | 'receivedAt'> & { size: number },
  limits: ReceiveLimits,
  find: (recipient: Recipient) => FoundRecipient,
): KeptRecipient[] | 'full' {
  const rules = { limits, now: mail.receivedAt, size: mail.size }
  const taken: KeptRecipient[] = []
  for (const { address, mailbox } of mail.recipients) {
    const { keyId, ...facts } = find({ address, mailbox })
    const found = place(address, withTaken(facts, taken, mail.size), rules)
    if ('refused' in found && found.refused === 'full') return 'full'
    // The address may have changed hands between RCPT and now.
    if ('mailbox' in found && found.mailbox === mailbox) taken.push({ address, mailbox, keyId })
  }
  return taken
}

/** The shared boxes as they will be when this mail's recipients so far have it. */
function withTaken(
  facts: RecipientFacts,
  taken: readonly Recipient[],
  size: number,
): RecipientFacts {
  const more = (box: MailboxId) => taken.filter(({ mailbox }) => mailbox === box).length
  const pool = plus(facts.pool, more(POOL), size)
  return { ...facts, pool, operator: plus(facts.operator, more(OPERATOR), size) }
}

export function plus({ count, bytes }: Level, more: number, size: number): Level {
  return { count: count + more, bytes: bytes + more * size }
}

type Level = RecipientFacts['pool']

const NOTHING: Level = { count: 0, bytes: 0 }
/** Of an address that nothing lies at. */
export const NOWHERE = {
  domain: undefined,
  session: undefined,
  everHeld: false,
  poolAddress: NOTHING,
  pool: NOTHING,
  operator: NOTHING,
} satisfies RecipientFacts
