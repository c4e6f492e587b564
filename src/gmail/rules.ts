import { type Address, hostOf, joinAddress, localOf } from '../base/address.ts'
import { Problem } from '../base/problem.ts'
import { backoffDelay } from '../base/time.ts'
import { randomLocalPart } from '../mail/rules/prefix.ts'
import {
  type FetchedRecipient,
  fitsMailbox,
  type MailboxUsage,
  type ReceiveLimits,
} from '../mail/rules/recipient.ts'
import type { MailboxId } from '../mail/rules/session.ts'
import type { AliasRequest } from '../mail/sessions/alias-accounts.ts'
import type { NewMail, StoredRecipient } from '../mail/store.ts'
import { NOT_READ, type RuledAddress, ruleRefusal } from '../shared/address-rules.ts'

/** An account whose aliases are assigned to sessions. Its secrets stay in the operator's file. */
export interface GmailAccount {
  /** Never changes, and never equals the id of a mail domain. */
  id: number
  email: Address
  /** Set by the operator: only active accounts are offered and fetched from. */
  active: boolean
  health: AccountHealth
  /** Why it is not `ok`; empty if it is. */
  reason: string
  /** Number of live sessions at its aliases. */
  aliases: number
}

/** starting: no report yet since the start. slow: it works, but polling is throttled. */
export type AccountHealth = 'starting' | 'ok' | 'slow' | 'failing'

/** An account of the operator's file, without its secrets. */
export interface ConfiguredAccount {
  email: Address
  /** In the file; the operator's commands have a switch of their own. */
  active: boolean
  /** Whether the server ignores dots in the local part, as Gmail does, so that dots make aliases. */
  dots: boolean
  /** Whether the public sees the account's address masked. */
  masked: boolean
}

/** Progress of fetching from a folder: UIDVALIDITY and the last UID seen. */
export interface FolderState {
  uidValidity: number
  lastUid: number
}

/** One mail of an account, for at least one alias. */
export interface FetchedMail {
  folder: string
  uid: number
  state: FolderState
  recipients: FetchedRecipient[]
  raw: Uint8Array
  /** When the account received it (INTERNALDATE). */
  receivedAt: Date
}

/** Mail that did not fit the mailboxes of its aliases. */
export interface DeferredMail {
  uid: number
  /** One of the aliases it was sent to. */
  address: Address
  /** The sessions whose mailboxes were full. */
  mailboxes: readonly MailboxId[]
  /** False if all of them have ended. */
  wanted: boolean
}

const DEFERRED_RETRY = { first: 60_000, max: 6 * 3_600_000 }

/**
 * Delay before the next attempt to store a mail that did not fit its alias, after this many retries. The first retry has no
 * delay: it happens only once the alias seems to have room.
 */
export function deferredRetryMs(tries: number): number {
  return backoffDelay(tries, DEFERRED_RETRY)
}

export type AccountRequest = Omit<AliasRequest, 'prefix'>

/** Whether its mail reaches us, as far as known. */
export function isHealthy({ health }: Pick<GmailAccount, 'health'>): boolean {
  return health === 'ok' || health === 'slow'
}

/** The requested account, or the healthy one with the fewest aliases. */
export function chooseAccount<Account extends GmailAccount>(
  offered: readonly Account[],
  request: AccountRequest,
): Account {
  const named = namedAccount(offered, request)
  const candidates = named ? [named] : offered
  const [first, ...others] = candidates.filter(isHealthy)
  if (!first) throw gmailUnavailable(candidates)
  return others.reduce((best, one) => (one.aliases < best.aliases ? one : best), first)
}

const RETRY_SECONDS = 60
// A first login takes a second or two.
const RETRY_STARTING_SECONDS = 5

function gmailUnavailable(candidates: readonly GmailAccount[]): Problem {
  const soon = candidates.some(({ health }) => health === 'starting')
  return new Problem(
    'gmail_unavailable',
    'No Gmail account is available at the moment.',
    soon ? RETRY_STARTING_SECONDS : RETRY_SECONDS,
  )
}

function namedAccount<Account extends GmailAccount>(
  offered: readonly Account[],
  { auto, gmailId, domainId }: AccountRequest,
): Account | undefined {
  if (auto) return undefined
  if (gmailId === undefined) return offered.find(({ id }) => id === domainId)
  const named = offered.find(({ id }) => id === gmailId)
  if (named) return named
  throw new Problem('unknown_gmail_account', 'gmail_id: no active Gmail account has this id.')
}

// RFC 5321 4.5.3.1.1
const MAX_LOCAL_LENGTH = 64
// 40 random bits, in letters and digits that are not easily confused.
const TAG_LETTERS = 8
const LETTERS = 'abcdefghijkmnpqrstuvwxyz23456789'

/** A longer local part would leave no room for a random tag. */
export const MAX_ACCOUNT_LOCAL_LENGTH = MAX_LOCAL_LENGTH - '+'.length - TAG_LETTERS

export function maxTagLength(account: Address): number {
  return MAX_LOCAL_LENGTH - localOf(account).length - '+'.length
}

/** `account+tag@host`; undefined if it would be too long for an address. */
export function plusAlias(account: Address, tag: string): Address | undefined {
  if (tag.length > maxTagLength(account)) return undefined
  return joinAddress(`${localOf(account)}+${tag}`, hostOf(account))
}

/** An unguessable tag, of pronounceable words where they fit. */
export function randomTag(account: Address, randomBytes: (count: number) => Uint8Array): string {
  const readable = randomLocalPart(randomBytes)
  if (readable.length <= maxTagLength(account)) return readable
  return Array.from(randomBytes(TAG_LETTERS), (byte) => LETTERS[byte % LETTERS.length]).join('')
}

/**
 * Random, distinct spellings of the account's address with other dots; all of them if there are fewer than `most`. Never the
 * account's own spelling, nor the one without dots, which people commonly type.
 */
export function dotAliases(account: Address, random: Uint8Array, most: number): Address[] {
  const letters = [...localOf(account).replaceAll('.', '')]
  const forms = 2n ** BigInt(letters.length - 1)
  const chance = Buffer.from(random)
  const start = chance.readBigUInt64BE(0)
  // Odd, and the number of forms is a power of two: stepping visits each form once.
  const step = chance.readBigUInt64BE(8) | 1n
  const count = forms < BigInt(most) ? Number(forms) : most
  return Array.from({ length: count }, (_, at) => (start + BigInt(at) * step) % forms)
    .filter((places) => places > 0n)
    .map((places) => dotted(letters, places))
    .filter((local) => local !== localOf(account) && local.length <= MAX_LOCAL_LENGTH)
    .map((local) => joinAddress(local, hostOf(account)))
}

export const DOT_ALIAS_RANDOM_BYTES = 16

/** Bit 0 puts a dot before the second letter, and so on. */
function dotted(letters: readonly string[], places: bigint): string {
  return letters
    .map((letter, at) => (at > 0 && (places >> BigInt(at - 1)) & 1n ? `.${letter}` : letter))
    .join('')
}

// The server's clock may differ from ours, and INTERNALDATE has whole seconds.
const MAX_CLOCK_SKEW_MS = 600_000

/**
 * Whether mail that the account received at this time can be for an alias created at that time. Earlier mail may be for a
 * previous owner of the same alias.
 */
export function isAfterAliasCreation(receivedAt: Date, aliasMadeAt: Date): boolean {
  return receivedAt.getTime() >= aliasMadeAt.getTime() - MAX_CLOCK_SKEW_MS
}

interface Alias extends MailboxUsage, RuledAddress {
  createdAt: Date
  keyId: string | undefined
}

/**
 * The recipients of fetched mail whose alias existed when it was received and still does: those with room, those whose
 * mailbox is full, for whom the mail stays in the account, and whether the rules of others refuse it.
 */
export function resolveFetched(
  mail: Pick<NewMail, 'receivedAt' | 'from'> & { recipients: FetchedRecipient[]; size: number },
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
