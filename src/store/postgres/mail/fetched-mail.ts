import type { Address } from '../../../core/address.ts'
import { deferredRetryMs, type FolderState } from '../../../core/gmail.ts'
import type { FetchedRecipient, ReceiveLimits, Recipient } from '../../../core/recipient.ts'
import { isLive, type MailboxId } from '../../../core/session.ts'
import { resolveFetched, seenCutoff } from '../../resolve-recipients.ts'
import type {
  AddFetchedMailResult,
  DeferredKey,
  DeferredMail,
  DeferredQuery,
  FetchedMail,
} from '../../store.ts'
import type { Connections, Db } from '../connection/connections.ts'
import { accountReads, LIVE_ALIAS } from './accounts.ts'
import type { AddMailDeps } from './add-mail.ts'
import { mailInsert } from './insert-mail.ts'
import { type LockedMailboxes, lockMailboxes } from './mailbox-locks.ts'
import { withPartitions } from './partitions.ts'
import { compress } from './raw-mail.ts'

export function fetchReads(db: Db) {
  return {
    /** By the whole address, exactly as it was issued. */
    findAliases: (
      account: number,
      addresses: readonly Address[],
      now: Date,
    ): Promise<Recipient[]> =>
      db.query<{ address: Address; mailbox: MailboxId }>(
        `select address, id as mailbox from mail.session
         where address = any($3::text[]) and ${LIVE_ALIAS} order by array_position($3, address)`,
        [account, now.getTime(), addresses],
      ),
    async readFolder(accountId: number, name: string): Promise<FolderState | undefined> {
      const [row] = await db.query<{ uid_validity: number; last_uid: number }>(
        'select uid_validity, last_uid from mail.gmail_folder where account_id = $1 and folder = $2',
        [accountId, name],
      )
      return row && { uidValidity: row.uid_validity, lastUid: row.last_uid }
    },
  }
}

export function fetchWrites(connections: Connections, deps: AddMailDeps) {
  async function addFetchedMail(mail: FetchedMail): Promise<AddFetchedMailResult> {
    const compressed = { size: mail.raw.length, zstd: await compress(mail.raw) }
    const [serial = 0] = await deps.serials(1)
    return await withPartitions(connections, async (db, used) => {
      // First, because it locks: of two nodes that fetch the same mail, the second waits here and then finds it known.
      await saveFolderState(db, mail.accountId, mail.folder, mail.state)
      const known = await findSeen(db, mail)
      const fresh = mail.recipients.filter(({ identity }) => !known.has(identity))
      const boxes = await lockMailboxes(db, fresh)
      const sized = { recipients: fresh, receivedAt: mail.receivedAt, size: compressed.size }
      const { taken, full } = resolveFetched(sized, deps.limits, (one) => find(mail, one, boxes))
      await defer(db, mail, { full, size: compressed.size })
      if (fresh.length === 0 && mail.recipients.length > 0) return { outcome: 'known' }
      if (taken.length === 0) return { outcome: full.length > 0 ? 'full' : 'nobody' }
      await recordSeen(db, mail, taken)
      const { add, queueInsert } = mailInsert({ boxes, used, ...deps })
      add({ ...mail, ...compressed, serial }, taken)
      queueInsert(db)
      return { outcome: 'kept', recipients: taken, deferred: full.length > 0 }
    })
  }

  return {
    saveFolder: (accountId: number, folder: string, state: FolderState): Promise<void> =>
      saveFolderState(connections, accountId, folder, state),
    addFetchedMail,
    ...deferredWrites(connections),
  }
}

async function saveFolderState(db: Db, accountId: number, folder: string, state: FolderState) {
  await db.query(
    `insert into mail.gmail_folder (account_id, folder, uid_validity, last_uid)
     values ($1, $2, $3, $4)
     on conflict (account_id, folder)
     do update set uid_validity = excluded.uid_validity, last_uid = excluded.last_uid`,
    [accountId, folder, state.uidValidity, state.lastUid],
  )
}

function find(
  { accountId, now }: FetchedMail,
  { address, mailbox }: Recipient,
  boxes: LockedMailboxes,
) {
  const box = boxes.sessions.get(mailbox)
  const isTheirs = box?.owned && box.address === address && box.accountId === accountId
  return isTheirs && isLive(box, now) ? box : undefined
}

/** The identities under which the mail was stored before. */
async function findSeen(db: Db, mail: FetchedMail): Promise<Set<string>> {
  // Equal mails with different UIDs are two: some programs write no Message-ID and send twice within a second.
  const rows = await db.query<{ identity: string }>(
    `select identity from mail.gmail_seen where account_id = $1 and identity = any($2::text[])
       and not (folder = $3 and uid_validity = $4 and uid <> $5)`,
    [mail.accountId, identitiesOf(mail.recipients), mail.folder, mail.state.uidValidity, mail.uid],
  )
  return new Set(rows.map(({ identity }) => identity))
}

/** Remembered as long as a search could return it again. */
async function recordSeen(db: Db, mail: FetchedMail, taken: readonly FetchedRecipient[]) {
  const oldest = await accountReads(db).oldestAlias(mail.accountId, mail.now)
  await db.query('delete from mail.gmail_seen where account_id = $1 and received_at < $2', [
    mail.accountId,
    seenCutoff(oldest, mail.now),
  ])
  await db.query(
    `insert into mail.gmail_seen (account_id, identity, folder, uid_validity, uid, received_at)
     select $1, identity, $3, $4, $5, $6 from unnest($2::text[]) as identity`,
    [
      mail.accountId,
      identitiesOf(taken),
      mail.folder,
      mail.state.uidValidity,
      mail.uid,
      mail.receivedAt.getTime(),
    ],
  )
}

function identitiesOf(recipients: readonly FetchedRecipient[]): string[] {
  return recipients.map(({ identity }) => identity)
}

interface DeferredRow {
  uid: number
  address: Address
  mailboxes: string
  wanted: boolean
}

export function deferredReads(db: Db, { mailbox: { maxMessages, maxBytes } }: ReceiveLimits) {
  return {
    async listDeferred(query: DeferredQuery): Promise<DeferredMail[]> {
      const { accountId, folder, uidValidity, now, limit } = query
      const rows = await db.query<DeferredRow>(
        `select uid, min(mail.address) as address, json_agg(mailbox)::text as mailboxes,
           bool_or(session.id is not null) as wanted
         from mail.gmail_deferred as mail
         left join (select * from mail.session where ${LIVE_ALIAS}) as session
           on session.id = mail.mailbox
         where mail.account_id = $1 and folder = $3 and uid_validity = $4 and next_at <= $2
         group by uid
         having not bool_or(session.id is not null)
           or bool_or(session.count < $5 and session.bytes + size <= $6)
         order by uid limit $7`,
        [accountId, now.getTime(), folder, uidValidity, maxMessages, maxBytes, limit],
      )
      return rows.map(({ mailboxes, ...row }) => ({
        ...row,
        mailboxes: JSON.parse(mailboxes) as MailboxId[],
      }))
    },
  }
}

export function deferredWrites(db: Db) {
  return {
    async deleteDeferred(key: DeferredKey): Promise<void> {
      const { accountId, folder, uidValidity, uids } = key
      await db.query(
        `delete from mail.gmail_deferred
         where account_id = $1 and folder = $2 and (uid_validity <> $3 or uid = any($4::bigint[]))`,
        [accountId, folder, uidValidity, uids],
      )
    },
  }
}

/** Replaces those who were full at the last try. */
export async function defer(
  db: Db,
  mail: FetchedMail,
  { full, size }: { full: readonly FetchedRecipient[]; size: number },
): Promise<void> {
  const { accountId, folder, uid, now } = mail
  const key = [accountId, folder, mail.state.uidValidity, uid]
  const previous = await db.query<{ tries: number }>(
    `delete from mail.gmail_deferred
     where account_id = $1 and folder = $2 and uid_validity = $3 and uid = $4 returning tries`,
    key,
  )
  if (full.length === 0) return
  const tries = Math.max(-1, ...previous.map((row) => row.tries)) + 1
  const mailboxes = full.map(({ mailbox }) => mailbox)
  const addresses = full.map(({ address }) => address)
  await db.query(
    `insert into mail.gmail_deferred
     select $1, $2, $3, $4, mailbox, address, $7, $8, $9
     from unnest($5::bigint[], $6::text[]) as recipient (mailbox, address)`,
    [...key, mailboxes, addresses, size, tries, now.getTime() + deferredRetryMs(tries)],
  )
}
