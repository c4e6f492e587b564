import type { Address } from '../../core/address.ts'
import {
  type AccountWish,
  chooseAccount,
  DOT_BYTES,
  dotAliases,
  plusAlias,
  randomTag,
  tagRoom,
} from '../../core/gmail.ts'
import type { MailDomain } from '../../core/mail-domain.ts'
import { Problem } from '../../core/problem.ts'
import { type AccountsDeps, type OfferedAccount, offeredAccounts } from './accounts.ts'

export interface GmailSiteDeps extends AccountsDeps {
  randomBytes(count: number): Uint8Array
}

/** Where a session is to be had. */
export interface Site {
  /** Undefined: at an account. */
  domain: MailDomain | undefined
  /** Undefined: at a mail domain. */
  accountId: number | undefined
  /** To be tried, one after the other, until one is free. */
  addresses: Iterable<Address>
}

// With 40 random bits a second collision in a row means that chance itself is broken.
export const RANDOM_ATTEMPTS = 5

/** Of which account an alias is given, and which. */
export async function gmailSite(
  deps: GmailSiteDeps,
  wish: AccountWish & { prefix: string | undefined },
): Promise<Site> {
  const offered = await offeredAccounts(deps)
  const account = chooseAccount(offered, wish)
  const accounts = new Set(offered.map(({ email }) => email))
  const addresses =
    wish.prefix === undefined
      ? randomAliases(account, accounts, deps.randomBytes)
      : [tagged(account.email, wish.prefix)]
  return { domain: undefined, accountId: account.id, addresses }
}

function tagged(account: Address, prefix: string): Address {
  const alias = plusAlias(account, prefix)
  if (alias) return alias
  const room = tagRoom(account)
  throw new Problem('invalid_prefix', `prefix: at this account at most ${room} letters have room.`)
}

// Of a name with more than five letters there are more forms than that; when so many are taken most of the others are.
const DOT_FORMS = 16

/** Dot forms first where the account has them, then tags. */
function* randomAliases(
  { email, rules }: OfferedAccount,
  accounts: ReadonlySet<Address>,
  randomBytes: GmailSiteDeps['randomBytes'],
): Generator<Address> {
  if (rules.dots) {
    for (const alias of dotAliases(email, randomBytes(DOT_BYTES), DOT_FORMS)) {
      // The operator may have listed one inbox in two spellings.
      if (!accounts.has(alias)) yield alias
    }
  }
  for (let attempt = 0; attempt < RANDOM_ATTEMPTS; attempt += 1) {
    const alias = plusAlias(email, randomTag(email, randomBytes))
    if (!alias) throw new Error('no random tag has room behind the name of an account')
    yield alias
  }
}
