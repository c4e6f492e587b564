import type { Host } from '../core/address.ts'
import type { MailStore } from '../store/store.ts'

interface Needs {
  store: Pick<MailStore, 'findDomain' | 'addDomain' | 'listDomains' | 'changeDomain'>
}

export interface WantedDomains {
  domains: readonly Host[]
  /** Empty: every domain is one. */
  readerDomains: readonly Host[]
}

/** At each start: adds what is configured and not yet known. Never removes a domain or brings one back. */
export async function addConfiguredDomains(
  { store }: Needs,
  { domains, readerDomains }: WantedDomains,
): Promise<void> {
  const reads = (name: Host) => readerDomains.length === 0 || readerDomains.includes(name)
  for (const name of new Set([...domains, ...readerDomains])) {
    if (await store.findDomain(name)) continue
    // A name that is only a reader's has no sessions: nobody asked for them there.
    const sessions = domains.includes(name)
    await store.addDomain({ name, sessions, reader: reads(name), ttlSeconds: undefined })
  }
  if (readerDomains.length === 0) return
  for (const { name, reader } of await store.listDomains()) {
    if (reader !== reads(name)) await store.changeDomain(name, { reader: reads(name) })
  }
}
