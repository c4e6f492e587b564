import type { MailDomain } from '../../core/mail-domain.ts'
import { StoreAway } from '../../core/problem.ts'
import { capSeconds } from '../../core/session.ts'
import { openDomains } from '../../service/sessions/domains.ts'
import type { RouteDeps } from '../server/deps.ts'
import type { Call } from '../server/route.ts'
import { siteUrl } from '../server/site.ts'

/** What our pages know of this installation: see web/site/facts.ts. */
export interface PageFacts {
  life: number
  longest: number
  cooldown: number
  abuse: string
  operator: string
  checks: boolean
  receipts: boolean
  site: string
}

export async function pageFacts(
  deps: RouteDeps,
  call: Pick<Call, 'headers' | 'secure'>,
): Promise<PageFacts> {
  const domain = await firstDomain(deps)
  return {
    life: deps.lives.sessionSeconds,
    // The page creates its sessions without a key.
    longest: capSeconds(undefined, deps.lives, false),
    cooldown: deps.cooldownMs / 1000,
    abuse: domain ? `abuse@${domain.name}` : '',
    operator: domain ? `postmaster@${domain.name}` : '',
    checks: deps.checksSenders,
    receipts: deps.receipts,
    site: siteUrl(deps.baseUrl, call),
  }
}

/** None while the store is away: the page itself says so, and goes on by itself when it is back. */
async function firstDomain(deps: RouteDeps): Promise<MailDomain | undefined> {
  try {
    return (await openDomains(deps))[0]
  } catch (error) {
    if (error instanceof StoreAway) return undefined
    throw error
  }
}
