import { type Address, hostOf, joinAddress, localOf } from './address.ts'
import { randomLocalPart } from './prefix.ts'
import { Problem } from './problem.ts'

/** An account whose aliases we give out. Its secrets stay in the operator's file. */
export interface GmailAccount {
  /** Stable for ever, and no mail domain's id. */
  id: number
  email: Address
  /** The operator's switch: only active ones are offered and fetched. */
  active: boolean
  health: AccountHealth
  /** What is wrong, in words; empty when nothing is. */
  reason: string
  /** Sessions that live at its aliases. */
  aliases: number
}

/** starting: not heard of yet since we started. slow: it works, but is near one of its limits. */
export type AccountHealth = 'starting' | 'ok' | 'slow' | 'failing'

/** What the operator's file allows of an account. */
export interface AccountRules {
  email: Address
  /** Whether dots in the part before the `@` make aliases: true of Gmail, of few others. */
  dots: boolean
  /** Whether strangers see the account's address only in part. */
  masked: boolean
}

/** Where fetching from a folder stands: what was looked at, and under which numbering. */
export interface FolderState {
  uidValidity: number
  lastUid: number
}

const FIRST_RETRY_MS = 60_000
const MAX_RETRY_MS = 6 * 3_600_000

/**
 * How long a mail rests that an alias had no room for, after this many further tries. Before the first of them not at all: it
 * is made only once the alias seems to have room.
 */
export function deferredRetryMs(tries: number): number {
  if (tries <= 0) return 0
  return Math.min(FIRST_RETRY_MS * 2 ** Math.min(tries - 1, 20), MAX_RETRY_MS)
}

export interface AccountRequest {
  auto: boolean
  gmailId: number | undefined
  domainId: number | undefined
}

/** Whether its mail reaches us, as far as we know. */
export function isHealthy({ health }: Pick<GmailAccount, 'health'>): boolean {
  return health === 'ok' || health === 'slow'
}

/** Of the accounts that are offered, the one that is named, or the healthy one with the fewest aliases. */
export function chooseAccount<Account extends GmailAccount>(
  offered: readonly Account[],
  wish: AccountRequest,
): Account {
  const named = namedAccount(offered, wish)
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
// 40 random bits, of letters that are not taken for each other.
const TAG_LETTERS = 8
const LETTERS = 'abcdefghijkmnpqrstuvwxyz23456789'

/** Of an account's name before the `@`: behind a longer one no random tag has room. */
export const MAX_ACCOUNT_LOCAL_LENGTH = MAX_LOCAL_LENGTH - '+'.length - TAG_LETTERS

/** How many letters a tag of this account may have. */
export function maxTagLength(account: Address): number {
  return MAX_LOCAL_LENGTH - localOf(account).length - '+'.length
}

/** `account+tag@host`; undefined when that is longer than an address may be. */
export function plusAlias(account: Address, tag: string): Address | undefined {
  if (tag.length > maxTagLength(account)) return undefined
  return joinAddress(`${localOf(account)}+${tag}`, hostOf(account))
}

/** A tag that nobody guesses, of words that can be read out where they have room. */
export function randomTag(account: Address, randomBytes: (count: number) => Uint8Array): string {
  const readable = randomLocalPart(randomBytes)
  if (readable.length <= maxTagLength(account)) return readable
  return Array.from(randomBytes(TAG_LETTERS), (byte) => LETTERS[byte % LETTERS.length]).join('')
}

/**
 * Some of the ways to write the account's address with its dots elsewhere, by chance and each at most once; all of them
 * where there are no more. Never the account's own, nor the one without dots, which people write without thinking.
 */
export function dotAliases(account: Address, random: Uint8Array, most: number): Address[] {
  const letters = [...localOf(account).replaceAll('.', '')]
  const forms = 2n ** BigInt(letters.length - 1)
  const chance = Buffer.from(random)
  const start = chance.readBigUInt64BE(0)
  // Odd, and the forms are a power of two: so many steps meet each of them once.
  const step = chance.readBigUInt64BE(8) | 1n
  const count = forms < BigInt(most) ? Number(forms) : most
  return Array.from({ length: count }, (_, at) => (start + BigInt(at) * step) % forms)
    .filter((places) => places > 0n)
    .map((places) => dotted(letters, places))
    .filter((local) => local !== localOf(account) && local.length <= MAX_LOCAL_LENGTH)
    .map((local) => joinAddress(local, hostOf(account)))
}

/** How many random bytes dotAliases takes. */
export const DOT_ALIAS_RANDOM_BYTES = 16

/** A dot before the second letter where the lowest bit is set, and so on. */
function dotted(letters: readonly string[], places: bigint): string {
  return letters
    .map((letter, at) => (at > 0 && (places >> BigInt(at - 1)) & 1n ? `.${letter}` : letter))
    .join('')
}

// The server's clock is not ours, and tells whole seconds.
const MAX_CLOCK_SKEW_MS = 600_000

/**
 * Whether mail that the account took at this time can be for an alias that was made at that. What came before may be for a
 * former owner of the same address, and lies in the account until somebody looks back.
 */
export function isAfterAliasCreation(receivedAt: Date, aliasMadeAt: Date): boolean {
  return receivedAt.getTime() >= aliasMadeAt.getTime() - MAX_CLOCK_SKEW_MS
}

/** `jo…e@gmail.com` */
export function maskAccountEmail(email: Address): string {
  const local = localOf(email)
  const shown =
    local.length < 5 ? `${local.slice(0, 1)}…` : `${local.slice(0, 2)}…${local.slice(-1)}`
  return `${shown}@${hostOf(email)}`
}
