import { type LeaseStore, runUnderLease } from '../../base/jobs/lease.ts'
import { repeatUntilAborted, runUntilStopped } from '../../base/jobs/repeat.ts'
import type { Log } from '../../base/log/log.ts'
import { type DnsSettings, openOwnDomainDns } from './dns.ts'
import { type OwnDomainDeps, recordCheck } from './own-domains.ts'
import { DAY_MS, type OwnDomain } from './rules.ts'
import type { OwnDomainStore } from './store.ts'

interface JobDeps extends Pick<OwnDomainDeps, 'shop' | 'now'> {
  store: OwnDomainStore & LeaseStore
  config: DnsSettings
  log: Log
}

const LOOK_MS = 3_600_000
const RESTORED_LOOK_MS = 60_000
// At a time: name servers that do not answer take 10 s each.
const BATCH = 20

/**
 * On one node at a time: looks for the record of each domain once a day, and of those that were restored every minute, and for keys
 * that have lapsed once an hour. Also with MAYFLY_OWN_DOMAINS=off, because keys keep the domains that they have.
 */
export function startOwnDomainChecks({ config, ...rest }: JobDeps) {
  const deps = { ...rest, ownDomainDns: openOwnDomainDns(config) }
  const operation = async (ended: AbortSignal) => {
    const repeat = (intervalMs: number, check: typeof checkOwnDomains) =>
      repeatUntilAborted(ended, {
        operation: () => check(deps, ended),
        failed: 'the domains of key holders could not be checked; retrying',
        intervalMs,
        log: deps.log,
      })
    await Promise.all([
      repeat(LOOK_MS, checkOwnDomains),
      repeat(RESTORED_LOOK_MS, checkRestoredDomains),
    ])
  }
  return runUntilStopped((ended) => runUnderLease(deps, { name: 'own domains', operation, ended }))
}

type CheckDeps = Pick<OwnDomainDeps, 'store' | 'shop' | 'now' | 'log' | 'ownDomainDns'>

/** All that are held, newest first. */
export async function checkOwnDomains(deps: CheckDeps, ended: AbortSignal): Promise<void> {
  let before: OwnDomain | undefined
  do {
    const page = await deps.store.listAllOwnDomains({ limit: BATCH, before })
    const held = page.filter(({ state }) => state !== 'pending')
    await Promise.all(held.map((domain) => checkOwnDomain(deps, domain)))
    before = page.at(-1)
  } while (before && !ended.aborted)
}

/** Until then, their mail is deferred. */
export async function checkRestoredDomains(deps: CheckDeps, ended: AbortSignal): Promise<void> {
  const all = await deps.store.listUnconfirmedOwnDomains()
  for (let at = 0; at < all.length && !ended.aborted; at += BATCH) {
    const some = all.slice(at, at + BATCH)
    await Promise.all(some.map((domain) => checkOwnDomain(deps, domain)))
  }
}

async function checkOwnDomain(deps: CheckDeps, { checkedAt, name, id }: OwnDomain): Promise<void> {
  const isDue = !checkedAt || deps.now().getTime() - checkedAt.getTime() >= DAY_MS
  await recordCheck(deps, id, { found: isDue ? await deps.ownDomainDns(name) : undefined })
}
