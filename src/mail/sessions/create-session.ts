import { type Address, joinAddress, type MailDomain } from '../../base/address.ts'
import { makeSecretToken, secretHash } from '../../base/id.ts'
import { Problem } from '../../base/problem.ts'
import { utcTimestamp } from '../../base/time.ts'
import { type AccountsDeps, type ActiveAccount, activeAccounts } from '../../gmail/accounts.ts'
import {
  type AccountRequest,
  chooseAccount,
  DOT_ALIAS_RANDOM_BYTES,
  dotAliases,
  maxTagLength,
  plusAlias,
  randomTag,
} from '../../gmail/rules.ts'
import { type AddressRules, NO_RULES } from '../../shared/address-rules.ts'
import type { ServiceDeps } from '../deps.ts'
import { parsePrefix, randomLocalPart } from '../rules/prefix.ts'
import { requestedLifetimeSeconds, type Session } from '../rules/session.ts'
import { sessionDomains } from './domains.ts'

type CreateSessionDeps = AccountsDeps &
  Pick<ServiceDeps, 'randomBytes' | 'lifetimes' | 'cooldownMs'>

interface SessionRequest {
  prefix?: string | undefined
  domainId?: number | undefined
  ttl?: number | undefined
  useGmail?: boolean | undefined
  gmailAuto?: boolean | undefined
  gmailId?: number | undefined
  /** The key that may also read the session's mail. */
  keyId?: string | undefined
  rules?: AddressRules
}

/** Assigns a free address and returns its token. Only the hash of the token is stored. */
export async function createSession(
  deps: CreateSessionDeps,
  request: SessionRequest,
): Promise<{ session: Session; token: string }> {
  const prefix = request.prefix === undefined ? undefined : parsePrefix(request.prefix)
  const { domain, accountId, addresses } = await addressSource(deps, request, prefix)
  const keyed = request.keyId !== undefined
  const seconds = requestedLifetimeSeconds(request.ttl, {
    domain,
    lifetimes: deps.lifetimes,
    keyed,
  })
  const token = makeSecretToken(deps.randomBytes(32))

  for (const { address, isRandom } of addresses) {
    const createdAt = deps.now()
    const session = await deps.store.createSession({
      address,
      tokenHash: secretHash(token),
      keyId: request.keyId,
      accountId,
      createdAt,
      expiresAt: new Date(createdAt.getTime() + seconds * 1000),
      cooldownMs: deps.cooldownMs,
      isRandom,
      rules: request.rules ?? NO_RULES,
    })
    if (session) return { session, token }
  }
  if (prefix === undefined) throw new Error('all random addresses were taken')
  const where = domain ? `at ${domain.name}` : 'at this account'
  throw new Problem('address_taken', `prefix: "${prefix}" ${where} is ${await whyTaken(deps)}.`)
}

async function whyTaken({ store }: CreateSessionDeps): Promise<string> {
  const ledger = await store.readLedger()
  if (!ledger?.unknownUntil) return 'taken'
  const until = utcTimestamp(ledger.unknownUntil)
  return `taken, or may have been: until ${until} UTC, omit prefix for a random address`
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
  const isRandom = prefix === undefined
  const locals = isRandom ? randomNames(deps.randomBytes) : [prefix]
  const addresses = Iterator.from(locals).map((local) => {
    return { address: joinAddress(local, domain.name), isRandom }
  })
  return { domain, accountId: undefined, addresses }
}

function* randomNames(randomBytes: ServiceDeps['randomBytes']): Generator<string> {
  for (let attempt = 0; attempt < RANDOM_ATTEMPTS; attempt += 1) yield randomLocalPart(randomBytes)
}

function chooseDomain(
  domains: readonly MailDomain[],
  wanted: number | undefined,
  randomBytes: ServiceDeps['randomBytes'],
): MailDomain {
  const draw = Buffer.from(randomBytes(4)).readUInt32BE()
  const domain =
    wanted === undefined
      ? domains[draw % Math.max(domains.length, 1)]
      : domains.find(({ id }) => id === wanted)
  if (domain) return domain
  if (wanted === undefined) {
    throw new Problem('overloaded', 'No mail domain accepts new sessions at the moment.', 60)
  }
  throw new Problem('unknown_domain', 'domain_id: no active domain has this id.')
}

interface AddressSource {
  /** Undefined for an alias of an account. */
  domain: MailDomain | undefined
  /** Undefined for an address at a mail domain. */
  accountId: number | undefined
  /** Tried in order until one is free. */
  addresses: Iterable<Candidate>
}

interface Candidate {
  address: Address
  /** Drawn from so many that nobody can have had it. */
  isRandom: boolean
}

// With 40 random bits, repeated collisions mean a broken random generator.
const RANDOM_ATTEMPTS = 5

async function gmailAddressSource(
  deps: AccountsDeps & Pick<ServiceDeps, 'randomBytes'>,
  request: AccountRequest & { prefix: string | undefined },
): Promise<AddressSource> {
  const offered = await activeAccounts(deps)
  const account = chooseAccount(offered, request)
  const accounts = new Set(offered.map(({ email }) => email))
  const addresses =
    request.prefix === undefined
      ? randomAliases(account, accounts, deps.randomBytes)
      : [{ address: taggedAlias(account.email, request.prefix), isRandom: false }]
  return { domain: undefined, accountId: account.id, addresses }
}

function taggedAlias(account: Address, prefix: string): Address {
  const alias = plusAlias(account, prefix)
  if (alias) return alias
  const room = maxTagLength(account)
  throw new Problem('invalid_prefix', `prefix: use at most ${room} characters with this account.`)
}

// Names with more than five letters have more spellings than that; if this many are taken, most others are, too.
const DOT_FORMS = 16

/** Dot aliases first if the account supports them, then tags. */
function* randomAliases(
  { email, rules }: ActiveAccount,
  accounts: ReadonlySet<Address>,
  randomBytes: ServiceDeps['randomBytes'],
): Generator<Candidate> {
  if (rules.dots) {
    for (const alias of dotAliases(email, randomBytes(DOT_ALIAS_RANDOM_BYTES), DOT_FORMS)) {
      // The operator may have listed the same inbox in two spellings.
      if (!accounts.has(alias)) yield { address: alias, isRandom: false }
    }
  }
  for (let attempt = 0; attempt < RANDOM_ATTEMPTS; attempt += 1) {
    const alias = plusAlias(email, randomTag(email, randomBytes))
    if (!alias) throw new Error('the account name leaves no room for a random tag')
    yield { address: alias, isRandom: true }
  }
}
