import { hostOf, wildcardAbove } from '../../../base/address.ts'
import { idBounds } from '../../../base/id.ts'
import { type Operation, query } from '../../../base/operation.ts'
import { DOMAIN_COLUMNS, type DomainRow, domainOf } from '../../../mail/domain-store.ts'
import { addUsage, type MailboxUsage, type Recipient } from '../../../mail/rules/recipient.ts'
import { isSharedMailbox, type MailboxId, OPERATOR, POOL } from '../../../mail/rules/session.ts'
import { rulesOf, type SessionRow } from '../../../mail/store-rows.ts'
import { NO_USAGE } from '../../resolve-recipients.ts'
import { partitionFor } from './partition-key.ts'

interface BoxRow
  extends Omit<
    SessionRow,
    'token_hash' | 'version' | 'codes' | 'cleared' | 'label' | 'refused' | 'own_domain'
  > {
  /** Neither ended nor swept, and still with its address. */
  owned: boolean
  domain_id: number | null
}

/** A locked session, and what this transaction has added to it. */
export type SessionBox = ReturnType<typeof boxOf>
type SharedBox = SharedRow & { added: MailboxUsage }

interface SharedRow extends MailboxUsage {
  id: MailboxId
  last_id: number
}

/** The share of a sender in a locked shared mailbox, and what this transaction has added to it. */
export interface HeldShare {
  network: string
  mailbox: MailboxId
  held: MailboxUsage
  added: MailboxUsage
}

export interface LockedMailboxes {
  sessions: Map<MailboxId, SessionBox>
  shared: Map<MailboxId, SharedBox>
  shares: Map<string, HeldShare>
}

/**
 * Locks all mailboxes that a transaction may add to: sessions in the order of their ids, then the shared ones. The pool is also
 * locked if a session was created with a key: it draws the ids of all mail that a key may see, so that they rise in the order of
 * commit.
 */
export function* lockMailboxes(recipients: readonly Recipient[]): Operation<LockedMailboxes> {
  const wanted = [...new Set(recipients.map(({ mailbox }) => mailbox))]
  const ids = wanted.filter((mailbox) => !isSharedMailbox(mailbox))
  const rows = ids.length === 0 ? [] : yield* lockSessions(ids)
  const sessions = new Map(rows.map((row) => [row.id, boxOf(row)]))
  const isKeyed = rows.some((row) => row.key_id !== null)
  const needed = [POOL, OPERATOR].filter(
    (mailbox) => wanted.includes(mailbox) || (mailbox === POOL && isKeyed),
  )
  const locked = needed.length === 0 ? [] : yield* lockShared(needed)
  const shared = new Map(
    locked.map((row) => [row.id, { ...row, added: { count: 0, bytes: 0 } }] as const),
  )
  return { sessions, shared, shares: new Map() }
}

/** In the order of ids, and after any sessions, so that transactions cannot deadlock. */
function lockShared(mailboxes: readonly MailboxId[]): Operation<SharedRow[]> {
  return query(
    `select id, last_id, count, bytes from mail.shared_mailbox where id = any($1::bigint[])
     order by id for no key update`,
    [mailboxes],
  )
}

interface Share extends MailboxUsage {
  sender_network: string
  mailbox: MailboxId
}

/** The shares of these networks. Exact while the shared mailboxes are locked: nothing else changes these rows. */
export function readShares(networks: readonly string[]): Operation<Share[]> {
  return query(
    `select sender_network, mailbox, count, bytes from mail.sender_share
     where sender_network = any($1::text[])`,
    [networks],
  )
}

/** Reads the shares of these senders in the locked shared mailboxes. */
export function* readHeldShares(
  { shared, shares }: LockedMailboxes,
  networks: readonly string[],
): Operation<void> {
  if (networks.length === 0) return
  const rows = yield* readShares(networks)
  for (const network of networks) {
    for (const mailbox of shared.keys()) {
      const row = rows.find((one) => one.sender_network === network && one.mailbox === mailbox)
      const share = { network, mailbox, held: row ?? NO_USAGE, added: NO_USAGE }
      shares.set(`${mailbox} ${network}`, share)
    }
  }
}

export function heldShare(
  { shares }: LockedMailboxes,
  mailbox: MailboxId,
  network: string,
): MailboxUsage {
  return shares.get(`${mailbox} ${network}`)?.held ?? NO_USAGE
}

function* lockSessions(ids: readonly MailboxId[]): Operation<(BoxRow & DomainRow)[]> {
  const rows = yield* query<BoxRow & DomainRow>(
    `select session.id, address, token_hash is not null and not cleared as owned, key_id, account_id,
       created_at, expires_at, last_id, count, bytes, only_from, max_messages, received,
       domain.id as domain_id, name, active, removed, sessions, reader, ttl_seconds, owner
     from mail.session left join mail.mail_domain as domain on name = split_part(address, '@', 2)
     where session.id = any($1::bigint[]) order by session.id for no key update of session`,
    [ids],
  )
  const below = rows.filter((row) => row.domain_id === null && row.account_id === null)
  const wildcards = below.length === 0 ? [] : yield* findWildcards(below)
  return rows.map((row) => {
    const name = below.includes(row) ? wildcardOf(row) : undefined
    const { id: domainId, ...domain } = wildcards.find((one) => one.name === name) ?? {}
    return domainId === undefined ? row : { ...row, ...domain, domain_id: domainId }
  })
}

const wildcardOf = ({ address }: BoxRow) => address && wildcardAbove(hostOf(address))

/** Wildcard domains of sessions whose hosts are not named themselves. */
function findWildcards(sessions: readonly BoxRow[]): Operation<DomainRow[]> {
  return query(`select ${DOMAIN_COLUMNS} from mail.mail_domain where name = any($1::text[])`, [
    sessions.map(wildcardOf),
  ])
}

function boxOf(row: BoxRow & DomainRow) {
  return {
    ...(row as BoxRow),
    domain: row.domain_id === null ? undefined : domainOf({ ...row, id: row.domain_id }),
    keyId: row.key_id ?? undefined,
    createdAt: new Date(row.created_at),
    expiresAt: new Date(row.expires_at),
    rules: rulesOf(row),
    added: { count: 0, bytes: 0 },
    refused: 0,
  }
}

/** How long mail is kept in the shared mailboxes. */
export interface Retention {
  poolMs: number
  operatorMs: number
}

/** Counts a mail in its mailbox and draws its id. */
export function addToMailbox(
  boxes: LockedMailboxes,
  mail: {
    mailbox: MailboxId
    size: number
    stored: number
    senderNetwork: string | undefined
    receivedAt: Date
    random: number
  },
  retention: Retention,
): { id: number; bucket: number; keyId: string | undefined } {
  const { step, least } = idBounds(mail.receivedAt, mail.random)
  const pool = boxes.shared.get(POOL)
  const session = boxes.sessions.get(mail.mailbox)
  if (session) {
    if (session.keyId !== undefined && pool) pool.last_id = Math.max(pool.last_id + step, least)
    const from = session.keyId === undefined ? least : (pool?.last_id ?? least)
    session.last_id = Math.max(session.last_id + step, from)
    add(session, mail.size)
    session.received += 1
    const bucket = partitionFor(session.expiresAt, mail.receivedAt)
    return { id: session.last_id, bucket, keyId: session.keyId }
  }
  const shared = boxes.shared.get(mail.mailbox)
  if (!shared) throw new Error('the mailbox disappeared inside the transaction')
  shared.last_id = Math.max(shared.last_id + step, least)
  const retentionMs = mail.mailbox === POOL ? retention.poolMs : retention.operatorMs
  const bucket = partitionFor(new Date(mail.receivedAt.getTime() + retentionMs), mail.receivedAt)
  add(shared, mail.stored)
  const share = boxes.shares.get(`${mail.mailbox} ${mail.senderNetwork}`)
  if (share) {
    share.held = addUsage(share.held, 1, mail.stored)
    share.added = addUsage(share.added, 1, mail.stored)
  }
  return { id: shared.last_id, bucket, keyId: undefined }
}

function add(box: SessionBox | SharedBox, size: number): void {
  box.count += 1
  box.bytes += size
  box.added.count += 1
  box.added.bytes += size
}
