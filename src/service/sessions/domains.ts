import { acceptsSessions, type Host, type MailDomain } from '../../core/address.ts'
import type { MailStore } from '../../store/store.ts'

/** The domains as the operator's commands see them. */
export type DomainAdminStore = Pick<
  MailStore,
  'listDomains' | 'addDomain' | 'findDomain' | 'changeDomain'
>

interface DomainsDeps {
  store: Pick<MailStore, 'listDomains'>
}

/** Those at which a new session can be had. */
export async function sessionDomains({ store }: DomainsDeps): Promise<MailDomain[]> {
  return (await store.listDomains()).filter(acceptsSessions)
}

interface AddDomainsDeps {
  store: Pick<MailStore, 'findDomain' | 'addDomain' | 'changeDomain'>
}

interface ConfiguredDomains {
  domains: readonly Host[]
  /** Empty: every domain is one. */
  readerDomains: readonly Host[]
}

/**
 * At each start: adds what is configured and not yet known. Never removes a domain or brings one back, and leaves
 * domains that were added by hand as they are.
 */
export async function addConfiguredDomains(
  { store }: AddDomainsDeps,
  { domains, readerDomains }: ConfiguredDomains,
): Promise<void> {
  const reads = (name: Host) => readerDomains.length === 0 || readerDomains.includes(name)
  for (const name of new Set([...domains, ...readerDomains])) {
    const reader = reads(name)
    const known = await store.findDomain(name)
    // A name that is only a reader's has no sessions: nobody asked for them there.
    const sessions = domains.includes(name)
    if (!known) {
      await store.addDomain({ name, sessions, reader, ttlSeconds: undefined })
    } else await store.changeDomain(name, { reader, ...(sessions && { sessions }) })
  }
}
