import { joinAddress } from '../../core/address.ts'
import { makeToken, secretHash } from '../../core/id.ts'
import type { MailDomain } from '../../core/mail-domain.ts'
import { parsePrefix, readableName } from '../../core/prefix.ts'
import { Problem } from '../../core/problem.ts'
import { checkedSeconds, type Lifetimes, type Session } from '../../core/session.ts'
import type { MailStore } from '../../store/store.ts'
import { openDomains } from './domains.ts'
import { type GmailSiteDeps, gmailSite, RANDOM_ATTEMPTS, type Site } from './gmail-site.ts'

export interface CreateSessionDeps extends GmailSiteDeps {
  store: Pick<MailStore, 'listDomains' | 'listAccounts' | 'createSession'>
  lives: Lifetimes
  cooldownMs: number
}

/** What the user asks for; all of it optional. */
interface Wish {
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
  wish: Wish,
): Promise<{ session: Session; token: string }> {
  const prefix = wish.prefix === undefined ? undefined : parsePrefix(wish.prefix)
  const { domain, accountId, addresses } = await siteOf(deps, wish, prefix)
  const keyed = wish.keyId !== undefined
  const seconds = checkedSeconds(wish.ttl, { domain, lives: deps.lives, keyed })
  const token = makeToken(deps.randomBytes(32))

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

async function siteOf(
  deps: CreateSessionDeps,
  { useGmail, gmailAuto, gmailId, domainId }: Wish,
  prefix: string | undefined,
): Promise<Site> {
  if (useGmail || gmailAuto) {
    return await gmailSite(deps, { auto: gmailAuto ?? false, gmailId, domainId, prefix })
  }
  const domain = chooseDomain(await openDomains(deps), domainId, deps.randomBytes)
  const locals = prefix === undefined ? randomNames(deps.randomBytes) : [prefix]
  const addresses = Iterator.from(locals).map((local) => joinAddress(local, domain.name))
  return { domain, accountId: undefined, addresses }
}

function* randomNames(randomBytes: CreateSessionDeps['randomBytes']): Generator<string> {
  for (let attempt = 0; attempt < RANDOM_ATTEMPTS; attempt += 1) yield readableName(randomBytes)
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
