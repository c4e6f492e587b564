import type { Address } from '../../../core/address.ts'
import {
  addUsage,
  type ReceiveLimits,
  type Recipient,
  type RecipientFacts,
} from '../../../core/recipient.ts'
import { isSharedMailbox, type MailboxId, OPERATOR, POOL } from '../../../core/session.ts'
import {
  type FoundRecipient,
  resolveRecipients,
  UNKNOWN_RECIPIENT,
} from '../../resolve-recipients.ts'
import type { AddMailResult, NewMail, StoredRecipient } from '../../store.ts'
import type { Db, Transaction } from '../connection/connections.ts'
import {
  addToMailbox,
  heldShare,
  type LockedMailboxes,
  lockMailboxes,
  type Retention,
  readHeldShares,
} from './mailbox-locks.ts'
import { sharedFacts } from './recipients.ts'

export interface AddMailDeps {
  limits: ReceiveLimits
  keeping: Retention
  random: () => number
  serials: (count: number) => Promise<number[]>
}

export type PendingMail = Omit<PackedMail, 'serial'>

interface AddMailsOptions extends Omit<AddMailDeps, 'serials'> {
  used: Set<number>
  /** One for each mail. */
  serials: readonly number[]
}

/** Decides about each mail in its turn, with every mailbox locked that any of them names, and keeps those that find a place. */
export async function addMails(
  db: Transaction,
  mails: readonly PendingMail[],
  { serials, ...deps }: AddMailsOptions,
): Promise<AddMailResult[]> {
  const recipients = mails.flatMap((mail) => mail.recipients)
  const boxes = await lockMailboxes(db, recipients)
  const [addresses] = await Promise.all([
    readSharedFacts(db, recipients, boxes),
    readHeldShares(db, boxes, sharedSenders(mails)),
  ])
  const known = { boxes, addresses }
  const { keep, write } = mailInsert({ boxes, ...deps })

  const outcomes = mails.map((mail, at): AddMailResult => {
    const sized = { ...mail, stored: mail.zstd.length }
    const taken = resolveRecipients(sized, deps.limits, (recipient) =>
      factsOf(recipient, known, mail.senderNetwork),
    )
    if (taken === 'full') return { outcome: 'full' }
    for (const { address, mailbox } of taken) {
      const facts = mailbox === POOL ? known.addresses.get(address) : undefined
      if (facts) facts.poolAddress = addUsage(facts.poolAddress, 1, mail.size)
    }
    return keep({ ...mail, serial: serials[at] ?? 0 }, taken)
  })
  write(db)
  return outcomes
}

/** What is known inside the commit: locked mailboxes, and of addresses in a shared one what decides about them. */
interface Known {
  boxes: LockedMailboxes
  addresses: Map<Address, RecipientFacts>
}

/** The networks that send to shared mailboxes. */
function sharedSenders(mails: readonly PendingMail[]): string[] {
  const toShared = mails.filter(({ recipients }) =>
    recipients.some(({ mailbox }) => isSharedMailbox(mailbox)),
  )
  const networks = toShared.flatMap(({ senderNetwork }) => senderNetwork ?? [])
  return [...new Set(networks)]
}

async function readSharedFacts(
  db: Db,
  recipients: readonly Recipient[],
  { shared }: LockedMailboxes,
): Promise<Known['addresses']> {
  const inShared = recipients.filter(({ mailbox }) => isSharedMailbox(mailbox))
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
  const facts = isSharedMailbox(mailbox) ? addresses.get(address) : undefined
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
  return {
    ...UNKNOWN_RECIPIENT,
    everAssigned: true,
    domain: box?.domain,
    session,
    keyId: box?.keyId,
  }
}

/** A mail whose bytes are packed already, with the number it will have. */
type PackedMail = Omit<NewMail, 'raw'> & { size: number; zstd: Uint8Array; serial: number }

interface MailInsertDeps {
  boxes: LockedMailboxes
  /** Buckets that mail was put in. */
  used: Set<number>
  keeping: Retention
  random: () => number
}

/** All that a commit will keep, gathered in the order in which it was decided on, and then written by one statement. */
export function mailInsert({ boxes, used, keeping, random }: MailInsertDeps) {
  const mails: (PackedMail & { start: number; copies: Map<number, number> })[] = []
  const messages: MessageValues[] = []
  let bytes = 0

  return {
    /** Keeps a mail once for each bucket, and a message of it for each of these recipients. */
    keep(mail: PackedMail, recipients: StoredRecipient[]): AddMailResult {
      if (recipients.length === 0) return { outcome: 'nobody' }
      const { size, receivedAt, senderNetwork } = mail
      const stored = mail.zstd.length
      const copies = new Map<number, number>()
      for (const { mailbox, address } of recipients) {
        const taken = addToMailbox(
          boxes,
          { mailbox, size, stored, senderNetwork, receivedAt, random: random() },
          keeping,
        )
        copies.set(taken.bucket, (copies.get(taken.bucket) ?? 0) + 1)
        used.add(taken.bucket)
        messages.push({ ...taken, mailbox, recipient: address, mail })
      }
      mails.push({ ...mail, copies, start: bytes + 1 })
      bytes += mail.zstd.length
      return { outcome: 'kept', recipients }
    },

    write(db: Transaction): void {
      if (messages.length === 0) return
      const raws = mails.flatMap(({ copies, ...mail }) =>
        [...copies].map(([bucket, refs]) => ({ ...mail, bucket, refs })),
      )
      const sessions = [...boxes.sessions.values()].filter(({ added }) => added.count > 0)
      const shared = [...boxes.shared.values()]
      const shares = [...boxes.shares.values()].filter(({ added }) => added.count > 0)
      db.queueBeforeCommit(INSERT_MAIL, [
        Buffer.concat(mails.map(({ zstd }) => zstd)),
        ...columns(raws, RAW_COLUMNS),
        ...columns(messages, MESSAGE_COLUMNS),
        sessions.map(({ id }) => id),
        sessions.map(({ added }) => added.count),
        sessions.map(({ added }) => added.bytes),
        sessions.map(({ lastId }) => lastId),
        shared.map(({ id }) => id),
        shared.map(({ added }) => added.count),
        shared.map(({ added }) => added.bytes),
        shared.map(({ last_id: lastId }) => lastId),
        shared.map(({ buckets }) => `{${buckets.join(',')}}`),
        shares.map(({ network }) => network),
        shares.map(({ mailbox }) => mailbox),
        shares.map(({ added }) => added.count),
        shares.map(({ added }) => added.bytes),
      ])
    },
  }
}

interface MessageValues {
  mailbox: MailboxId
  bucket: number
  id: number
  recipient: string
  keyId: string | undefined
  mail: PackedMail
}

type RawValues = PackedMail & { start: number; bucket: number; refs: number }
type Value = string | number | null | undefined

const RAW_COLUMNS: ((raw: RawValues) => Value)[] = [
  ({ bucket }) => bucket,
  ({ serial }) => serial,
  ({ refs }) => refs,
  ({ envelope }) => envelope.clientIp,
  ({ envelope }) => envelope.helo,
  ({ envelope }) => envelope.mailFrom,
  ({ envelope }) => envelope.tls,
  ({ envelope }) => envelope.protocol,
  ({ receivedAt }) => receivedAt.getTime(),
  ({ start }) => start,
  ({ zstd }) => zstd.length,
]

const MESSAGE_COLUMNS: ((message: MessageValues) => Value)[] = [
  ({ mailbox }) => mailbox,
  ({ bucket }) => bucket,
  ({ id }) => id,
  ({ mail }) => mail.serial,
  ({ recipient }) => recipient,
  ({ mail }) => mail.head.senderName,
  ({ mail }) => mail.head.senderEmail,
  ({ mail }) => mail.head.subject,
  ({ mail }) => mail.receivedAt.getTime(),
  ({ mail }) => mail.size,
  ({ keyId }) => keyId,
  ({ mailbox, mail }) => (isSharedMailbox(mailbox) ? mail.zstd.length : null),
  ({ mailbox, mail }) => (isSharedMailbox(mailbox) ? mail.senderNetwork : null),
]

function columns<Row>(rows: readonly Row[], readers: ((row: Row) => Value)[]): Value[][] {
  return readers.map((read) => rows.map(read))
}

// The bytes of all mails are one parameter, which goes over the wire as it is: in an array each would be written out in hex.
// The text never changes, however many mails there are: it is prepared once.
const INSERT_MAIL = `
  with raws as (
    insert into mail.raw_mail (bucket, serial, refs, client_ip, helo, mail_from, tls, protocol,
      received_at, zstd)
    select bucket, serial, refs, client_ip, helo, mail_from, tls, protocol, received_at,
      substring($1::bytea from start for length)
    from unnest($2::integer[], $3::bigint[], $4::integer[], $5::text[], $6::text[], $7::text[],
      $8::text[], $9::text[], $10::bigint[], $11::integer[], $12::integer[])
      as raw (bucket, serial, refs, client_ip, helo, mail_from, tls, protocol, received_at, start, length)
  ), messages as (
    insert into mail.message (mailbox, bucket, id, serial, recipient, sender_name, sender_email,
      subject, received_at, size, key_id, stored, sender_network)
    select * from unnest($13::bigint[], $14::integer[], $15::bigint[], $16::bigint[], $17::text[],
      $18::text[], $19::text[], $20::text[], $21::bigint[], $22::integer[], $23::text[],
      $24::integer[], $25::text[])
  ), sessions as (
    update mail.session set version = version + more.count, last_id = more.last_id,
      count = session.count + more.count, bytes = session.bytes + more.bytes
    from unnest($26::bigint[], $27::integer[], $28::bigint[], $29::bigint[])
      as more (id, count, bytes, last_id)
    where session.id = more.id
  ), shares as (
    insert into mail.sender_share as share (sender_network, mailbox, count, bytes)
    select * from unnest($35::text[], $36::bigint[], $37::integer[], $38::bigint[])
    on conflict (sender_network, mailbox)
    do update set count = share.count + excluded.count, bytes = share.bytes + excluded.bytes
  )
  update mail.shared_mailbox as box set version = version + more.count, last_id = more.last_id,
    count = box.count + more.count, bytes = box.bytes + more.bytes, buckets = more.buckets::integer[]
  from unnest($30::bigint[], $31::integer[], $32::bigint[], $33::bigint[], $34::text[])
    as more (id, count, bytes, last_id, buckets)
  where box.id = more.id`
