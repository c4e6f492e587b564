import { type Address, joinAddress, parseAddress } from '../core/address.ts'
import { place, type ReceiveLimits } from '../core/recipient.ts'
import type { MailStore } from '../store/store.ts'

interface Needs {
  store: Pick<MailStore, 'findRecipient' | 'listDomains'>
  limits: ReceiveLimits
  now(): Date
}

export type Accepted =
  | { address: Address }
  | { refused: 'unknown' | 'foreign' | 'full' | 'malformed' }

/** Decides at RCPT time whether mail of this size for this address would be kept. The commit decides again. */
export async function accept(
  { store, limits, now }: Needs,
  text: string,
  size: number,
): Promise<Accepted> {
  const address = parseAddress(text) ?? (await barePostmaster(store, text))
  if (!address) return { refused: 'malformed' }
  const found = place(address, await store.findRecipient(address), { limits, now: now(), size })
  return 'refused' in found ? found : { address }
}

/** RFC 5321 4.5.1: `<postmaster>` without a domain must be taken. It goes to our first domain's. */
async function barePostmaster(
  store: Pick<MailStore, 'listDomains'>,
  text: string,
): Promise<Address | undefined> {
  if (text.toLowerCase() !== 'postmaster') return undefined
  const first = (await store.listDomains()).find((domain) => !domain.removed)
  return first && joinAddress('postmaster', first.name)
}
