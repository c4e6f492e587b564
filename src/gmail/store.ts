import type { Address } from '../base/address.ts'
import { type AsyncMethods, type Operation, query } from '../base/operation.ts'
import type { FetchedRecipient, ReceiveLimits, Recipient } from '../mail/rules/recipient.ts'
import type { MailboxId } from '../mail/rules/session.ts'
import type { NewMail, StoredRecipient } from '../mail/store.ts'
import { LIVE, type RulesRow, rulesOf } from '../mail/store-rows.ts'
import {
  type AccountHealth,
  type DeferredMail,
  deferredRetryMs,
  type FolderState,
  fetchedOutcome,
  type GmailAccount,
  resolveFetched,
  seenCutoff,
} from './rules.ts'

/** Gmail accounts, and the mail that is fetched from them. */
export interface AccountStore
  extends AsyncMethods<ReturnType<typeof accountReads> & typeof accountWrites> {
  /**
   * Stores fetched mail for recipients that do not have it yet, defers it for those whose mailbox is full, and saves the folder
   * state, in one commit. This replaces an earlier deferral of the same mail.
   */
  addFetchedMail(mail: NewFetchedMail): Promise<AddFetchedMailResult>
}

/** Mail fetched from an account, for its aliases. */
export interface NewFetchedMail extends NewMail {
  recipients: FetchedRecipient[]
  accountId: number
  folder: string
  uid: number
  state: FolderState
  /** The mail itself may be older. */
  now: Date
}

/** known: all recipients have it already; full: deferred for all of them; refused: the rules of all of them refuse it. */
export type AddFetchedMailResult =
  | { outcome: 'stored'; recipients: StoredRecipient[]; deferred: boolean }
  | { outcome: 'known' | 'no_recipients' | 'full' | 'refused' }

export interface DeferredKey {
  accountId: number
  folder: string
  uidValidity: number
  uids: readonly number[]
}

export interface DeferredQuery extends Omit<DeferredKey, 'uids'> {
  now: Date
  limit: number
}

export function accountReads({ mailbox: { maxMessages, maxBytes } }: ReceiveLimits) {
  return {
    /** All Gmail accounts, including inactive ones, by id. */
    *listAccounts(now: Date): Operation<GmailAccount[]> {
      const rows = yield* query<GmailAccount>(
        `select id, email, active, health, reason, (select count(*) from mail.session
           where account_id = gmail_account.id and ${LIVE}) as aliases
         from mail.gmail_account order by id`,
        [now.getTime()],
      )
      return rows.map((row) => ({ ...row, active: Boolean(row.active) }))
    },
    /** When the oldest live session of the account was created. */
    oldestAlias,
    /** How far a folder has been fetched; undefined before the first fetch. */
    *readFolder(accountId: number, name: string): Operation<FolderState | undefined> {
      const [row] = yield* query<{ uid_validity: number; last_uid: number }>(
        'select uid_validity, last_uid from mail.gmail_folder where account_id = $1 and folder = $2',
        [accountId, name],
      )
      return row && { uidValidity: row.uid_validity, lastUid: row.last_uid }
    },
    /** Those of the addresses that are aliases of live sessions of this account, exactly as issued. */
    *findAliases(
      accountId: number,
      addresses: readonly Address[],
      now: Date,
    ): Operation<Recipient[]> {
      const rows = yield* findAliasRows(accountId, { addresses, now })
      const found = new Map(rows.map(({ address, id: mailbox }) => [address, { address, mailbox }]))
      return addresses.flatMap((address) => found.get(address) ?? [])
    },

    /** Deferred mail that can be delivered, because an alias has room, or dropped, because all of its aliases have ended. By ascending UID. */
    *listDeferred(wanted: DeferredQuery): Operation<DeferredMail[]> {
      const { accountId, folder, uidValidity, now, limit } = wanted
      const rows = yield* query<DeferredRow>(
        `select uid, min(deferred.address) as address, count(session.id) as aliases,
           string_agg(cast(mailbox as text), ',') as mailboxes
         from mail.gmail_deferred as deferred
         left join (select * from mail.session where account_id = $2 and ${LIVE}) as session
           on session.id = deferred.mailbox
         where deferred.account_id = $2 and folder = $3 and uid_validity = $4 and next_at <= $1
         group by uid
         having count(session.id) = 0
           or max(case when session.count < $5 and session.bytes + size <= $6
             or session.received >= session.max_messages then 1 else 0 end) = 1
         order by uid limit $7`,
        [now.getTime(), accountId, folder, uidValidity, maxMessages, maxBytes, limit],
      )
      return rows.map(({ uid, address, mailboxes, aliases }) => ({
        uid,
        address,
        mailboxes: mailboxes.split(',').map((id) => Number(id) as MailboxId),
        wanted: aliases > 0,
      }))
    },
  }
}

function* oldestAlias(accountId: number, now: Date): Operation<Date | undefined> {
  const [row] = yield* query<{ created: number | null }>(
    `select min(created_at) as created from mail.session where account_id = $2 and ${LIVE}`,
    [now.getTime(), accountId],
  )
  return typeof row?.created === 'number' ? new Date(row.created) : undefined
}

export const accountWrites = {
  /** Adds an account; an existing one is unchanged and keeps its id. */
  *addAccount(email: Address): Operation<void> {
    // Checked first: a conflicting insert would use up an id at every start of every node.
    yield* query(
      `insert into mail.gmail_account (email)
       select $1 where not exists (select 1 from mail.gmail_account where email = $1)
       on conflict do nothing`,
      [email],
    )
  },
  /** False if there is no such account. */
  *setAccountActive(accountId: number, active: boolean): Operation<boolean> {
    const changed = 'update mail.gmail_account set active = $2 where id = $1 returning id'
    return (yield* query(changed, [accountId, active])).length === 1
  },
  *setAccountHealth(accountId: number, health: AccountHealth, reason: string): Operation<void> {
    const update = 'update mail.gmail_account set health = $2, reason = $3 where id = $1'
    yield* query(update, [accountId, health, reason])
  },
  *saveFolder(accountId: number, folder: string, state: FolderState): Operation<void> {
    yield* query(
      `insert into mail.gmail_folder (account_id, folder, uid_validity, last_uid)
       values ($1, $2, $3, $4)
       on conflict (account_id, folder)
       do update set uid_validity = excluded.uid_validity, last_uid = excluded.last_uid`,
      [accountId, folder, state.uidValidity, state.lastUid],
    )
  },
  /** Deletes deferred mail by UID, and all of the folder with another UIDVALIDITY. */
  *deleteDeferred({ accountId, folder, uidValidity, uids }: DeferredKey): Operation<void> {
    yield* query(
      `delete from mail.gmail_deferred
       where account_id = $1 and folder = $2 and (uid_validity <> $3 or uid = any($4::bigint[]))`,
      [accountId, folder, uidValidity, uids],
    )
  },
}

interface AliasRow extends RulesRow {
  address: Address
  id: MailboxId
  key_id: string | null
  created_at: number
  count: number
  bytes: number
}

function aliasOf(row: AliasRow) {
  const { count, bytes, received, created_at: createdAt, key_id: keyId } = row
  return {
    count,
    bytes,
    received,
    rules: rulesOf(row),
    createdAt: new Date(createdAt),
    keyId: keyId ?? undefined,
  }
}

/** By the whole address, exactly as it was issued. */
function findAliasRows(
  accountId: number,
  { addresses, now, lock = '' }: { addresses: readonly Address[]; now: Date; lock?: string },
): Operation<AliasRow[]> {
  return query<AliasRow>(
    `select address, id, key_id, created_at, count, bytes, only_from, max_messages, received
     from mail.session
     where address = any($3::text[]) and account_id = $2 and ${LIVE}${lock}`,
    [now.getTime(), accountId, addresses],
  )
}

interface DeferredRow {
  uid: number
  address: Address
  mailboxes: string
  aliases: number
}

// In the order in which the engine locks mailboxes.
const LOCKED = ' order by id for no key update'

/** Decides who gets a fetched mail; it is stored for them in the same transaction. */
export function* resolveFetchedMail(
  mail: NewFetchedMail,
  limits: ReceiveLimits,
): Operation<AddFetchedMailResult> {
  const { accountId, recipients, now } = mail
  // First, because it locks: of two nodes that fetch the same mail, the second waits here and then finds it known.
  yield* accountWrites.saveFolder(accountId, mail.folder, mail.state)
  const known = yield* findSeen(mail)
  const fresh = recipients.filter(({ identity }) => !known.has(identity))
  const addresses = fresh.map(({ address }) => address)
  const aliases = yield* findAliasRows(accountId, { addresses, now, lock: LOCKED })
  const sized = { ...mail, recipients: fresh, size: mail.raw.length }
  const { taken, ...others } = resolveFetched(sized, limits, ({ address, mailbox }) => {
    const row = aliases.find((alias) => alias.address === address && alias.id === mailbox)
    return row && aliasOf(row)
  })
  const { full } = others
  yield* defer(mail, full)
  if (fresh.length === 0 && recipients.length > 0) return { outcome: 'known' }
  if (taken.length === 0) return { outcome: fetchedOutcome(others) }
  yield* recordSeen(mail, taken)
  return { outcome: 'stored', recipients: taken, deferred: full.length > 0 }
}

/** Defers the mail for recipients whose mailbox is full, replacing the entries of the previous attempt. */
function* defer(mail: NewFetchedMail, full: readonly FetchedRecipient[]): Operation<void> {
  const key = [mail.accountId, mail.folder, mail.state.uidValidity, mail.uid]
  const previous = yield* query<{ tries: number }>(
    `delete from mail.gmail_deferred
     where account_id = $1 and folder = $2 and uid_validity = $3 and uid = $4 returning tries`,
    key,
  )
  if (full.length === 0) return
  const tries = Math.max(-1, ...previous.map((row) => row.tries)) + 1
  const nextAt = mail.now.getTime() + deferredRetryMs(tries)
  yield* query(
    `insert into mail.gmail_deferred select $1, $2, $3, $4, id, address, $6, $7, $8
     from mail.session where id = any($5::bigint[])`,
    [...key, full.map(({ mailbox }) => mailbox), mail.raw.length, tries, nextAt],
  )
}

/** The identities under which the mail was stored before. */
function* findSeen(mail: NewFetchedMail): Operation<Set<string>> {
  const identities = mail.recipients.map(({ identity }) => identity)
  // Equal mails with different UIDs are two: some programs write no Message-ID and send twice within a second.
  const rows = yield* query<{ identity: string }>(
    `select identity from mail.gmail_seen where account_id = $1 and identity = any($2::text[])
       and not (folder = $3 and uid_validity = $4 and uid <> $5)`,
    [mail.accountId, identities, mail.folder, mail.state.uidValidity, mail.uid],
  )
  return new Set(rows.map(({ identity }) => identity))
}

/** Remembered as long as a search could return it again. */
function* recordSeen(
  { accountId, folder, state, uid, receivedAt, now }: NewFetchedMail,
  taken: readonly FetchedRecipient[],
): Operation<void> {
  const cutoff = seenCutoff(yield* oldestAlias(accountId, now), now)
  yield* query('delete from mail.gmail_seen where account_id = $1 and received_at < $2', [
    accountId,
    cutoff,
  ])
  const identities = taken.map(({ identity }) => identity)
  yield* query(
    `insert into mail.gmail_seen (account_id, folder, uid_validity, uid, received_at, identity)
     select $1, $2, $3, $4, $5, identity from unnest($6::text[]) as identity`,
    [accountId, folder, state.uidValidity, uid, receivedAt.getTime(), identities],
  )
}
