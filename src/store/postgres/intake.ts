import type { Address } from '../../core/address.ts'
import {
  place,
  type ReceiveLimits,
  type Recipient,
  type RecipientFacts,
} from '../../core/recipient.ts'
import { type MailboxId, OPERATOR, POOL } from '../../core/session.ts'
import type { Kept, KeptRecipient } from '../store.ts'
import { type Boxes, type Keeping, lockBoxes } from './boxes.ts'
import { delivery, type PackedMail } from './delivery.ts'
import type { Db, Transaction } from './pool.ts'
import { NOWHERE, sharedFacts } from './recipients.ts'
import { isShared } from './shared.ts'

export interface IntakeNeeds {
  limits: ReceiveLimits
  keeping: Keeping
  random: () => number
  serials: (db: Db, count: number) => Promise<number[]>
}

export type Waiting = Omit<PackedMail, 'serial'>

/** Decides about each mail in its turn, with every mailbox locked that any of them names, and keeps those that find a place. */
export async function keepAll(
  db: Transaction,
  mails: readonly Waiting[],
  needs: IntakeNeeds & { used: Set<number> },
): Promise<Kept[]> {
  const serials = await needs.serials(db, mails.length)
  const recipients = mails.flatMap((mail) => mail.recipients)
  const boxes = await lockBoxes(db, recipients)
  const known = { boxes, addresses: await lookUp(db, recipients, boxes) }
  const { keep, write } = delivery({ boxes, ...needs })

  const outcomes = mails.map((mail, at): Kept => {
    const taken = decide(mail, known, needs.limits)
    if (taken === 'full') return { outcome: 'full' }
    for (const { address, mailbox } of taken) {
      const facts = mailbox === POOL ? known.addresses.get(address) : undefined
      if (facts) facts.poolAddress = plus(facts.poolAddress, 1, mail.size)
    }
    return keep({ ...mail, serial: serials[at] ?? 0 }, taken)
  })
  write(db)
  return outcomes
}

/** What is known inside the commit: locked mailboxes, and of addresses in a shared one what decides about them. */
interface Known {
  boxes: Boxes
  addresses: Map<Address, RecipientFacts>
}

async function lookUp(
  db: Db,
  recipients: readonly Recipient[],
  { shared }: Boxes,
): Promise<Known['addresses']> {
  const inShared = recipients.filter(({ mailbox }) => isShared(mailbox))
  const addresses = [...new Set(inShared.map(({ address }) => address))]
  if (addresses.length === 0) return new Map()
  const facts = await sharedFacts(db, addresses, [...shared.values()])
  return new Map(facts.map((one, at) => [addresses[at] as Address, one]))
}

/** Those who are still there, or that one has no room. */
function decide(mail: Waiting, known: Known, limits: ReceiveLimits): KeptRecipient[] | 'full' {
  const rules = { limits, now: mail.receivedAt, size: mail.size }
  const taken: KeptRecipient[] = []
  for (const { address, mailbox } of mail.recipients) {
    const facts = factsOf({ address, mailbox }, known)
    const found = place(address, withTaken(facts, taken, mail.size), rules)
    if ('refused' in found && found.refused === 'full') return 'full'
    // The address may have changed hands between RCPT and now.
    if ('mailbox' in found && found.mailbox === mailbox) {
      taken.push({ address, mailbox, keyId: known.boxes.sessions.get(mailbox)?.keyId })
    }
  }
  return taken
}

function factsOf({ address, mailbox }: Recipient, { boxes, addresses }: Known): RecipientFacts {
  const facts = addresses.get(address)
  if (facts) {
    const pool = boxes.shared.get(POOL) ?? facts.pool
    return { ...facts, pool, operator: boxes.shared.get(OPERATOR) ?? facts.operator }
  }
  const box = boxes.sessions.get(mailbox)
  const isTheirs = box?.owned && box.address === address
  return { ...NOWHERE, everHeld: true, domain: box?.domain, session: isTheirs ? box : undefined }
}

/** The shared boxes as they will be when this mail's recipients so far have it. */
function withTaken(
  facts: RecipientFacts,
  taken: readonly Recipient[],
  size: number,
): RecipientFacts {
  const more = (box: MailboxId) => taken.filter(({ mailbox }) => mailbox === box).length
  const pool = plus(facts.pool, more(POOL), size)
  return { ...facts, pool, operator: plus(facts.operator, more(OPERATOR), size) }
}

function plus({ count, bytes }: { count: number; bytes: number }, more: number, size: number) {
  return { count: count + more, bytes: bytes + more * size }
}
