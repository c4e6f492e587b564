import type { Address } from '../../../core/address.ts'
import type { AccountHealth, GmailAccount } from '../../../core/gmail.ts'
import type { Db } from '../connection/connections.ts'

/** A session of account $1 that is live at $2. */
export const LIVE_ALIAS =
  'account_id = $1 and token_hash is not null and not cleared and expires_at > $2'

export function accountReads(db: Db) {
  return {
    listAccounts: (now: Date): Promise<GmailAccount[]> =>
      db.query<GmailAccount>(
        `select id, email, active, health, reason, (select count(*) from mail.session
           where account_id = gmail_account.id and token_hash is not null and not cleared
             and expires_at > $1) as aliases
         from mail.gmail_account order by id`,
        [now.getTime()],
      ),
    async oldestAlias(accountId: number, now: Date): Promise<Date | undefined> {
      const [row] = await db.query<{ created: number | null }>(
        `select min(created_at) as created from mail.session where ${LIVE_ALIAS}`,
        [accountId, now.getTime()],
      )
      const created = row?.created ?? undefined
      return created === undefined ? undefined : new Date(created)
    },
  }
}

export function accountWrites(db: Db) {
  return {
    async addAccount(email: Address): Promise<void> {
      // Checked first: a conflicting insert would use up an id at every start of every node.
      await db.query(
        `insert into mail.gmail_account (email)
         select $1 where not exists (select 1 from mail.gmail_account where email = $1)
         on conflict do nothing`,
        [email],
      )
    },
    async setAccountActive(accountId: number, active: boolean): Promise<boolean> {
      const changed = await db.query(
        'update mail.gmail_account set active = $2 where id = $1 returning id',
        [accountId, active],
      )
      return changed.length === 1
    },
    async setAccountHealth(
      accountId: number,
      health: AccountHealth,
      reason: string,
    ): Promise<void> {
      await db.query('update mail.gmail_account set health = $2, reason = $3 where id = $1', [
        accountId,
        health,
        reason,
      ])
    },
  }
}
