import { type MailDomain, takesSessions } from '../../core/mail-domain.ts'
import type { MailStore } from '../../store/store.ts'

/** The domains as the operator's commands see them. */
export type DomainBook = Pick<
  MailStore,
  'listDomains' | 'addDomain' | 'findDomain' | 'changeDomain'
>

interface DomainsNeeds {
  store: Pick<MailStore, 'listDomains'>
}

/** Those at which a new session can be had. */
export async function openDomains({ store }: DomainsNeeds): Promise<MailDomain[]> {
  return (await store.listDomains()).filter(takesSessions)
}
