import { type Address, hostOf, joinAddress, localOf } from './address.ts'
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

export interface AccountWish {
  auto: boolean
  gmailId: number | undefined
  domainId: number | undefined
}

export function isHealthy({ active, health }: GmailAccount): boolean {
  return active && (health === 'ok' || health === 'slow')
}

/** The account that a session is made at: the one that is named, or the healthy one with the fewest aliases. */
export function chooseAccount(accounts: readonly GmailAccount[], wish: AccountWish): GmailAccount {
  const named = namedAccount(accounts, wish)
  const candidates = (named ? [named] : accounts).filter(isHealthy)
  const [first, ...others] = candidates
  if (!first) {
    throw new Problem('gmail_unavailable', 'No Gmail account is available at the moment.', 60)
  }
  return others.reduce((best, one) => (one.aliases < best.aliases ? one : best), first)
}

function namedAccount(
  accounts: readonly GmailAccount[],
  { auto, gmailId, domainId }: AccountWish,
): GmailAccount | undefined {
  if (auto) return undefined
  const find = (wanted: number | undefined) =>
    accounts.find(({ id, active }) => active && id === wanted)
  const named = find(gmailId)
  if (gmailId !== undefined && !named) {
    throw new Problem('unknown_gmail_account', 'gmail_id: no active Gmail account has this id.')
  }
  return named ?? find(domainId)
}

/** `account+tag@host`; undefined when that is longer than an address may be. */
export function plusAlias(account: Address, tag: string): Address | undefined {
  const local = `${localOf(account)}+${tag}`
  return local.length > 64 ? undefined : joinAddress(local, hostOf(account))
}

/**
 * The account's address with its dots elsewhere, by chance; undefined for the account's own spelling and for the one
 * without dots, which people write without thinking.
 */
export function dotAlias(account: Address, random: Uint8Array): Address | undefined {
  const letters = [...localOf(account).replaceAll('.', '')]
  const dotted = letters
    .map((letter, at) => {
      const bit = ((random[at >> 3] ?? 0) >> (at & 7)) & 1
      return at > 0 && bit === 1 ? `.${letter}` : letter
    })
    .join('')
  const usual = dotted === letters.join('') || dotted === localOf(account)
  return usual || dotted.length > 64 ? undefined : joinAddress(dotted, hostOf(account))
}

/** `jo…e@gmail.com` */
export function maskAccount(email: Address): string {
  const local = localOf(email)
  const shown =
    local.length < 5 ? `${local.slice(0, 1)}…` : `${local.slice(0, 2)}…${local.slice(-1)}`
  return `${shown}@${hostOf(email)}`
}
