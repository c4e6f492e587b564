import type { Address } from '../../../core/address.ts'
import type { AccountHealth, GmailAccount } from '../../../core/gmail.ts'
import type { Db } from '../files.ts'

/** A live session of the account. */
export const LIVE_ALIAS = 'account_id = @account and token_hash is not null and expires_at > @now'

export function accountReads(db: Db) {
  const all = db.prepare<[number], Omit<GmailAccount, 'active'> & { active: number }>(
    `select gmail_account.*, (select count(*) from session
       where account_id = gmail_account.id and token_hash is not null and expires_at > ?) as aliases
     from gmail_account order by id`,
  )
  const oldest = db
    .prepare<[{ account: number; now: number }], number | null>(
      `select min(created_at) from session where ${LIVE_ALIAS}`,
    )
    .pluck()

  return {
    listAccounts: (now: Date): GmailAccount[] =>
      all.all(now.getTime()).map((row) => ({ ...row, active: row.active === 1 })),
    oldestAlias(accountId: number, now: Date): Date | undefined {
      const created = oldest.get({ account: accountId, now: now.getTime() }) ?? undefined
      return created === undefined ? undefined : new Date(created)
    },
  }
}

export function accountWrites(db: Db) {
  const add = db.prepare('insert or ignore into gmail_account (email) values (?)')
  const setActive = db.prepare('update gmail_account set active = ? where id = ?')
  const setHealth = db.prepare('update gmail_account set health = ?, reason = ? where id = ?')

  return {
    addAccount(email: Address): void {
      add.run(email)
    },
    setAccountActive: (accountId: number, active: boolean): boolean =>
      setActive.run(active ? 1 : 0, accountId).changes === 1,
    setAccountHealth(accountId: number, health: AccountHealth, reason: string): void {
      setHealth.run(health, reason, accountId)
    },
  }
}
