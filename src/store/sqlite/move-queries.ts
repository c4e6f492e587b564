import { bytesHash } from '../../core/row-sum.ts'
import type { MoveSource } from '../moving.ts'
import type { Db } from './files.ts'

/** How a table is read from its first row to its last. */
export interface MoveQuery {
  db: Db
  name: string
  columns: string
  /** With what is compared besides. */
  checked?: string
  from: string
  key: readonly string[]
  /** Counts rows, and bytes of mail. */
  total: string
}

/**
 * Tables that last as long as the connection, in a file of their own: the source is only read. Mail is found by its raw mail,
 * for which mail.db has no index, and raw mails are numbered from 0 on, because PostgreSQL has no room for ids near the clock.
 */
export function prepareMail(mail: Db): void {
  mail.function('sha256', { deterministic: true }, (bytes: Uint8Array | null) =>
    bytes === null ? null : bytesHash(bytes),
  )
  mail.exec(`
    create temp table letter (
      raw_id integer, mailbox integer, id integer, received_at integer,
      primary key (raw_id, mailbox, id)
    ) without rowid;
    insert into temp.letter select raw_id, mailbox, id, received_at from message order by raw_id;
    create temp table number (raw_id integer primary key, serial integer);
    insert into temp.number select raw_id, row_number() over (order by raw_id) - 1
      from (select id as raw_id from raw_mail union select raw_id from message);`)
}

export function shopQueries(shop: Db): MoveQuery[] {
  return tablesOf(shop).map((table) => wholeTable(shop, 'shop', table))
}

// Beside those that go as they are: what PostgreSQL counts when it is asked, and what it keeps in one table.
const OTHERWISE = ['pool_address', 'raw_bytes', 'parsed_mail', 'raw_mail', 'message']

export function mailQueries(mail: Db): MoveQuery[] {
  const plain = tablesOf(mail).filter((table) => !OTHERWISE.includes(table))
  return [
    ...plain.map((table) => wholeTable(mail, 'mail', table)),
    rawMail(mail),
    // Last, when the mailboxes and all mail are there.
    messages(mail),
  ]
}

function wholeTable(db: Db, kind: string, table: string): MoveQuery {
  const key = db
    .prepare<[string], string>('select name from pragma_table_info(?) where pk > 0 order by pk')
    .pluck()
    .all(table)
  const total = `select count(*) as rows, 0 as bytes from ${table}`
  return { db, name: `${kind}.${table}`, columns: '*', from: table, key, total }
}

/** Each with its bytes, its parse, and whose it is: `[mailbox, end of the session, received]` for each message. */
function rawMail(db: Db): MoveQuery {
  return {
    db,
    name: 'mail.raw_mail',
    columns: `raw_mail.*, serial, raw_bytes.zstd, parsed_mail.zstd as parsed,
      (select json_group_array(json_array(mailbox, expires_at, received_at)) from temp.letter
       left join session on session.id = mailbox where letter.raw_id = raw_mail.id) as letters`,
    from: `raw_mail join temp.number on number.raw_id = raw_mail.id
      join raw_bytes on raw_bytes.raw_id = raw_mail.id
      left join parsed_mail on parsed_mail.raw_id = raw_mail.id`,
    key: ['raw_mail.id'],
    total: `select count(*) as rows,
      sum(length(zstd)) + (select coalesce(sum(length(zstd)), 0) from parsed_mail) as bytes
      from raw_bytes`,
  }
}

function messages(db: Db): MoveQuery {
  const columns = 'message.*, serial, expires_at'
  return {
    db,
    name: 'mail.message',
    columns,
    checked: `${columns},
      (select sha256(zstd) from raw_bytes where raw_bytes.raw_id = message.raw_id) as mail,
      mailbox <= 2 or session.id is not null as found`,
    from: `message join temp.number on number.raw_id = message.raw_id
      left join session on session.id = mailbox`,
    key: ['message.mailbox', 'message.id'],
    total: 'select count(*) as rows, 0 as bytes from message',
  }
}

function tablesOf(db: Db): string[] {
  return db
    .prepare<[], string>(
      `select name from main.sqlite_schema where type = 'table' and name not like 'sqlite_%' order by name`,
    )
    .pluck()
    .all()
}

/** What changes with nearly every deed of a service, and is found without reading all mail. */
export function factsOf(shop: Db, mail: Db): { print: string } & Pick<MoveSource, 'nextIds'> {
  const value = (db: Db, sql: string) => db.prepare<[], unknown>(sql).raw().all()
  const facts = [
    value(shop, 'select total(used), total(used_today), total(day) from api_key'),
    value(shop, 'select total(revision), total(claimed_at) from purchase'),
    value(shop, 'select hex(secret) from installation'),
    value(mail, 'select max(id), total(version), total(codes), total(expires_at) from session'),
    value(mail, 'select * from shared_mailbox'),
    value(mail, 'select count(auth) from raw_mail'),
    value(mail, 'select total(last_uid) from gmail_folder'),
  ]
  const last = mail.prepare<[string], number>('select seq from sqlite_sequence where name = ?')
  const next = (table: string) => (last.pluck().get(table) ?? 0) + 1
  const [serial = 0] = mail.prepare<[], number>('select count(*) from temp.number').pluck().all()
  return {
    print: JSON.stringify(facts),
    nextIds: { domain: next('mail_domain'), account: next('gmail_account'), serial },
  }
}
