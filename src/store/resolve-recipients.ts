import { type DomainRow, domainOf } from '../domains/store.ts'
import { isAfterAliasCreation } from '../gmail/rules.ts'
import {
  decideRecipient,
  type FetchedRecipient,
  fitsMailbox,
  type MailboxUsage,
  type ReceiveLimits,
  type Recipient,
  type RecipientFacts,
  type RecipientRefusal,
} from '../mail/rules/recipient.ts'
import { type MailboxId, OPERATOR, POOL } from '../mail/rules/session.ts'
import type { AddMailResult, NewFetchedMail, NewMail, StoredRecipient } from '../mail/store.ts'
import { type RulesRow, rulesOf } from '../mail/store-rows.ts'
import {
  type FromHeader,
  RULE_REFUSALS,
  type RuledAddress,
  ruleRefusal,
} from '../shared/address-rules.ts'

// Rules do not change, so those that need the header were known at RCPT. If in doubt they refuse.
const NOT_READ: FromHeader = { address: undefined }

/** What decides about a recipient, with the key that the session was created with. */
export type FoundRecipient = RecipientFacts & { keyId: string | undefined }

/** The recipients that remain, or why there are none. 'full' if one of their mailboxes is. Runs inside the transaction. */
export function resolveRecipients(
  mail: Pick<NewMail, 'recipients' | 'receivedAt' | 'from'> & {
    size: number
    stored: number
  },
  limits: ReceiveLimits,
  find: (recipient: Recipient) => FoundRecipient,
): StoredRecipient[] | Exclude<AddMailResult['outcome'], 'stored'> {
  const taken: StoredRecipient[] = []
  const { receivedAt: now, size, stored, from = NOT_READ } = mail
  const context = { limits, now, size, stored, from, others: taken }
  const refusals = new Set<RecipientRefusal>()
  for (const { address, mailbox } of mail.recipients) {
    const { keyId, ...facts } = find({ address, mailbox })
    // The address may have been reassigned since RCPT.
    const isSame = facts.session === undefined || facts.session.id === mailbox
    const found = decideRecipient(address, facts, context)
    if ('mailbox' in found) {
      if (found.mailbox === mailbox) taken.push({ address, mailbox, keyId })
    } else if (found.refused === 'full') return 'full'
    else if (isSame) refusals.add(found.refused)
  }
  if (taken.length > 0) return taken
  return RULE_REFUSALS.find((one) => refusals.has(one)) ?? 'no_recipients'
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
  // Where it is not read, it does not matter.
  ledger: { unknownUntil: undefined },
  poolAddress: NO_USAGE,
  pool: NO_USAGE,
  operator: NO_USAGE,
  senderShare: undefined,
} satisfies RecipientFacts

interface Alias extends MailboxUsage, RuledAddress {
  createdAt: Date
  keyId: string | undefined
}

/**
 * The recipients of fetched mail whose alias existed when it was received and still does: those with room, those whose
 * mailbox is full, for whom the mail stays in the account, and whether the rules of others refuse it.
 */
export function resolveFetched(
  mail: Pick<NewFetchedMail, 'recipients' | 'receivedAt' | 'from'> & { size: number },
  limits: ReceiveLimits,
  find: (recipient: FetchedRecipient) => Alias | undefined,
): {
  taken: (StoredRecipient & FetchedRecipient)[]
  full: FetchedRecipient[]
  isRefused: boolean
} {
  const found = mail.recipients.flatMap((recipient) => {
    const alias = find(recipient)
    const isTheirs = alias && isAfterAliasCreation(mail.receivedAt, alias.createdAt)
    return isTheirs ? [{ recipient, alias }] : []
  })
  const { from = NOT_READ } = mail
  const {
    roomy = [],
    full = [],
    refused = [],
  } = Object.groupBy(found, ({ alias }) => {
    if (ruleRefusal(alias, from)) return 'refused'
    return fitsMailbox(alias, limits.mailbox, mail.size) ? 'roomy' : 'full'
  })
  return {
    taken: roomy.map(({ recipient, alias: { keyId } }) => ({ ...recipient, keyId })),
    full: full.map(({ recipient }) => recipient),
    isRefused: refused.length > 0,
  }
}

/** Why fetched mail was stored for nobody. */
export function fetchedOutcome({
  full,
  isRefused,
}: Omit<ReturnType<typeof resolveFetched>, 'taken'>) {
  if (full.length > 0) return 'full'
  return isRefused ? 'refused' : 'no_recipients'
}

// SEARCH SINCE compares whole days, in the server's time zone.
const LOOK_BACK_MS = 2 * 86_400_000

/** Fetched mail received before this need not be remembered: it is older than every live alias. */
export function seenCutoff(oldestAlias: Date | undefined, now: Date): number {
  return (oldestAlias ?? now).getTime() - LOOK_BACK_MS
}
