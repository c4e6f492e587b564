import { type Address, joinAddress, type MailDomain } from '../../core/address.ts'
import {
  type AccountRequest,
  chooseAccount,
  DOT_ALIAS_RANDOM_BYTES,
  dotAliases,
  maxTagLength,
  plusAlias,
  randomTag,
} from '../../core/gmail.ts'
import { makeSecretToken, secretHash } from '../../core/id.ts'
import { parsePrefix, randomLocalPart } from '../../core/prefix.ts'
import { Problem } from '../../core/problem.ts'
import { type LifetimeLimits, requestedLifetimeSeconds, type Session } from '../../core/session.ts'
import type { MailStore } from '../../store/store.ts'
import { type AccountsDeps, type ActiveAccount, activeAccounts } from './accounts.ts'
import { sessionDomains } from './domains.ts'

export interface CreateSessionDeps extends GmailAddressDeps {
  store: Pick<MailStore, 'listDomains' | 'listAccounts' | 'createSession'>
  lives: LifetimeLimits
  cooldownMs: number
}

/** What the user asks for; all of it optional. */
interface SessionRequest {
  prefix?: string | undefined
  domainId?: number | undefined
  ttl?: number | undefined
  useGmail?: boolean | undefined
  gmailAuto?: boolean | undefined
  gmailId?: number | undefined
  /** The key that may read the session's mail too. */
  keyId?: string | undefined
}

/** Gives out an address that nobody holds, and the token that opens it. The token is not kept, only its hash. */
export async function createSession(
  deps: CreateSessionDeps,
  wish: SessionRequest,
): Promise<{ session: Session; token: string }> {
  const prefix = wish.prefix === undefined ? undefined : parsePrefix(wish.prefix)
  const { domain, accountId, addresses } = await addressSource(deps, wish, prefix)
  const keyed = wish.keyId !== undefined
  const seconds = requestedLifetimeSeconds(wish.ttl, { domain, lives: deps.lives, keyed })
  const token = makeSecretToken(deps.randomBytes(32))

  for (const address of addresses) {
    const createdAt = deps.now()
    const session = await deps.store.createSession({
      address,
      tokenHash: secretHash(token),
      keyId: wish.keyId,
      accountId,
      createdAt,
      expiresAt: new Date(createdAt.getTime() + seconds * 1000),
      cooldownMs: deps.cooldownMs,
    })
    if (session) return { session, token }
  }
  if (prefix === undefined) throw new Error('all of some random names were taken')
  const where = domain ? ` at ${domain.name}` : ' at this account'
  throw new Problem('address_taken', `prefix: "${prefix}" is taken${where}.`)
}

async function addressSource(
  deps: CreateSessionDeps,
  { useGmail, gmailAuto, gmailId, domainId }: SessionRequest,
  prefix: string | undefined,
): Promise<AddressSource> {
  if (useGmail || gmailAuto) {
    return await gmailAddressSource(deps, { auto: gmailAuto ?? false, gmailId, domainId, prefix })
  }
  const domain = chooseDomain(await sessionDomains(deps), domainId, deps.randomBytes)
  const locals = prefix === undefined ? randomNames(deps.randomBytes) : [prefix]
  const addresses = Iterator.from(locals).map((local) => joinAddress(local, domain.name))
  return { domain, accountId: undefined, addresses }
}

function* randomNames(randomBytes: CreateSessionDeps['randomBytes']): Generator<string> {
  for (let attempt = 0; attempt < RANDOM_ATTEMPTS; attempt += 1) yield randomLocalPart(randomBytes)
}

function chooseDomain(
  domains: readonly MailDomain[],
  wanted: number | undefined,
  randomBytes: CreateSessionDeps['randomBytes'],
): MailDomain {
  const draw = Buffer.from(randomBytes(4)).readUInt32BE()
  const domain =
    wanted === undefined
      ? domains[draw % Math.max(domains.length, 1)]
      : domains.find(({ id }) => id === wanted)
  if (domain) return domain
  if (wanted === undefined) {
    throw new Problem('overloaded', 'No mail domain takes new sessions at the moment.', 60)
  }
  throw new Problem('unknown_domain', 'domain_id: no active domain has this id.')
}

export interface GmailAddressDeps extends AccountsDeps {
  randomBytes(count: number): Uint8Array
}

/** Where a session is to be had. */
export interface AddressSource {
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
export async function gmailAddressSource(
  deps: GmailAddressDeps,
  wish: AccountRequest & { prefix: string | undefined },
): Promise<AddressSource> {
  const offered = await activeAccounts(deps)
  const account = chooseAccount(offered, wish)
  const accounts = new Set(offered.map(({ email }) => email))
  const addresses =
    wish.prefix === undefined
      ? randomAliases(account, accounts, deps.randomBytes)
      : [taggedAlias(account.email, wish.prefix)]
  return { domain: undefined, accountId: account.id, addresses }
}

function taggedAlias(account: Address, prefix: string): Address {
  const alias = plusAlias(account, prefix)
  if (alias) return alias
  const room = maxTagLength(account)
  throw new Problem('invalid_prefix', `prefix: at this account at most ${room} letters have room.`)
}

// Of a name with more than five letters there are more forms than that; when so many are taken most of the others are.
const DOT_FORMS = 16

/** Dot forms first where the account has them, then tags. */
function* randomAliases(
  { email, rules }: ActiveAccount,
  accounts: ReadonlySet<Address>,
  randomBytes: GmailAddressDeps['randomBytes'],
): Generator<Address> {
  if (rules.dots) {
    for (const alias of dotAliases(email, randomBytes(DOT_ALIAS_RANDOM_BYTES), DOT_FORMS)) {
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
