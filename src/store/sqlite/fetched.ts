import type { Address } from '../../core/address.ts'
import { type FolderState, isSinceAlias } from '../../core/gmail.ts'
import { hasRoom, type ReceiveLimits, type Recipient } from '../../core/recipient.ts'
import type { MailboxId } from '../../core/session.ts'
import type { FetchedMail, Kept, KeptRecipient } from '../store.ts'
import { accountReads, LIVE_ALIAS } from './accounts.ts'
import type { KeepMail } from './delivery.ts'
import type { Db } from './files.ts'
import type { Touch } from './group-commit.ts'

interface AliasRow {
  id: MailboxId
  key_id: string | null
  created_at: number
  count: number
  bytes: number
}

/** By the whole address, as it was issued: never by part of it. */
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

interface KeepFolder {
  accountId: number
  folder: string
  state: FolderState
}

export function fetchWrites(db: Db, limits: ReceiveLimits, keep: KeepMail) {
  const alias = aliasByAddress(db)
  const folder = db.prepare(
    `insert into gmail_folder (account_id, folder, uid_validity, last_uid) values (?, ?, ?, ?)
     on conflict (account_id, folder)
     do update set uid_validity = excluded.uid_validity, last_uid = excluded.last_uid`,
  )
  const seen = identities(db)

  function keepFolder({ accountId, folder: name, state }: KeepFolder): void {
    folder.run(accountId, name, state.uidValidity, state.lastUid)
  }

  /** Those who were there already, are still there and have room. A full one goes without: the mail stays in the account. */
  function decide(mail: FetchedMail): { taken: KeptRecipient[]; full: boolean } {
    const taken: KeptRecipient[] = []
    let full = false
    for (const { address, mailbox } of mail.recipients) {
      const row = alias.get({ address, account: mail.accountId, now: mail.now.getTime() })
      if (row?.id !== mailbox || !isSinceAlias(mail.receivedAt, new Date(row.created_at))) continue
      if (hasRoom(row, limits.mailbox, mail.raw.length)) {
        taken.push({ address, mailbox, keyId: row.key_id ?? undefined })
      } else full = true
    }
    return { taken, full }
  }

  return {
    keepFolder,
    addFetched(mail: FetchedMail, touch: Touch): Kept | { outcome: 'known' } {
      keepFolder(mail)
      if (seen.has(mail)) return { outcome: 'known' }
      const { taken, full } = decide(mail)
      if (taken.length === 0) return { outcome: full ? 'full' : 'nobody' }
      seen.add(mail)
      return keep(mail, taken, touch)
    },
  }
}

// SEARCH SINCE looks at whole days, in the server's time zone.
const LOOK_BACK_MS = 2 * 86_400_000

/** What was fetched, as long as a look back could meet it again: to the oldest alias that lives, and no further. */
function identities(db: Db) {
  const find = db
    .prepare<[number, string], number>(
      'select 1 from gmail_seen where account_id = ? and identity = ?',
    )
    .pluck()
  const insert = db.prepare(
    'insert into gmail_seen (account_id, identity, received_at) values (?, ?, ?)',
  )
  const forget = db.prepare('delete from gmail_seen where account_id = ? and received_at < ?')
  const { oldestAlias } = accountReads(db)

  return {
    has: ({ accountId, identity }: FetchedMail): boolean =>
      find.get(accountId, identity) !== undefined,
    add({ accountId, identity, receivedAt, now }: FetchedMail): void {
      const oldest = oldestAlias(accountId, now) ?? now
      forget.run(accountId, oldest.getTime() - LOOK_BACK_MS)
      insert.run(accountId, identity, receivedAt.getTime())
    },
  }
}
