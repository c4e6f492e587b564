import {
  type Address,
  domainName,
  type Host,
  joinAddress,
  type MailDomain,
  parseAddress,
  parseHost,
  sampleHost,
  unquoted,
} from '../base/address.ts'
import { type Awaitable, whenAvailable } from '../base/awaitable.ts'
import { runSteps } from '../base/run-steps.ts'
import { readFromAddresses, readFromHeader, readHead, scanHeader } from '../mime/header-summary.ts'
import type { Envelope } from '../shared/mail.ts'
import type { FindMailBlock } from './blocking.ts'
import type { MailDeps } from './deps.ts'
import {
  decideRecipient,
  type ReceiveLimits,
  type Recipient,
  type RecipientFacts,
  type RefusedRecipient,
} from './rules/recipient.ts'
import { keyedTopic, POOL, type Topic } from './rules/session.ts'
import { domainAt } from './sessions/domains.ts'
import type { AddMailResult, MailStore, StoredRecipient } from './store.ts'

interface RecipientOffer {
  /** Declared with SIZE, or 0. */
  size: number
  /** Recipients of the same mail accepted so far. */
  others: readonly Recipient[]
  /** Undefined if the sender is exempt from shares. */
  senderNetwork?: string | undefined
}

type AcceptDeps = Pick<MailDeps, 'store' | 'now' | 'ownHosts'> & {
  limits: ReceiveLimits
  /** Counts a mail refused at a domain of a key, for its holder. */
  countOwnRefused(name: Host): void
}
type RecipientResult = Recipient | RefusedRecipient

/** Decides at RCPT whether mail of this size for this address would be stored. The commit decides again. */
export function acceptRecipient(
  deps: AcceptDeps,
  text: string,
  offer: RecipientOffer,
): Awaitable<RecipientResult> {
  const address = parseAddress(text.startsWith('"') ? withoutQuotes(text) : text)
  return address ? decide(deps, address, offer) : acceptInvalidAddress(deps, text, offer)
}

function withoutQuotes(text: string): string {
  const at = text.lastIndexOf('@')
  return unquoted(text.slice(0, at)) + text.slice(at)
}

function decide(
  deps: AcceptDeps,
  address: Address,
  { size, others, senderNetwork }: RecipientOffer,
): Awaitable<RecipientResult> {
  const { store, limits, now, ownHosts } = deps
  return whenAvailable(store.findRecipient(address, senderNetwork), (facts) => {
    const found = decideRecipient(address, facts, { limits, now: now(), size, others, ownHosts })
    const known = facts.domain?.wildcard ? { ...found, wildcard: true } : found
    return 'refused' in known ? refuse(deps, facts, known) : { address, ...known }
  })
}

/** Counts it for those who are shown how many mails were refused: the owner of the session, and of the domain. */
function refuse(
  { store, countOwnRefused }: AcceptDeps,
  { session, domain }: RecipientFacts,
  found: RefusedRecipient,
): Awaitable<RefusedRecipient> {
  if (domain?.owner !== undefined) {
    const { name, active } = domain
    return whenAvailable(!active && store.isRestoredDomain(name), (isRestored) => {
      if (!isRestored) countOwnRefused(name)
      return isRestored ? { refused: 'restored' } : found
    })
  }
  const isCounted = session && found.refused === 'limit_reached'
  return isCounted ? store.countRefused(session.id).then(() => found) : found
}

async function acceptInvalidAddress(
  deps: AcceptDeps,
  text: string,
  offer: RecipientOffer,
): Promise<RecipientResult> {
  const address = await barePostmaster(deps.store, text)
  if (address) return await decide(deps, address, offer)
  const domain = await localDomain(deps.store, text)
  return { refused: domain ? 'unknown' : 'foreign', wildcard: domain?.wildcard }
}

/** The one of our domains that an invalid address ends in. */
async function localDomain(store: MailStore, text: string): Promise<MailDomain | undefined> {
  const host = parseHost(text.slice(text.lastIndexOf('@') + 1))
  return host && (await domainAt(store, host))
}

/** RFC 5321 4.5.1: `<postmaster>` without a domain must be accepted. It means the one of our first domain. */
async function barePostmaster(store: MailStore, text: string): Promise<Address | undefined> {
  if (text.toLowerCase() !== 'postmaster') return undefined
  const first = (await store.listDomains()).find((domain) => !domain.removed)
  return first && joinAddress('postmaster', sampleHost(domainName(first)))
}

interface ReceivedMail {
  /** Without duplicates. */
  recipients: Recipient[]
  envelope: Envelope
  raw: Uint8Array
  /** Whose share of a shared mailbox it counts towards; undefined if the sender is exempt. */
  senderNetwork?: string | undefined
}

type ReceiveDeps = Pick<MailDeps, 'store' | 'bus' | 'now'> & {
  findMailBlock: FindMailBlock
}

/** Stores one mail for every recipient that still exists and whose rules accept it, then wakes their waiters. */
export async function receiveMail(
  { store, bus, now, findMailBlock }: ReceiveDeps,
  mail: ReceivedMail,
): Promise<AddMailResult | { outcome: 'blocked' }> {
  const { clientIp, mailFrom } = mail.envelope
  const header = await runSteps(scanHeader(mail.raw))
  // Client and envelope sender again: they may have been blocked since MAIL.
  const readFrom = () => readFromAddresses(header)
  if (await findMailBlock({ clientIp, mailFrom, readFrom })) {
    return { outcome: 'blocked' }
  }
  const head = readHead(header, mailFrom)
  const from = readFromHeader(header)
  const stored = await store.addMail({ ...mail, head, from, receivedAt: now() })
  if (stored.outcome === 'stored')
    for (const topic of recipientTopics(stored.recipients)) bus.wake(topic)
  return stored
}

/** The mailboxes, and what clients with a key wait for. */
export function recipientTopics(recipients: readonly StoredRecipient[]): Set<Topic> {
  const topics = new Set<Topic>()
  for (const { address, mailbox, keyId } of recipients) {
    topics.add(mailbox)
    if (mailbox === POOL) topics.add(keyedTopic('pool', address))
    if (keyId !== undefined) topics.add(keyedTopic('key', keyId))
  }
  return topics
}
