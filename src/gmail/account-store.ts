import type { Address } from '../base/address.ts'
import { type Operation, query } from '../base/operation.ts'
import type { AccountHealth, FolderState, GmailAccount } from './rules.ts'

/** `live` is the engine's condition for a session that is live at $1. */
export function accountReads(live: string) {
  return {
    /** All Gmail accounts, including inactive ones, by id. */
    *listAccounts(now: Date): Operation<GmailAccount[]> {
      const rows = yield* query<GmailAccount>(
        `select id, email, active, health, reason, (select count(*) from mail.session
           where account_id = gmail_account.id and ${live}) as aliases
         from mail.gmail_account order by id`,
        [now.getTime()],
      )
      return rows.map((row) => ({ ...row, active: Boolean(row.active) }))
    },
    /** When the oldest live session of the account was created. */
    *oldestAlias(accountId: number, now: Date): Operation<Date | undefined> {
      const [row] = yield* query<{ created: number | null }>(
        `select min(created_at) as created from mail.session where account_id = $2 and ${live}`,
        [now.getTime(), accountId],
      )
      return typeof row?.created === 'number' ? new Date(row.created) : undefined
    },
    /** How far a folder has been fetched; undefined before the first fetch. */
    *readFolder(accountId: number, name: string): Operation<FolderState | undefined> {
      const [row] = yield* query<{ uid_validity: number; last_uid: number }>(
        'select uid_validity, last_uid from mail.gmail_folder where account_id = $1 and folder = $2',
        [accountId, name],
      )
      return row && { uidValidity: row.uid_validity, lastUid: row.last_uid }
    },
  }
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
}
