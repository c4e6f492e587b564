import { type Address, hostOf, type MailDomain } from '../../../base/address.ts'
import type { LedgerHmac } from '../../../mail/rules/ledger.ts'
import {
  addUsage,
  type ReceiveLimits,
  type Recipient,
  type RecipientFacts,
} from '../../../mail/rules/recipient.ts'
import { catchAllAddress, isSharedMailbox, OPERATOR, POOL } from '../../../mail/rules/session.ts'
import type { AddMailResult, NewMail } from '../../../mail/store.ts'
import { compressMailAsync } from '../../compression.ts'
import {
  type FoundRecipient,
  resolveRecipients,
  UNKNOWN_RECIPIENT,
} from '../../resolve-recipients.ts'
import { batchWrites } from '../connection/batching.ts'
import type { Connections, Db, Transaction } from '../connection/connections.ts'
import { runOperation } from '../connection/operations.ts'
import { type CompressedMail, mailInsert } from './insert-mail.ts'
import {
  heldShare,
  type LockedMailboxes,
  lockMailboxes,
  type Retention,
  readHeldShares,
  type SessionBox,
} from './mailbox-locks.ts'
import { withPartitions } from './partitions.ts'
import { readOwnBytes, sharedFacts } from './recipients.ts'

export interface AddMailDeps {
  limits: ReceiveLimits
  hmac: LedgerHmac
  retention: Retention
  random: () => number
  serials: (count: number) => Promise<number[]>
}

/** The transaction that makes mail durable: all mail that waits in this thread shares one. */
export function addMailWrites(connections: Connections, deps: AddMailDeps) {
  const commit = batchWrites(async (mails: readonly PendingMail[]) => {
    const serials = await deps.serials(mails.length)
    return await withPartitions(connections, (db) => addMails(db, mails, { ...deps, serials }))
  })

  return {
    async addMail({ raw, ...mail }: NewMail): Promise<AddMailResult> {
      const zstd = await compressMailAsync({ raw, recipients: mail.recipients })
      return await commit({ ...mail, size: raw.length, zstd })
    },
  }
}

type PendingMail = Omit<CompressedMail, 'serial'>

interface AddMailsOptions extends Omit<AddMailDeps, 'serials'> {
  /** One for each mail. */
  serials: readonly number[]
}

/** Locks every mailbox that the mails are for, resolves the recipients of one mail after the other, and stores those accepted. */
async function addMails(
  db: Transaction,
  mails: readonly PendingMail[],
  { serials, ...deps }: AddMailsOptions,
): Promise<AddMailResult[]> {
  const recipients = mails.flatMap((mail) => mail.recipients)
  await lockOwnDomains(db, recipients)
  const boxes = await runOperation(db, lockMailboxes(recipients))
  const [addresses] = await Promise.all([
    readSharedFacts(db, recipients, { boxes, hmac: deps.hmac }),
    runOperation(db, readHeldShares(boxes, sharedSenders(mails))),
  ])
  const own = await readOwnUse(db, recipients, boxes)
  const known = { boxes, addresses, own }
  const { add, queueInsert } = mailInsert({ boxes, ...deps })

  const results = mails.map((mail, at): AddMailResult => {
    const sized = { ...mail, stored: mail.zstd.length }
    const resolved = resolveRecipients(
      sized,
      deps.limits,
      (recipient) => factsOf(recipient, known, mail.senderNetwork),
      (mailbox) => {
        const box = boxes.sessions.get(mailbox)
        if (box) box.refused += 1
      },
    )
    if (typeof resolved === 'string') return { outcome: resolved }
    for (const { address, mailbox, own: at } of resolved) {
      if (at) own.bytes.set(at.owner, (own.bytes.get(at.owner) ?? 0) + mail.size)
      const facts = mailbox === POOL ? known.addresses.get(address) : undefined
      if (facts) facts.poolAddress = addUsage(facts.poolAddress, 1, mail.size)
    }
    add({ ...mail, serial: serials[at] ?? 0 }, resolved)
    return { outcome: 'stored', recipients: resolved }
  })
  await countRefused(db, boxes)
  await countTaken(db, results)
  queueInsert(db)
  return results
}

/** Without a new version of the key: a refused mail changes nothing that it may see. */
async function countRefused(db: Db, { sessions }: LockedMailboxes): Promise<void> {
  const refusing = [...sessions.values()].filter(({ refused }) => refused > 0)
  if (refusing.length === 0) return
  const values = [refusing.map(({ id }) => id), refusing.map(({ refused }) => refused)]
  await db.query(
    `update mail.session set refused = session.refused + more.count
     from unnest($1::bigint[], $2::integer[]) as more (id, count) where session.id = more.id`,
    values,
  )
}

/** Read inside the transaction: the locked mailboxes, and the facts about addresses in a shared one. */
interface Known {
  boxes: LockedMailboxes
  addresses: Map<Address, RecipientFacts>
  own: OwnUse
}

/** Before their sessions, as whoever changes such a domain does: neither its owner nor its state changes until the commit. */
async function lockOwnDomains(db: Db, recipients: readonly Recipient[]): Promise<void> {
  const names = recipients.filter(({ own }) => own).map(({ address }) => hostOf(address))
  if (names.length === 0) return
  await db.query(
    `select 1 from mail.own_domain where name = any($1::text[]) and state <> 'pending'
     order by name for no key update`,
    [names],
  )
}

interface OwnUse {
  /** By key, with what this transaction has added. */
  bytes: Map<string, number>
  /** Addresses accepted for a catch-all that have a session, live or ended, by now. */
  held: Set<Address>
}

async function readOwnUse(
  db: Db,
  recipients: readonly Recipient[],
  { sessions }: LockedMailboxes,
): Promise<OwnUse> {
  const owners = [...sessions.values()].flatMap(({ domain }) => domain?.owner ?? [])
  if (owners.length === 0) return { bytes: new Map(), held: new Set() }
  const others = recipients.filter(
    ({ address, mailbox }) => sessions.get(mailbox)?.address !== address,
  )
  const [bytes, rows] = await Promise.all([
    readOwnBytes(db, owners),
    db.query<{ address: Address }>(
      'select address from mail.session where address = any($1::text[])',
      [others.map(({ address }) => address)],
    ),
  ])
  return { bytes, held: new Set(rows.map(({ address }) => address)) }
}

async function countTaken(db: Db, results: readonly AddMailResult[]): Promise<void> {
  const taken = results
    .flatMap((result) => (result.outcome === 'stored' ? result.recipients : []))
    .filter(({ own }) => own)
  if (taken.length === 0) return
  await db.query(
    `update mail.own_domain set taken = own_domain.taken + more.count
     from (select name, count(*) from unnest($1::text[]) as name group by name) as more
     where own_domain.name = more.name and state <> 'pending'`,
    [taken.map(({ address }) => hostOf(address))],
  )
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
  { boxes: { shared }, hmac }: { boxes: LockedMailboxes; hmac: LedgerHmac },
): Promise<Known['addresses']> {
  const inShared = recipients.filter(({ mailbox }) => isSharedMailbox(mailbox))
  const addresses = [...new Set(inShared.map(({ address }) => address))]
  if (addresses.length === 0) return new Map()
  return await sharedFacts(db, addresses, { shared: [...shared.values()], hmac })
}

function factsOf(
  { address, mailbox }: Recipient,
  { boxes, addresses, own }: Known,
  network: string | undefined,
): FoundRecipient {
  // In the same batch, mail may have been accepted for the pool just before the address was given to a session.
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
  if (box?.domain?.owner !== undefined)
    return ownBoxFacts(address, { box, domain: box.domain, own })
  const isTheirs = box?.owned && box.address === address
  const session = isTheirs ? box : undefined
  return {
    ...UNKNOWN_RECIPIENT,
    inLedger: true,
    domain: box?.domain,
    session,
    keyId: box?.keyId,
  }
}

/** At the domain of a key holder: a mailbox of another key, of before, gets nothing. */
function ownBoxFacts(
  address: Address,
  { box, domain, own }: { box: SessionBox; domain: MailDomain; own: OwnUse },
): FoundRecipient {
  const { name, owner } = domain
  const theirs = box.owned && box.keyId === owner ? box : undefined
  const isCatchAll = theirs?.address === catchAllAddress(name) && hostOf(address) === name
  return {
    ...UNKNOWN_RECIPIENT,
    domain,
    session: theirs?.address === address ? theirs : undefined,
    keyId: owner,
    own: {
      bytes: own.bytes.get(owner ?? '') ?? 0,
      catchAll: isCatchAll && !own.held.has(address) ? theirs.id : undefined,
    },
  }
}
