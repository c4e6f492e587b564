import type { Host } from '../../core/address.ts'
import { type MailDomain, takesSessions } from '../../core/mail-domain.ts'
import type { MailStore } from '../../store/store.ts'

/** The domains as the operator's commands see them. */
export type DomainBook = Pick<
  MailStore,
  'listDomains' | 'addDomain' | 'findDomain' | 'changeDomain'
>

interface DomainsDeps {
  store: Pick<MailStore, 'listDomains'>
}

/** Those at which a new session can be had. */
export async function openDomains({ store }: DomainsDeps): Promise<MailDomain[]> {
  return (await store.listDomains()).filter(takesSessions)
}

interface Deps {
  store: Pick<MailStore, 'findDomain' | 'addDomain' | 'changeDomain'>
}

interface WantedDomains {
  domains: readonly Host[]
  /** Empty: every domain is one. */
  readerDomains: readonly Host[]
}

/**
 * At each start: adds what is configured and not yet known. Never removes a domain or brings one back, and leaves
 * domains that were added by hand as they are.
 */
export async function addConfiguredDomains(
  { store }: Deps,
  { domains, readerDomains }: WantedDomains,
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
