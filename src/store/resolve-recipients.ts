import { isAfterAliasCreation } from '../core/gmail.ts'
import {
  decideRecipient,
  type FetchedRecipient,
  fitsMailbox,
  type MailboxUsage,
  type ReceiveLimits,
  type Recipient,
  type RecipientFacts,
} from '../core/recipient.ts'
import type { FetchedMail, NewMail, StoredRecipient } from './store.ts'

/** What decides about a recipient inside the commit; with the key that the session was made with. */
export type FoundRecipient = RecipientFacts & { keyId: string | undefined }

/** Those who are still there, or that one has no room. */
export function resolveRecipients(
  mail: Pick<NewMail, 'recipients' | 'receivedAt'> & { size: number; stored: number },
  limits: ReceiveLimits,
  find: (recipient: Recipient) => FoundRecipient,
): StoredRecipient[] | 'full' {
  const taken: StoredRecipient[] = []
  const { receivedAt: now, size, stored } = mail
  const rules = { limits, now, size, stored, others: taken }
  for (const { address, mailbox } of mail.recipients) {
    const { keyId, ...facts } = find({ address, mailbox })
    const found = decideRecipient(address, facts, rules)
    if ('refused' in found && found.refused === 'full') return 'full'
    // The address may have changed hands between RCPT and now.
    if ('mailbox' in found && found.mailbox === mailbox) taken.push({ address, mailbox, keyId })
  }
  return taken
}

export const EMPTY_LEVEL: MailboxUsage = { count: 0, bytes: 0 }
/** Of an address that nothing lies at. */
export const UNKNOWN_RECIPIENT = {
  domain: undefined,
  session: undefined,
  everAssigned: false,
  poolAddress: EMPTY_LEVEL,
  pool: EMPTY_LEVEL,
  operator: EMPTY_LEVEL,
  senderShare: undefined,
} satisfies RecipientFacts

interface Alias {
  createdAt: Date
  keyId: string | undefined
  count: number
  bytes: number
}

/**
 * Those who were there already, are still there (else `find` knows none) and have room; and those who are full, for whom the
 * mail stays in the account.
 */
export function resolveFetched(
  mail: Pick<FetchedMail, 'recipients' | 'receivedAt'> & { size: number },
  limits: ReceiveLimits,
  find: (recipient: FetchedRecipient) => Alias | undefined,
): { taken: (StoredRecipient & FetchedRecipient)[]; full: FetchedRecipient[] } {
  const found = mail.recipients.flatMap((recipient) => {
    const alias = find(recipient)
    const isTheirs = alias && isAfterAliasCreation(mail.receivedAt, alias.createdAt)
    return isTheirs ? [{ recipient, alias }] : []
  })
  const { roomy = [], full = [] } = Object.groupBy(found, ({ alias }) =>
    fitsMailbox(alias, limits.mailbox, mail.size) ? 'roomy' : 'full',
  )
  return {
    taken: roomy.map(({ recipient, alias: { keyId } }) => ({ ...recipient, keyId })),
    full: full.map(({ recipient }) => recipient),
  }
}

// SEARCH SINCE looks at whole days, in the server's time zone.
const LOOK_BACK_MS = 2 * 86_400_000

/** From when on mail that was fetched is remembered: to the oldest alias that lives, and no further. */
export function seenCutoff(oldestAlias: Date | undefined, now: Date): number {
  return (oldestAlias ?? now).getTime() - LOOK_BACK_MS
}
