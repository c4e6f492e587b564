import type { Address } from '../../core/address.ts'
import {
  plus,
  type ReceiveLimits,
  type Recipient,
  type RecipientFacts,
} from '../../core/recipient.ts'
import { isShared, OPERATOR, POOL } from '../../core/session.ts'
import { decide, type FoundRecipient, NOWHERE } from '../resolve-recipients.ts'
import type { Kept } from '../store.ts'
import { type Boxes, heldShare, type Keeping, lockBoxes, readHeldShares } from './mailbox-locks.ts'
import { delivery, type PackedMail } from './delivery.ts'
import type { Db, Transaction } from './connections.ts'
import { sharedFacts } from './recipients.ts'

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
  const [addresses] = await Promise.all([
    lookUp(db, recipients, boxes),
    readHeldShares(db, boxes, sharedSenders(mails)),
  ])
  const known = { boxes, addresses }
  const { keep, write } = delivery({ boxes, ...needs })

  const outcomes = mails.map((mail, at): Kept => {
    const sized = { ...mail, stored: mail.zstd.length }
    const taken = decide(sized, needs.limits, (recipient) =>
      factsOf(recipient, known, mail.senderNetwork),
    )
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

/** The networks that send to shared mailboxes. */
function sharedSenders(mails: readonly Waiting[]): string[] {
  const toShared = mails.filter(({ recipients }) =>
    recipients.some(({ mailbox }) => isShared(mailbox)),
  )
  const networks = toShared.flatMap(({ senderNetwork }) => senderNetwork ?? [])
  return [...new Set(networks)]
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

function factsOf(
  { address, mailbox }: Recipient,
  { boxes, addresses }: Known,
  network: string | undefined,
): FoundRecipient {
  // In the same group somebody may have been accepted for the pool, just before the address became a session's.
  const facts = isShared(mailbox) ? addresses.get(address) : undefined
  if (facts) {
    const pool = boxes.shared.get(POOL) ?? facts.pool
    const operator = boxes.shared.get(OPERATOR) ?? facts.operator
    const senderShare =
      network === undefined
        ? undefined
        : { pool: heldShare(boxes, POOL, network), operator: heldShare(boxes, OPERATOR, network) }
    return { ...facts, pool, operator, senderShare, keyId: undefined }
  }
  const box = boxes.sessions.get(mailbox)
  const isTheirs = box?.owned && box.address === address
  const session = isTheirs ? box : undefined
  return { ...NOWHERE, everHeld: true, domain: box?.domain, session, keyId: box?.keyId }
}
