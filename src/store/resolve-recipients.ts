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
import { type MailboxId, OPERATOR, POOL } from '../core/session.ts'
import { type DomainRow, domainOf } from './rows.ts'
import type { NewFetchedMail, NewMail, StoredRecipient } from './store.ts'

/** What decides about a recipient, with the key that the session was created with. */
export type FoundRecipient = RecipientFacts & { keyId: string | undefined }

/** The recipients that remain, or 'full' if one of their mailboxes is. Runs inside the transaction. */
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
    // The address may have been reassigned since RCPT.
    if ('mailbox' in found && found.mailbox === mailbox) taken.push({ address, mailbox, keyId })
  }
  return taken
}

/** A mail domain, and the session of the address, if any. */
export type RecipientRow = DomainRow &
  (
    | { mailbox: null }
    | (MailboxUsage & {
        mailbox: MailboxId
        owned: boolean | number
        key_id: string | null
        expires_at: number
      })
  )

/** The facts about an address with a session, live or ended; undefined if it has none. */
export function sessionFacts(row: RecipientRow): FoundRecipient | undefined {
  if (row.mailbox === null) return undefined
  const { mailbox: id, owned, expires_at: expiresAt, count, bytes } = row
  return {
    ...UNKNOWN_RECIPIENT,
    domain: domainOf(row),
    // Ended by its owner: not live, whatever the clock says.
    session: owned ? { id, expiresAt: new Date(expiresAt), count, bytes } : undefined,
    keyId: row.key_id ?? undefined,
    everAssigned: true,
  }
}

/** What a sender holds of the shared mailboxes. */
export function senderShareOf(
  shares: readonly (MailboxUsage & { mailbox: MailboxId })[],
): RecipientFacts['senderShare'] {
  const of = (mailbox: MailboxId) => shares.find((row) => row.mailbox === mailbox) ?? NO_USAGE
  return { pool: of(POOL), operator: of(OPERATOR) }
}

export const NO_USAGE: MailboxUsage = { count: 0, bytes: 0 }
export const UNKNOWN_RECIPIENT = {
  domain: undefined,
  session: undefined,
  everAssigned: false,
  poolAddress: NO_USAGE,
  pool: NO_USAGE,
  operator: NO_USAGE,
  senderShare: undefined,
} satisfies RecipientFacts

interface Alias {
  createdAt: Date
  keyId: string | undefined
  count: number
  bytes: number
}

/**
 * The recipients of fetched mail whose alias existed when it was received and still does: those with room, and those whose
 * mailbox is full, for whom the mail stays in the account.
 */
export function resolveFetched(
  mail: Pick<NewFetchedMail, 'recipients' | 'receivedAt'> & { size: number },
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

// SEARCH SINCE compares whole days, in the server's time zone.
const LOOK_BACK_MS = 2 * 86_400_000

/** Fetched mail received before this need not be remembered: it is older than every live alias. */
export function seenCutoff(oldestAlias: Date | undefined, now: Date): number {
  return (oldestAlias ?? now).getTime() - LOOK_BACK_MS
}
