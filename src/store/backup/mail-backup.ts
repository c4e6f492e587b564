import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { distrustOwnDomains } from '../../domains/own/distrust-store.ts'
import { HMAC_LENGTH } from '../../mail/rules/ledger.ts'
import { PERMANENT } from '../../mail/rules/session.ts'
import { type Db, isCorruption, MAIL_FILE, openReadOnly } from '../sqlite/files.ts'
import { DamagedFile, openMigrated, schemaOf } from '../sqlite/migrate.ts'
import { operationRunner } from '../sqlite/operations.ts'

// A backup is a copy of shop.db with these tables of mail.db beside its own. Mail, sessions and counts are left out, except that the
// addresses at domains of key holders that do not expire are kept, without their mail. The state of the ledger is left out because
// sessions created after the backup are missing: a service that finds none treats the ledger as unknown.
const TABLES = [
  ...['mail_domain', 'gmail_account', 'address_ledger', 'block_entry', 'block_counter'],
  ...['own_domain', 'session', 'kept_address'],
]
// Sessions of earlier schemas have no own_domain; none of them has this expiry.
const KEPT_SESSIONS = `expires_at = ${PERMANENT.getTime()} and token_hash is not null`
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
  const schema = schemaOf(backup, 'mail', 'mail')
  const present = tableNames(backup, 'mail')
  backup.transaction(() => {
    for (const name of TABLES.filter((table) => present.includes(table))) {
      const rows = name === 'session' ? `where ${KEPT_SESSIONS}` : ''
      backup.exec(`create table main.${name} as select * from mail.${name} ${rows}`)
    }
    if (present.includes('session')) backup.exec('update main.session set count = 0, bytes = 0')
    backup.exec(`create table main.${SCHEMA} as select ${schema} as version`)
  })()
  backup.exec('detach mail')
}

/** Creates mail.db from a copy of a backup, in the same folder, and leaves only the shop in the copy. False if it has no such tables. */
export function takeMailTables(backup: Db, folder: string, now: Date): boolean {
  const names = tableNames(backup)
  if (!names.includes(SCHEMA)) return false
  const present = TABLES.filter((table) => names.includes(table))
  const upTo = Number(backup.prepare(`select version from ${SCHEMA}`).pluck().get())
  const mail = openMigrated(folder, 'mail', { upTo })
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
  operationRunner(migrated)(distrustOwnDomains(now))
  // One file, without a WAL.
  migrated.pragma('journal_mode = DELETE')
  migrated.close()
  for (const name of [...present, SCHEMA]) backup.exec(`drop table ${name}`)
  backup.exec('vacuum')
  return true
}

// Domains of key holders are added as claims to be verified: they may have been given up since, and have no sessions here.
// Ids and numbers that are used by something else are new. Those that are free come first, so that no new one takes theirs.
const ADD_MISSING = `
  insert or ignore into address_ledger select hmac from backup.address_ledger;
  insert or ignore into kept_address select hmac from backup.kept_address;
  insert into mail_domain (id, name, active, removed, sessions, reader, ttl_seconds)
    select iif(id in (select id from main.mail_domain), null, id), name, active, removed, sessions, reader, ttl_seconds
    from backup.mail_domain where owner is null and name not in (select name from main.mail_domain)
    order by id in (select id from main.mail_domain), id;
  insert or ignore into own_domain (id, key_id, name, token, state, reason, catch_all, created_at)
    select id, key_id, name, token, 'pending', iif(reason = 'suspended_by_operator', reason, null),
      catch_all, created_at
    from backup.own_domain;
  insert into gmail_account (id, email, active, health, reason)
    select iif(id in (select id from main.gmail_account), null, id), email, active, health, reason
    from backup.gmail_account where email not in (select email from main.gmail_account)
    order by id in (select id from main.gmail_account), id;
  insert into block_entry (entry, note, created_at, expires_at, number)
    select entry, note, created_at, expires_at,
      number + coalesce((select number from main.block_counter), 0)
    from backup.block_entry where entry not in (select entry from main.block_entry);
  insert into block_counter (id, number)
    select 1, max(number) from main.block_entry having count(*) > 0
    on conflict (id) do update set number = max(number, excluded.number);
  update ledger_state set converted = 0`

/**
 * Whether the mail.db of this folder stays; what it lacks of the backup, whose mail.db is in \`temp\`, is then added. A ledger
 * without HMACs may lack addresses: its state is deleted, so that the next start says so. HMACs of another secret it notices itself.
 */
export function keepMail(
  folder: string,
  { temp, check }: { temp: string | undefined; check: string },
): boolean {
  const path = join(folder, MAIL_FILE)
  if (!existsSync(path)) return false
  try {
    if (temp !== undefined && !hasMailInUse(path, check)) return false
    const mail = openMigrated(folder, 'mail')
    try {
      if (temp !== undefined) mail.prepare('attach ? as backup').run(join(temp, MAIL_FILE))
      mail
        .transaction(() => {
          if (!hasHmacs(mail)) mail.exec('delete from ledger_state')
          if (temp !== undefined) mail.exec(ADD_MISSING)
        })
        .immediate()
    } finally {
      mail.close()
    }
    return true
  } catch (error) {
    if (error instanceof DamagedFile || isCorruption(error)) return temp === undefined
    throw error
  }
}

/**
 * Whether this is the mail.db of a service with the restored secret, or of an earlier version, whose secret nobody can tell: its
 * ledger has no HMACs yet. Without a state, an earlier restore has kept it if it has sessions or mail, and made it if not.
 */
function hasMailInUse(path: string, check: string): boolean {
  const db = openReadOnly(path)
  try {
    if (!tableNames(db).includes('ledger_state')) return true
    const converted = db.prepare<[], number>('select converted from ledger_state').pluck().get()
    const used = db.prepare(
      `select 1 from session where not (${KEPT_SESSIONS}) union all select 1 from message`,
    )
    if (converted === undefined) return used.get() !== undefined
    return hasCheck(db, check) || (converted === 0 && !hasHmacs(db))
  } finally {
    db.close()
  }
}

function hasCheck(mail: Db, check: string): boolean {
  return mail.prepare('select 1 from address_ledger where hmac = ?').get(check) !== undefined
}

function hasHmacs(mail: Db): boolean {
  const hmac = mail.prepare(`select 1 from address_ledger where length(hmac) = ${HMAC_LENGTH}`)
  return hmac.get() !== undefined
}
