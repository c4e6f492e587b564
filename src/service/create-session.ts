import { joinAddress } from '../core/address.ts'
import { makeToken, secretHash } from '../core/id.ts'
import type { MailDomain } from '../core/mail-domain.ts'
import { parsePrefix } from '../core/prefix.ts'
import { Problem } from '../core/problem.ts'
import { checkedSeconds, type Lifetimes, type Session } from '../core/session.ts'
import { readableName } from '../core/words.ts'
import type { MailStore } from '../store/store.ts'
import { openDomains } from './domains.ts'

export interface CreateSessionNeeds {
  store: Pick<MailStore, 'listDomains' | 'createSession'>
  lives: Lifetimes
  cooldownMs: number
  now(): Date
  randomBytes(count: number): Uint8Array
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

// With 42 random bits a second collision in a row means that chance itself is broken.
const ATTEMPTS = 5

/** Gives out an address that nobody holds, and the token that opens it. The token is not kept, only its hash. */
export async function createSession(
  needs: CreateSessionNeeds,
  wish: Wish,
): Promise<{ session: Session; token: string }> {
  const prefix = wish.prefix === undefined ? undefined : parsePrefix(wish.prefix)
  if (wish.useGmail || wish.gmailAuto) throw noGmail(wish)
  const domain = chooseDomain(await openDomains(needs), wish.domainId, needs.randomBytes)
  const seconds = checkedSeconds(wish.ttl, domain, needs.lives)
  const token = makeToken(needs.randomBytes(32))

  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const local = prefix ?? readableName(needs.randomBytes)
    const createdAt = needs.now()
    const session = await needs.store.createSession({
      address: joinAddress(local, domain.name),
      tokenHash: secretHash(token),
      keyId: wish.keyId,
      createdAt,
      expiresAt: new Date(createdAt.getTime() + seconds * 1000),
      cooldownMs: needs.cooldownMs,
    })
    if (session) return { session, token }
    if (prefix !== undefined) {
      throw new Problem('address_taken', `prefix: ${prefix}@${domain.name} is taken.`)
    }
  }
  throw new Error(`${ATTEMPTS} random names in a row were taken`)
}

function chooseDomain(
  domains: readonly MailDomain[],
  wanted: number | undefined,
  randomBytes: CreateSessionNeeds['randomBytes'],
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

/** No accounts exist yet: one that is asked for by name is unknown, any other wish can be had later. */
function noGmail({ gmailAuto, gmailId }: Wish): Problem {
  if (!gmailAuto && gmailId !== undefined) {
    return new Problem('unknown_gmail_account', 'gmail_id: no active Gmail account has this id.')
  }
  return new Problem('gmail_unavailable', 'No Gmail account is available at the moment.', 60)
}
