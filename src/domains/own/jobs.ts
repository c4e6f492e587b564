import { type LeaseStore, runUnderLease } from '../../base/jobs/lease.ts'
import { repeatUntilAborted, runUntilStopped } from '../../base/jobs/repeat.ts'
import type { Log } from '../../base/log/log.ts'
import { type DnsSettings, openOwnDomainDns } from './dns.ts'
import { type OwnDomainDeps, recordCheck, recordOf } from './own-domains.ts'
import { DAY_MS, type OwnDomain } from './rules.ts'
import type { OwnDomainStore } from './store.ts'

interface JobDeps extends Pick<OwnDomainDeps, 'shop' | 'now'> {
  store: OwnDomainStore & LeaseStore
  config: DnsSettings
  log: Log
}

const LOOK_MS = 3_600_000
// At a time: name servers that do not answer take 10 s each.
const BATCH = 20

/** Also if they are off: domains that keys have stay theirs. On one node at a time: looks for the record of each domain once a day, and for keys that have lapsed once an hour. */
export function startOwnDomainChecks({ config, ...deps }: JobDeps) {
  const ownDomainDns = openOwnDomainDns(config)
  const operation = (ended: AbortSignal) =>
    repeatUntilAborted(ended, {
      operation: async () => {
        await checkOwnDomains({ ...deps, ownDomainDns }, ended)
        return true
      },
      failed: 'the domains of key holders could not be checked; retrying',
      intervalMs: LOOK_MS,
      log: deps.log,
    })
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

async function checkOwnDomain(deps: CheckDeps, domain: OwnDomain): Promise<void> {
  const { checkedAt, name, id } = domain
  const isDue = !checkedAt || deps.now().getTime() - checkedAt.getTime() >= DAY_MS
  const record = isDue ? recordOf(domain, await deps.ownDomainDns(name)) : undefined
  await recordCheck(deps, id, record)
}
