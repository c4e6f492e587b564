import type { Address } from '../base/address.ts'
import { type Operation, query } from '../base/operation.ts'
import type { FetchedRecipient, ReceiveLimits, Recipient } from '../mail/rules/recipient.ts'
import type { MailboxId } from '../mail/rules/session.ts'
import { type RulesRow, rulesOf } from '../mail/store-rows.ts'
import { accountReads } from './account-store.ts'
import { type DeferredMail, deferredRetryMs, seenCutoff } from './rules.ts'
import type { DeferredKey, DeferredQuery, NewFetchedMail } from './store.ts'

interface AliasRow extends RulesRow {
  address: Address
  id: MailboxId
  key_id: string | null
  created_at: number
  count: number
  bytes: number
}

export function aliasOf(row: AliasRow) {
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

/** By the whole address, exactly as it was issued. `live` is the engine's condition for a session that is live at $1. */
export function findAliasRows(
  live: string,
  accountId: number,
  { addresses, now }: { addresses: readonly Address[]; now: Date },
): Operation<AliasRow[]> {
  return query<AliasRow>(
    `select address, id, key_id, created_at, count, bytes, only_from, max_messages, received
     from mail.session
     where address = any($3::text[]) and account_id = $2 and ${live}`,
    [now.getTime(), accountId, addresses],
  )
}

interface DeferredRow {
  uid: number
  address: Address
  mailboxes: string
  aliases: number
}

export function fetchReads(live: string, { mailbox: { maxMessages, maxBytes } }: ReceiveLimits) {
  return {
    /** Those of the addresses that are aliases of live sessions of this account, exactly as issued. */
    *findAliases(
      accountId: number,
      addresses: readonly Address[],
      now: Date,
    ): Operation<Recipient[]> {
      const rows = yield* findAliasRows(live, accountId, { addresses, now })
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
         left join (select * from mail.session where account_id = $2 and ${live}) as session
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

export const deferredWrites = {
  /** Deletes deferred mail by UID, and all of the folder with another UIDVALIDITY. */
  *deleteDeferred({ accountId, folder, uidValidity, uids }: DeferredKey): Operation<void> {
    yield* query(
      `delete from mail.gmail_deferred
       where account_id = $1 and folder = $2 and (uid_validity <> $3 or uid = any($4::bigint[]))`,
      [accountId, folder, uidValidity, uids],
    )
  },
}

/** Defers the mail for recipients whose mailbox is full, replacing the entries of the previous attempt. */
export function* defer(mail: NewFetchedMail, full: readonly FetchedRecipient[]): Operation<void> {
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
export function* findSeen(mail: NewFetchedMail): Operation<Set<string>> {
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
export function* recordSeen(
  live: string,
  { accountId, folder, state, uid, receivedAt, now }: NewFetchedMail,
  taken: readonly FetchedRecipient[],
): Operation<void> {
  const cutoff = seenCutoff(yield* accountReads(live).oldestAlias(accountId, now), now)
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
