import type { MailDomain } from '../../core/mail-domain.ts'
import { StoreAway } from '../../core/problem.ts'
import { capSeconds } from '../../core/session.ts'
import { openDomains } from '../../service/sessions/domains.ts'
import type { RouteNeeds } from '../server/deps.ts'
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
  needs: RouteNeeds,
  call: Pick<Call, 'headers' | 'secure'>,
): Promise<PageFacts> {
  const domain = await firstDomain(needs)
  return {
    life: needs.lives.sessionSeconds,
    // The page creates its sessions without a key.
    longest: capSeconds(undefined, needs.lives, false),
    cooldown: needs.cooldownMs / 1000,
    abuse: domain ? `abuse@${domain.name}` : '',
    operator: domain ? `postmaster@${domain.name}` : '',
    checks: needs.checksSenders,
    receipts: needs.receipts,
    site: siteUrl(needs.baseUrl, call),
  }
}

/** None while the store is away: the page itself says so, and goes on by itself when it is back. */
async function firstDomain(needs: RouteNeeds): Promise<MailDomain | undefined> {
  try {
    return (await openDomains(needs))[0]
  } catch (error) {
    if (error instanceof StoreAway) return undefined
    throw error
  }
}
