import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Db, isCorruption, MAIL_FILE, openReadOnly } from './files.ts'
import { openMigrated } from './migrate.ts'

// A backup is a copy of shop.db with these tables of mail.db beside its own. Mail, sessions and counts are left out. So is the state
// of the ledger, because sessions created after the backup are missing: a service that finds none treats the ledger as unknown.
const TABLES = ['mail_domain', 'gmail_account', 'address_ledger', 'block_entry', 'block_counter']
/** A table with the schema that they have. */
const SCHEMA = 'mail_backup'

export function tableNames(db: Db, schema = 'main'): string[] {
  const names = db.prepare<[], string>(
    `select name from ${schema}.sqlite_schema where type = 'table'`,
  )
  return names.pluck().all()
}

/** Copies the tables as of one moment, also while the service writes. */
export function addMailTables(backup: Db, folder: string): void {
  const path = join(folder, MAIL_FILE)
  if (!existsSync(path)) return
  backup.prepare('attach ? as mail').run(path)
  const version = Number(backup.pragma('mail.user_version', { simple: true }))
  const present = tableNames(backup, 'mail')
  backup.transaction(() => {
    for (const name of TABLES.filter((table) => present.includes(table)))
      backup.exec(`create table main.${name} as select * from mail.${name}`)
    backup.exec(`create table main.${SCHEMA} as select ${version} as version`)
  })()
  backup.exec('detach mail')
}

/** Creates mail.db from a copy of a backup, in the same folder, and leaves only the shop in the copy. False if it has no such tables. */
export function takeMailTables(backup: Db, folder: string): boolean {
  const names = tableNames(backup)
  if (!names.includes(SCHEMA)) return false
  const present = TABLES.filter((table) => names.includes(table))
  const version = Number(backup.prepare(`select version from ${SCHEMA}`).pluck().get())
  const mail = openMigrated(folder, 'mail', { upTo: version })
  try {
    mail.prepare('attach ? as backup').run(backup.name)
    mail.transaction(() => {
      for (const name of present) mail.exec(`insert into main.${name} select * from backup.${name}`)
    })()
    mail.exec('detach backup')
  } finally {
    mail.close()
  }
  const migrated = openMigrated(folder, 'mail')
  migrated.exec('delete from ledger_state')
  // One file, without a WAL.
  migrated.pragma('journal_mode = DELETE')
  migrated.close()
  for (const name of [...present, SCHEMA]) backup.exec(`drop table ${name}`)
  backup.exec('vacuum')
  return true
}

/** Whether this folder has the mail.db of the installation with this check value of its ledger: it is newer than the backup. */
export function hasMailOf(folder: string, check: string): boolean {
  const path = join(folder, MAIL_FILE)
  if (!existsSync(path)) return false
  const db = openReadOnly(path)
  try {
    if (!tableNames(db).includes('ledger_state')) return false
    return db.prepare('select 1 from address_ledger where hmac = ?').get(check) !== undefined
  } catch (error) {
    if (isCorruption(error)) return false
    throw error
  } finally {
    db.close()
  }
}
