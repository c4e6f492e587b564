import {
  acceptsSessions,
  type DomainName,
  domainName,
  type Host,
  isWildcard,
  type MailDomain,
  wildcardAbove,
} from '../../base/address.ts'
import type { MailStore } from '../store.ts'

/** For the operator's commands. */
export type DomainAdminStore = Pick<
  MailStore,
  'listDomains' | 'addDomain' | 'findDomain' | 'changeDomain'
>

export async function sessionDomains({
  store,
}: {
  store: Pick<MailStore, 'listDomains'>
}): Promise<MailDomain[]> {
  return (await store.listDomains()).filter((domain) => acceptsSessions(domain))
}

/** The domain that addresses at this host belong to: its own, else the wildcard above it. */
export async function domainAt(
  store: Pick<MailStore, 'findDomain'>,
  host: Host,
): Promise<MailDomain | undefined> {
  const named = await store.findDomain(host)
  if (named && !named.removed) return named
  const wildcard = wildcardAbove(host)
  return (wildcard && (await store.findDomain(wildcard))) ?? named
}

interface ConfiguredDomains {
  domains: readonly DomainName[]
  /** Empty: all of `domains` that are not wildcards. */
  readerDomains: readonly DomainName[]
}

/**
 * At each start: adds configured domains that are not known yet. Never removes or restores a domain, and does not change domains
 * that were added by a command, except that a wildcard is a reader domain only while the settings name it. Returns those that a
 * key holds: they stay its own.
 */
export async function addConfiguredDomains(
  { store }: { store: DomainAdminStore },
  { domains, readerDomains }: ConfiguredDomains,
): Promise<DomainName[]> {
  const held: DomainName[] = []
  const reads = (name: DomainName) =>
    readerDomains.length === 0 ? !isWildcard(name) : readerDomains.includes(name)
  const wildcards = (await store.listDomains()).filter(({ wildcard }) => wildcard).map(domainName)
  for (const name of new Set([...domains, ...readerDomains, ...wildcards])) {
    const reader = reads(name)
    const known = await store.findDomain(name)
    // A domain that is only configured for the pool has no sessions.
    const sessions = domains.includes(name)
    if (!known) {
      await store.addDomain({ name, sessions, reader, ttlSeconds: undefined })
    } else if (known.owner !== undefined) held.push(name)
    else await store.changeDomain(name, { reader, ...(sessions && { sessions }) })
  }
  return held
}
