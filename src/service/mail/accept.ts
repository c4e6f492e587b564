import { type Address, joinAddress, parseAddress, parseHost } from '../../core/address.ts'
import { place, type ReceiveLimits, type Recipient } from '../../core/recipient.ts'
import type { MailStore } from '../../store/store.ts'

interface Deps {
  store: Pick<MailStore, 'findRecipient' | 'findDomain' | 'listDomains'>
  limits: ReceiveLimits
  now(): Date
}

interface Offer {
  /** Declared, or 0. */
  size: number
  /** Recipients of the same mail that were accepted before. */
  others: readonly Recipient[]
  /** Undefined: the sender is exempt from shares. */
  senderNetwork?: string | undefined
}

type Accepted = Recipient | { refused: 'unknown' | 'foreign' | 'full' }

/** Decides at RCPT time whether mail of this size for this address would be kept. The commit decides again. */
export async function accept(
  { store, limits, now }: Deps,
  text: string,
  { size, others, senderNetwork }: Offer,
): Promise<Accepted> {
  const address = parseAddress(text) ?? (await barePostmaster(store, text))
  if (!address) return { refused: (await isOurs(store, text)) ? 'unknown' : 'foreign' }
  const facts = await store.findRecipient(address, senderNetwork)
  const found = place(address, facts, { limits, now: now(), size, others })
  return 'refused' in found ? found : { address, mailbox: found.mailbox }
}

/** Of text that is no address: whether it ends in a domain of ours. */
async function isOurs(store: Pick<MailStore, 'findDomain'>, text: string): Promise<boolean> {
  const host = parseHost(text.slice(text.lastIndexOf('@') + 1))
  return host !== undefined && (await store.findDomain(host)) !== undefined
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
