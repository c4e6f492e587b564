import type { Address } from '../../core/address.ts'
import type { ReceiveLimits, Recipient, RecipientFacts } from '../../core/recipient.ts'
import { OPERATOR, POOL } from '../../core/session.ts'
import { decide, type FoundRecipient, NOWHERE, plus } from '../deciding.ts'
import type { Kept } from '../store.ts'
import { type Boxes, type Keeping, lockBoxes } from './boxes.ts'
import { delivery, type PackedMail } from './delivery.ts'
import type { Db, Transaction } from './pool.ts'
import { sharedFacts } from './recipients.ts'
import { isShared } from './shared.ts'

export interface IntakeNeeds {
  limits: ReceiveLimits
  keeping: Keeping
  random: () => number
  serials: (count: number) => Promise<number[]>
}

export type Waiting = Omit<PackedMail, 'serial'>

interface Keep extends Omit<IntakeNeeds, 'serials'> {
  used: Set<number>
  /** One for each mail. */
  serials: readonly number[]
}

/** Decides about each mail in its turn, with every mailbox locked that any of them names, and keeps those that find a place. */
export async function keepAll(
  db: Transaction,
  mails: readonly Waiting[],
  { serials, ...needs }: Keep,
): Promise<Kept[]> {
  const recipients = mails.flatMap((mail) => mail.recipients)
  const boxes = await lockBoxes(db, recipients)
  const known = { boxes, addresses: await lookUp(db, recipients, boxes) }
  const { keep, write } = delivery({ boxes, ...needs })

  const outcomes = mails.map((mail, at): Kept => {
    const taken = decide(mail, needs.limits, (recipient) => factsOf(recipient, known))
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

function factsOf({ address, mailbox }: Recipient, { boxes, addresses }: Known): FoundRecipient {
  // In the same group somebody may have been accepted for the pool, just before the address became a session's.
  const facts = isShared(mailbox) ? addresses.get(address) : undefined
  if (facts) {
    const pool = boxes.shared.get(POOL) ?? facts.pool
    const operator = boxes.shared.get(OPERATOR) ?? facts.operator
    return { ...facts, pool, operator, keyId: undefined }
  }
  const box = boxes.sessions.get(mailbox)
  const isTheirs = box?.owned && box.address === address
  const session = isTheirs ? box : undefined
  return { ...NOWHERE, everHeld: true, domain: box?.domain, session, keyId: box?.keyId }
}
