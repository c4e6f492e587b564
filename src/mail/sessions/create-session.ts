import {
  acceptsSessions,
  type Host,
  hostOf,
  joinAddress,
  type MailDomain,
  parseHost,
} from '../../base/address.ts'
import { makeSecretToken, secretHash } from '../../base/id.ts'
import { Problem } from '../../base/problem.ts'
import { utcTimestamp } from '../../base/time.ts'
import { type AddressRules, NO_RULES } from '../../shared/address-rules.ts'
import type { MailDeps } from '../deps.ts'
import { parsePrefix, randomLabel, randomLocalPart } from '../rules/prefix.ts'
import {
  maxLifetimeSeconds,
  PERMANENT,
  requestedLifetimeSeconds,
  type Session,
} from '../rules/session.ts'
import { parseSubdomain, reservedSubdomain } from '../rules/subdomain.ts'
import type { Candidate } from './alias-accounts.ts'
import { sessionDomains } from './domains.ts'

type CreateSessionDeps = Pick<
  MailDeps,
  'store' | 'aliasAccounts' | 'now' | 'randomBytes' | 'lifetimes' | 'cooldownMs' | 'ownHosts'
>

interface SessionRequest {
  prefix?: string | undefined
  domainId?: number | undefined
  /** The name of a mail domain, instead of its id. */
  domain?: string | undefined
  /** A label below a wildcard domain, or `random`, which is the default there. */
  subdomain?: string | undefined
  /** Seconds. longest: as long as possible there; at a domain of the key without an end. */
  ttl?: number | 'longest' | undefined
  useGmail?: boolean | undefined
  gmailAuto?: boolean | undefined
  gmailId?: number | undefined
  /** The key that may also read the session's mail. */
  keyId?: string | undefined
  /** Never assigned to anybody else. At a domain of the key, only the key gets addresses anyway. */
  isKept?: boolean
  rules?: AddressRules
  label?: string | undefined
}

/** Assigns a free address and returns its token. Only the hash of the token is stored. */
export async function createSession(
  deps: CreateSessionDeps,
  request: SessionRequest,
): Promise<{ session: Session; token: string }> {
  if (request.domainId !== undefined && request.domain !== undefined) {
    throw new Problem('invalid_parameter', 'domain: cannot be combined with domain_id.')
  }
  const own = await findKeyDomain(deps, request)
  const isOwn = own !== undefined
  const prefix = request.prefix === undefined ? undefined : parsePrefix(request.prefix, { isOwn })
  const { domain, accountId, addresses } = await addressSource(deps, request, { prefix, own })
  const expiryFrom = sessionExpiry(deps, request, domain)
  const ownDomain = domain?.owner === undefined ? undefined : domain.name
  const token = makeSecretToken(deps.randomBytes(32))

  let host: Host | undefined
  for (const { address, isRandom } of addresses) {
    const createdAt = deps.now()
    const session = await deps.store.createSession({
      address,
      tokenHash: secretHash(token),
      keyId: request.keyId,
      accountId,
      createdAt,
      expiresAt: expiryFrom(createdAt),
      cooldownMs: deps.cooldownMs,
      ownDomain,
      isKept: request.isKept === true && ownDomain === undefined,
      isRandom,
      rules: request.rules ?? NO_RULES,
      label: request.label,
    })
    if (session) return { session, token }
    host = hostOf(address)
  }
  if (ownDomain && !(await findKeyDomain(deps, request))) throw unknownName()
  if (prefix === undefined) throw new Error('all random addresses were taken')
  const where = domain ? `at ${host}` : 'at this account'
  throw new Problem('address_taken', `prefix: "${prefix}" ${where} is ${await whyTaken(deps)}.`)
}

/** `ttl=0` or the longest at a domain of the key: without an end. */
function sessionExpiry(
  { lifetimes }: CreateSessionDeps,
  { ttl, keyId }: SessionRequest,
  domain: MailDomain | undefined,
): (createdAt: Date) => Date {
  const isEndless = ttl === 0 || ttl === 'longest'
  if (isEndless && domain?.owner !== undefined) return () => PERMANENT
  if (ttl === 0) {
    throw new Problem('invalid_parameter', 'ttl: 0 is only possible at a domain of the API key.')
  }
  const keyed = keyId !== undefined
  const seconds =
    ttl === 'longest'
      ? maxLifetimeSeconds(domain, lifetimes, keyed)
      : requestedLifetimeSeconds(ttl, { domain, lifetimes, keyed })
  return (createdAt) => new Date(createdAt.getTime() + seconds * 1000)
}

/** The domain that is named, if the key holds it. Those of the operator are found among all, by id too. */
async function findKeyDomain(
  { store }: CreateSessionDeps,
  { domain: name, keyId, useGmail, gmailAuto }: SessionRequest,
): Promise<MailDomain | undefined> {
  if (name === undefined || keyId === undefined || useGmail || gmailAuto) return undefined
  const host = parseHost(name)
  const domain = host && (await store.findDomain(host))
  return domain?.owner !== undefined && acceptsSessions(domain, keyId) ? domain : undefined
}

async function whyTaken({ store }: CreateSessionDeps): Promise<string> {
  const ledger = await store.readLedger()
  if (!ledger?.unknownUntil) return 'taken'
  const until = utcTimestamp(ledger.unknownUntil)
  return `taken, or may have been: until ${until} UTC, omit prefix for a random address`
}

async function addressSource(
  deps: CreateSessionDeps,
  { useGmail, gmailAuto, gmailId, domainId, domain: domainName, subdomain }: SessionRequest,
  { prefix, own }: { prefix: string | undefined; own: MailDomain | undefined },
): Promise<AddressSource> {
  if (useGmail || gmailAuto) {
    const request = { auto: gmailAuto ?? false, gmailId, domainId, prefix }
    return { domain: undefined, ...(await deps.aliasAccounts.findAliases(request)) }
  }
  const domains = await sessionDomains(deps)
  const wanted = { id: domainId, name: domainName, hasSubdomains: subdomain !== undefined }
  const domain = own ?? chooseDomain(domains, wanted, deps.randomBytes)
  if (subdomain !== undefined && !domain.wildcard) {
    throw new Problem('invalid_parameter', `subdomain: ${domain.name} has no subdomains.`)
  }
  const host = domain.wildcard ? await chosenHost(deps, domain, subdomain) : domain.name
  return { domain, accountId: undefined, addresses: candidates(deps, domain, prefix, host) }
}

/** One label below a wildcard; undefined: a random one. A domain that is named itself wins over the wildcard. */
async function chosenHost(
  { store, ownHosts }: CreateSessionDeps,
  domain: MailDomain,
  subdomain = 'random',
): Promise<Host | undefined> {
  if (subdomain.toLowerCase() === 'random') return undefined
  const host = parseSubdomain(subdomain, domain, ownHosts)
  const named = await store.findDomain(host)
  if (named && !named.removed) throw reservedSubdomain(subdomain)
  return host
}

/** A random local part or subdomain is drawn again if the address is taken. */
function* candidates(
  { randomBytes, ownHosts }: CreateSessionDeps,
  domain: MailDomain,
  prefix: string | undefined,
  host: Host | undefined,
): Generator<Candidate> {
  const isRandom = prefix === undefined
  const attempts = isRandom || !host ? RANDOM_ATTEMPTS : 1
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const local = prefix ?? randomLocalPart(randomBytes)
    const at = host ?? parseSubdomain(randomLabel(randomBytes), domain, ownHosts)
    yield { address: joinAddress(local, at), isRandom }
  }
}

interface WantedDomain {
  id: number | undefined
  name: string | undefined
  /** Then a wildcard is preferred to the domain of the same name. */
  hasSubdomains: boolean
}

function chooseDomain(
  domains: readonly MailDomain[],
  { id, name, hasSubdomains }: WantedDomain,
  randomBytes: MailDeps['randomBytes'],
): MailDomain {
  if (id !== undefined) {
    const domain = domains.find((one) => one.id === id)
    if (domain) return domain
    throw new Problem('unknown_domain', 'domain_id: no active domain has this id.')
  }
  const fitting = domains.filter(({ wildcard }) => wildcard === hasSubdomains)
  if (name !== undefined) {
    const host = parseHost(name)
    const domain = [...fitting, ...domains].find((one) => one.name === host)
    if (domain) return domain
    throw unknownName()
  }
  const eligible = hasSubdomains ? fitting : domains
  const draw = Buffer.from(randomBytes(4)).readUInt32BE()
  const domain = eligible[draw % Math.max(eligible.length, 1)]
  if (domain) return domain
  if (hasSubdomains) throw new Problem('unknown_domain', 'subdomain: no active domain has any.')
  throw new Problem('overloaded', 'No mail domain accepts new sessions at the moment.', 60)
}

/** The same for a domain of another key: a stranger must not learn of it. */
const unknownName = () => new Problem('unknown_domain', 'domain: no active domain has this name.')

interface AddressSource {
  /** Undefined for an alias of an account. */
  domain: MailDomain | undefined
  /** Undefined for an address at a mail domain. */
  accountId: number | undefined
  /** Tried in order until one is free. */
  addresses: Iterable<Candidate>
}

// With 40 random bits, repeated collisions mean a broken random generator.
const RANDOM_ATTEMPTS = 5
