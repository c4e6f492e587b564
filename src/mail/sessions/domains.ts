import { acceptsSessions, type Host, type MailDomain } from '../../base/address.ts'
import type { MailDeps } from '../deps.ts'
import type { MailStore } from '../store.ts'

/** For the operator's commands. */
export type DomainAdminStore = Pick<
  MailStore,
  'listDomains' | 'addDomain' | 'findDomain' | 'changeDomain'
>

export async function sessionDomains({ store }: Pick<MailDeps, 'store'>): Promise<MailDomain[]> {
  return (await store.listDomains()).filter(acceptsSessions)
}

interface ConfiguredDomains {
  domains: readonly Host[]
  /** Empty: all of `domains`. */
  readerDomains: readonly Host[]
}

/**
 * At each start: adds configured domains that are not known yet. Never removes or restores a domain, and does not change domains
 * that were added by a command.
 */
export async function addConfiguredDomains(
  { store }: Pick<MailDeps, 'store'>,
  { domains, readerDomains }: ConfiguredDomains,
): Promise<void> {
  const reads = (name: Host) => readerDomains.length === 0 || readerDomains.includes(name)
  for (const name of new Set([...domains, ...readerDomains])) {
    const reader = reads(name)
    const known = await store.findDomain(name)
    // A domain that is only configured for the pool has no sessions.
    const sessions = domains.includes(name)
    if (!known) {
      await store.addDomain({ name, sessions, reader, ttlSeconds: undefined })
    } else await store.changeDomain(name, { reader, ...(sessions && { sessions }) })
  }
}
