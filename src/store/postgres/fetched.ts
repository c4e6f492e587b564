import type { Address } from '../../core/address.ts'
import type { FolderState } from '../../core/gmail.ts'
import type { FetchedRecipient, Recipient } from '../../core/recipient.ts'
import { isLive, type MailboxId } from '../../core/session.ts'
import { rememberFrom, resolveFetched } from '../resolve-fetched.ts'
import type { FetchedMail, KeptFetched } from '../store.ts'
import { accountReads, LIVE_ALIAS } from './accounts.ts'
import type { Connections, Db } from './connections.ts'
import { defer, deferredWrites } from './deferred.ts'
import { delivery, type IntakeDeps } from './intake.ts'
import { type LockedMailboxes, lockMailboxes } from './mailbox-locks.ts'
import { withPartitions } from './partitions.ts'
import { pack } from './raw.ts'

export function fetchReads(db: Db) {
  return {
    /** By the whole address, as it was issued: never by part of it. */
    findAliases: (
      account: number,
      addresses: readonly Address[],
      now: Date,
    ): Promise<Recipient[]> =>
      db.rows<{ address: Address; mailbox: MailboxId }>(
        `select address, id as mailbox from mail.session
         where address = any($3::text[]) and ${LIVE_ALIAS} order by array_position($3, address)`,
        [account, now.getTime(), addresses],
      ),
    async readFolder(accountId: number, name: string): Promise<FolderState | undefined> {
      const [row] = await db.rows<{ uid_validity: number; last_uid: number }>(
        'select uid_validity, last_uid from mail.gmail_folder where account_id = $1 and folder = $2',
        [accountId, name],
      )
      return row && { uidValidity: row.uid_validity, lastUid: row.last_uid }
    },
  }
}

export function fetchWrites(pool: Connections, deps: IntakeDeps) {
  async function addFetched(mail: FetchedMail): Promise<KeptFetched> {
    const packed = { size: mail.raw.length, zstd: await pack(mail.raw) }
    const [serial = 0] = await deps.serials(1)
    return await withPartitions(pool, async (db, used) => {
      // First of all: of two who fetch the same mail, the second waits here and then finds it known.
      await putFolder(db, mail.accountId, mail.folder, mail.state)
      const known = await findKnown(db, mail)
      const fresh = mail.recipients.filter(({ identity }) => !known.has(identity))
      const boxes = await lockMailboxes(db, fresh)
      const sized = { recipients: fresh, receivedAt: mail.receivedAt, size: packed.size }
      const { taken, full } = resolveFetched(sized, deps.limits, (one) => find(mail, one, boxes))
      await defer(db, mail, { full, size: packed.size })
      if (fresh.length === 0 && mail.recipients.length > 0) return { outcome: 'known' }
      if (taken.length === 0) return { outcome: full.length > 0 ? 'full' : 'nobody' }
      await noteSeen(db, mail, taken)
      const { keep, write } = delivery({ boxes, used, ...deps })
      keep({ ...mail, ...packed, serial }, taken)
      write(db)
      return { outcome: 'kept', recipients: taken, deferred: full.length > 0 }
    })
  }

  return {
    keepFolder: (accountId: number, folder: string, state: FolderState): Promise<void> =>
      putFolder(pool, accountId, folder, state),
    addFetched,
    ...deferredWrites(pool),
  }
}

async function putFolder(db: Db, accountId: number, folder: string, state: FolderState) {
  await db.rows(
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

/** By what of these recipients the mail was kept before. */
async function findKnown(db: Db, mail: FetchedMail): Promise<Set<string>> {
  // Mails that look alike are two when the server numbers them apart: some programs write no Message-ID, and send twice a second.
  const rows = await db.rows<{ identity: string }>(
    `select identity from mail.gmail_seen where account_id = $1 and identity = any($2::text[])
       and not (folder = $3 and uid_validity = $4 and uid <> $5)`,
    [mail.accountId, identitiesOf(mail.recipients), mail.folder, mail.state.uidValidity, mail.uid],
  )
  return new Set(rows.map(({ identity }) => identity))
}

/** Remembered as long as a look back could meet it again. */
async function noteSeen(db: Db, mail: FetchedMail, taken: readonly FetchedRecipient[]) {
  const oldest = await accountReads(db).oldestAlias(mail.accountId, mail.now)
  await db.rows('delete from mail.gmail_seen where account_id = $1 and received_at < $2', [
    mail.accountId,
    rememberFrom(oldest, mail.now),
  ])
  await db.rows(
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
