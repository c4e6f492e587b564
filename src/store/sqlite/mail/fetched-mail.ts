import type { Address } from '../../../core/address.ts'
import { deferredRetryMs, type FolderState } from '../../../core/gmail.ts'
import type { FetchedRecipient, ReceiveLimits, Recipient } from '../../../core/recipient.ts'
import type { MailboxId } from '../../../core/session.ts'
import { resolveFetched, seenCutoff } from '../../resolve-recipients.ts'
import type {
  AddFetchedMailResult,
  DeferredKey,
  DeferredMail,
  DeferredQuery,
  FetchedMail,
} from '../../store.ts'
import type { Db } from '../files.ts'
import { accountReads, LIVE_ALIAS } from './accounts.ts'
import type { InsertMail } from './add-mail.ts'

interface AliasRow {
  id: MailboxId
  key_id: string | null
  created_at: number
  count: number
  bytes: number
}

/** By the whole address, exactly as it was issued. */
function aliasByAddress(db: Db) {
  return db.prepare<[{ address: string; account: number; now: number }], AliasRow>(
    `select id, key_id, created_at, count, bytes from session
     where address = @address and ${LIVE_ALIAS}`,
  )
}

export function fetchReads(db: Db) {
  const alias = aliasByAddress(db)
  const folder = db.prepare<[number, string], { uid_validity: number; last_uid: number }>(
    'select uid_validity, last_uid from gmail_folder where account_id = ? and folder = ?',
  )

  return {
    findAliases: (account: number, addresses: readonly Address[], now: Date): Recipient[] =>
      addresses.flatMap((address) => {
        const row = alias.get({ address, account, now: now.getTime() })
        return row ? [{ address, mailbox: row.id }] : []
      }),
    readFolder(accountId: number, name: string): FolderState | undefined {
      const row = folder.get(accountId, name)
      return row && { uidValidity: row.uid_validity, lastUid: row.last_uid }
    },
  }
}

export function fetchWrites(db: Db, limits: ReceiveLimits, insertMail: InsertMail) {
  const alias = aliasByAddress(db)
  const upsertFolder = db.prepare(
    `insert into gmail_folder (account_id, folder, uid_validity, last_uid) values (?, ?, ?, ?)
     on conflict (account_id, folder)
     do update set uid_validity = excluded.uid_validity, last_uid = excluded.last_uid`,
  )
  const seen = identities(db)
  const { defer, deleteDeferred } = deferredWrites(db)

  function saveFolder(accountId: number, folder: string, state: FolderState): void {
    upsertFolder.run(accountId, folder, state.uidValidity, state.lastUid)
  }

  function find({ accountId, now }: FetchedMail, { address, mailbox }: Recipient) {
    const row = alias.get({ address, account: accountId, now: now.getTime() })
    if (row?.id !== mailbox) return undefined
    return { ...row, createdAt: new Date(row.created_at), keyId: row.key_id ?? undefined }
  }

  return {
    saveFolder,
    deleteDeferred,
    addFetchedMail(mail: FetchedMail): AddFetchedMailResult {
      saveFolder(mail.accountId, mail.folder, mail.state)
      const fresh = mail.recipients.filter((recipient) => !seen.has(mail, recipient))
      const sized = { recipients: fresh, receivedAt: mail.receivedAt, size: mail.raw.length }
      const { taken, full } = resolveFetched(sized, limits, (recipient) => find(mail, recipient))
      defer(mail, full)
      if (fresh.length === 0 && mail.recipients.length > 0) return { outcome: 'known' }
      if (taken.length === 0) return { outcome: full.length > 0 ? 'full' : 'nobody' }
      for (const recipient of taken) seen.add(mail, recipient)
      insertMail(mail, taken)
      return { outcome: 'kept', recipients: taken, deferred: full.length > 0 }
    },
  }
}

/** Mail that was fetched, remembered as long as a search could return it again. */
function identities(db: Db) {
  // Equal mails with different UIDs are two: some programs write no Message-ID and send twice within a second.
  const find = db
    .prepare<[SeenKey], number>(
      `select 1 from gmail_seen where account_id = @account and identity = @identity
         and not (folder = @folder and uid_validity = @validity and uid <> @uid)`,
    )
    .pluck()
  const insert = db.prepare<[SeenKey & { received: number }]>(
    `insert into gmail_seen (account_id, identity, folder, uid_validity, uid, received_at)
     values (@account, @identity, @folder, @validity, @uid, @received)`,
  )
  const forget = db.prepare('delete from gmail_seen where account_id = ? and received_at < ?')
  const { oldestAlias } = accountReads(db)

  return {
    has: (mail: FetchedMail, recipient: FetchedRecipient): boolean =>
      find.get(seenKey(mail, recipient)) !== undefined,
    add(mail: FetchedMail, recipient: FetchedRecipient): void {
      const oldest = oldestAlias(mail.accountId, mail.now)
      forget.run(mail.accountId, seenCutoff(oldest, mail.now))
      insert.run({ ...seenKey(mail, recipient), received: mail.receivedAt.getTime() })
    },
  }
}

interface SeenKey {
  account: number
  identity: string
  folder: string
  validity: number
  uid: number
}

function seenKey(
  { accountId, folder, uid, state }: FetchedMail,
  { identity }: FetchedRecipient,
): SeenKey {
  return { account: accountId, identity, folder, validity: state.uidValidity, uid }
}

interface DeferredRow {
  uid: number
  address: Address
  mailboxes: string
  wanted: number
}

export function deferredReads(db: Db, { mailbox: { maxMessages, maxBytes } }: ReceiveLimits) {
  const due = db.prepare<[Record<string, string | number>], DeferredRow>(
    `select uid, min(mail.address) as address, json_group_array(mailbox) as mailboxes,
       max(session.id is not null) as wanted
     from gmail_deferred as mail left join (select * from session where ${LIVE_ALIAS}) as session
       on session.id = mail.mailbox
     where mail.account_id = @account and folder = @folder and uid_validity = @validity
       and next_at <= @now
     group by uid
     having wanted = 0 or max(session.count < @maxMessages and session.bytes + size <= @maxBytes) = 1
     order by uid limit @limit`,
  )

  return {
    listDeferred({ accountId, folder, uidValidity, now, limit }: DeferredQuery): DeferredMail[] {
      const key = { account: accountId, folder, validity: uidValidity }
      const rows = due.all({ ...key, now: now.getTime(), limit, maxMessages, maxBytes })
      return rows.map(({ uid, address, mailboxes, wanted }) => ({
        uid,
        address,
        mailboxes: JSON.parse(mailboxes) as MailboxId[],
        wanted: wanted === 1,
      }))
    },
  }
}

export function deferredWrites(db: Db) {
  const remove = db
    .prepare<[number, string, number, number], number>(
      `delete from gmail_deferred
       where account_id = ? and folder = ? and uid_validity = ? and uid = ? returning tries`,
    )
    .pluck()
  const removeOthers = db.prepare<[number, string, number]>(
    'delete from gmail_deferred where account_id = ? and folder = ? and uid_validity <> ?',
  )
  const insert = db.prepare('insert into gmail_deferred values (?, ?, ?, ?, ?, ?, ?, ?, ?)')

  return {
    /** Replaces those who were full at the last try. */
    defer(mail: FetchedMail, full: readonly FetchedRecipient[]): void {
      const { accountId, folder, uid, raw, now } = mail
      const key = [accountId, folder, mail.state.uidValidity, uid] as const
      const tries = Math.max(-1, ...remove.all(...key)) + 1
      const nextAt = now.getTime() + deferredRetryMs(tries)
      for (const { mailbox, address } of full) {
        insert.run(...key, mailbox, address, raw.length, tries, nextAt)
      }
    },
    deleteDeferred({ accountId, folder, uidValidity, uids }: DeferredKey): void {
      for (const uid of uids) remove.all(accountId, folder, uidValidity, uid)
      removeOthers.run(accountId, folder, uidValidity)
    },
  }
}
