import { type DomainRow, domainOf } from '../mail/domain-store.ts'
import {
  decideRecipient,
  type MailboxUsage,
  type ReceiveLimits,
  type Recipient,
  type RecipientFacts,
  type RecipientRefusal,
} from '../mail/rules/recipient.ts'
import { type MailboxId, OPERATOR, POOL } from '../mail/rules/session.ts'
import type { AddMailResult, NewMail, StoredRecipient } from '../mail/store.ts'
import { type RulesRow, rulesOf } from '../mail/store-rows.ts'
import { NOT_READ, RULE_REFUSALS } from '../shared/address-rules.ts'

/** What decides about a recipient, with the key that the session was created with. */
export type FoundRecipient = RecipientFacts & { keyId: string | undefined }

/**
 * The recipients that remain, or why there are none. 'full' if one of their mailboxes is; then no refusal is counted. Runs inside
 * the transaction.
 */
export function resolveRecipients(
  mail: Pick<NewMail, 'recipients' | 'receivedAt' | 'from'> & {
    size: number
    stored: number
  },
  limits: ReceiveLimits,
  find: (recipient: Recipient) => FoundRecipient,
  countRefused: (mailbox: MailboxId) => void,
): StoredRecipient[] | Exclude<AddMailResult['outcome'], 'stored'> {
  const taken: StoredRecipient[] = []
  const { receivedAt: now, size, stored, from = NOT_READ } = mail
  const context = { limits, now, size, stored, from, others: taken }
  const refusals: { mailbox: MailboxId; reason: RecipientRefusal }[] = []
  for (const { address, mailbox } of mail.recipients) {
    const { keyId, ...facts } = find({ address, mailbox })
    // The address may have been reassigned since RCPT.
    const isSame = facts.session === undefined || facts.session.id === mailbox
    const found = decideRecipient(address, facts, context)
    if ('mailbox' in found) {
      if (found.mailbox === mailbox) taken.push({ address, ...found, keyId })
    } else if (found.refused === 'full') return 'full'
    else if (isSame) refusals.push({ mailbox, reason: found.refused })
  }
  const byRule = refusals.filter(({ reason }) => RULE_REFUSALS.some((one) => one === reason))
  for (const { mailbox } of byRule) countRefused(mailbox)
  if (taken.length > 0) return taken
  return RULE_REFUSALS.find((one) => byRule.some(({ reason }) => reason === one)) ?? 'no_recipients'
}

/** A mail domain, and the session of the address, if any. */
export type RecipientRow = DomainRow &
  (
    | { mailbox: null }
    | (MailboxUsage &
        RulesRow & {
          mailbox: MailboxId
          owned: boolean | number
          key_id: string | null
          expires_at: number
        })
  )

/** The facts about an address with a session, live or ended; undefined if it has none. */
export function sessionFacts(row: RecipientRow): FoundRecipient | undefined {
  if (row.mailbox === null) return undefined
  const { mailbox: id, owned, expires_at: expiresAt, count, bytes, received } = row
  const session = {
    id,
    expiresAt: new Date(expiresAt),
    count,
    bytes,
    received,
    rules: rulesOf(row),
  }
  return {
    ...UNKNOWN_RECIPIENT,
    domain: domainOf(row),
    // Ended by its owner: not live, whatever the clock says.
    session: owned ? session : undefined,
    keyId: row.key_id ?? undefined,
    inLedger: true,
  }
}

/** The facts about an address at the domain of a key holder. `catchAll`: only if the address has no session, live or ended. */
export function ownFacts(
  row: RecipientRow,
  { bytes, catchAll }: { bytes: number | undefined; catchAll: RecipientRow | undefined },
): FoundRecipient {
  const theirs = (one: RecipientRow | undefined) =>
    one && one.mailbox !== null && one.owned && one.key_id === row.owner ? one : undefined
  return {
    ...(sessionFacts(theirs(row) ?? { ...row, mailbox: null }) ?? UNKNOWN_RECIPIENT),
    domain: domainOf(row),
    keyId: row.owner ?? undefined,
    own: { bytes: bytes ?? 0, catchAll: theirs(catchAll)?.mailbox },
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
  inLedger: false,
  // Where it is not read, it does not matter.
  ledger: { unknownUntil: undefined },
  poolAddress: NO_USAGE,
  pool: NO_USAGE,
  operator: NO_USAGE,
  senderShare: undefined,
} satisfies RecipientFacts
