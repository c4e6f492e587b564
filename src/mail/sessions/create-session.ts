import { joinAddress, type MailDomain, parseHost } from '../../base/address.ts'
import { makeSecretToken, secretHash } from '../../base/id.ts'
import { Problem } from '../../base/problem.ts'
import { utcTimestamp } from '../../base/time.ts'
import { type AddressRules, NO_RULES } from '../../shared/address-rules.ts'
import type { MailDeps } from '../deps.ts'
import { parsePrefix, randomLocalPart } from '../rules/prefix.ts'
import { requestedLifetimeSeconds, type Session } from '../rules/session.ts'
import type { Candidate } from './alias-accounts.ts'
import { sessionDomains } from './domains.ts'

type CreateSessionDeps = Pick<
  MailDeps,
  'store' | 'aliasAccounts' | 'now' | 'randomBytes' | 'lifetimes' | 'cooldownMs'
>

interface SessionRequest {
  prefix?: string | undefined
  domainId?: number | undefined
  /** The name of a mail domain, instead of its id. */
  domain?: string | undefined
  ttl?: number | undefined
  useGmail?: boolean | undefined
  gmailAuto?: boolean | undefined
  gmailId?: number | undefined
  /** The key that may also read the session's mail. */
  keyId?: string | undefined
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
      label: request.label,
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
  { useGmail, gmailAuto, gmailId, domainId, domain: domainName }: SessionRequest,
  prefix: string | undefined,
): Promise<AddressSource> {
  if (useGmail || gmailAuto) {
    const request = { auto: gmailAuto ?? false, gmailId, domainId, prefix }
    return { domain: undefined, ...(await deps.aliasAccounts.findAliases(request)) }
  }
  const domains = await sessionDomains(deps)
  const domain =
    domainName === undefined
      ? chooseDomain(domains, domainId, deps.randomBytes)
      : domainNamed(domains, domainName)
  const isRandom = prefix === undefined
  const locals = isRandom ? randomNames(deps.randomBytes) : [prefix]
  const addresses = Iterator.from(locals).map((local) => {
    return { address: joinAddress(local, domain.name), isRandom }
  })
  return { domain, accountId: undefined, addresses }
}

function* randomNames(randomBytes: MailDeps['randomBytes']): Generator<string> {
  for (let attempt = 0; attempt < RANDOM_ATTEMPTS; attempt += 1) yield randomLocalPart(randomBytes)
}

function chooseDomain(
  domains: readonly MailDomain[],
  wanted: number | undefined,
  randomBytes: MailDeps['randomBytes'],
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

function domainNamed(domains: readonly MailDomain[], text: string): MailDomain {
  const wanted = parseHost(text)
  const domain = domains.find(({ name }) => name === wanted)
  if (domain) return domain
  throw new Problem('unknown_domain', 'domain: no active domain has this name.')
}

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
