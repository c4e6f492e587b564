import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { Client } from 'pg'
import { joinAddress, parseHost } from '../../src/core/address.ts'
import { secretHash } from '../../src/core/id.ts'
import type { Recipient } from '../../src/core/recipient.ts'
import { readHead } from '../../src/mime/head.ts'
import { dayOf } from '../../src/store/postgres/mail/partition-key.ts'
import { BLOCK, compress } from '../../src/store/postgres/mail/raw-mail.ts'
import { openPostgresMail } from '../../src/store/postgres/mail-store.ts'
import { mailWrites } from '../../src/store/sqlite/mail-store.ts'
import { openMigrated } from '../../src/store/sqlite/migrate.ts'
import type { MailStore } from '../../src/store/store.ts'
import type { Postgres } from '../../test/support/postgres.ts'
import { mailText } from './mail-text.ts'

export const MESSAGES_EACH = 10

/** The token of the session with that number: made up, so that nobody has to hand over a list of them. */
export function tokenOf(number: number): string {
  return createHash('sha256').update(`bench ${number}`).digest('base64url')
}

/**
 * Fills a data folder with sessions of ten messages each, through the store's own writes but without waiting for the
 * disk, and not mailbox by mailbox: one mail for each in turn, as it would come.
 */
export function fill(folder: string, messages: number): { sessions: number } {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const sessions = Math.ceil(messages / MESSAGES_EACH)
  const db = openMigrated(folder, 'mail')
  db.pragma('synchronous = OFF')
  const limits = {
    mailbox: { maxMessages: 1_000, maxBytes: 1e9 },
    poolMaxBytes: 1e9,
    maxMailBytes: 1e7,
  }
  const writes = mailWrites(db, { limits }, () => {})
  const host = parseHost('box.test')
  if (!host) throw new Error('box.test is a host')
  const addressOf = (number: number) => joinAddress(`bench${number}`, host)

  const now = new Date()
  const domain = { name: host, sessions: true, reader: false, ttlSeconds: undefined }
  const expiresAt = new Date(now.getTime() + 30 * 86_400_000)
  writes.addDomain(domain)
  const recipients: Recipient[] = []
  inSteps(sessions, (number) => {
    const session = { address: addressOf(number), tokenHash: secretHash(tokenOf(number)) }
    const rest = { keyId: undefined, createdAt: now, expiresAt, cooldownMs: 0 }
    const made = writes.createSession({ ...session, ...rest })
    if (made) recipients.push({ address: made.address, mailbox: made.id })
  })
  const raw = Buffer.from(mailText(2_000).replaceAll('\n', '\r\n'))
  const mail = {
    envelope: {
      clientIp: '127.0.0.1',
      helo: 'sender.test',
      mailFrom: 'ann@sender.test',
      tls: undefined,
      protocol: 'ESMTP',
    },
    head: readHead(raw, 'ann@sender.test'),
    receivedAt: now,
    raw,
  }
  inSteps(messages, (number) => {
    const recipient = recipients[number % sessions]
    if (recipient) writes.addMail({ ...mail, recipients: [recipient] })
  })
  // As if each had been listed before: the first list of a mail has it looked at for a code.
  db.exec("update message set code = ''")
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.close()
  return { sessions }

  function inSteps(count: number, write: (number: number) => void): void {
    for (let from = 0; from < count; from += 50_000) {
      db.transaction(() => {
        for (let number = from; number < Math.min(from + 50_000, count); number += 1) write(number)
      })()
    }
  }
}

export const DAY_MS = 86_400_000
export const KEPT = { cooldownMs: DAY_MS, poolMs: DAY_MS, operatorMs: 30 * DAY_MS }

interface Filling {
  messages: number
  /** When all of it came. */
  now: Date
  expiresAt: Date
}

/**
 * Makes a database and fills it with sessions of ten messages each, as fill.ts does a data folder and with the same tokens,
 * but by a few statements: through the store's own writes a million would take minutes.
 */
export async function fillPostgres(
  postgres: Postgres,
  { messages, now, expiresAt }: Filling,
): Promise<{ database: string; sessions: number }> {
  const database = await postgres.database()
  const url = postgres.urlOf(database)
  const store = await openBenchStore(url)
  const host = parseHost('box.test')
  if (!host) throw new Error('box.test is a host')
  await store.addDomain({ name: host, sessions: true, reader: false, ttlSeconds: undefined })
  // It makes the partitions.
  while (await store.sweep({ ...KEPT, now }));
  await store.close()

  const sessions = Math.ceil(messages / MESSAGES_EACH)
  const raw = Buffer.from(mailText(2_000).replaceAll('\n', '\r\n'))
  const { senderName, senderEmail, subject } = readHead(raw, 'ann@sender.test')
  const bucket = dayOf(expiresAt)
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query('set synchronous_commit = off')
  await client.query(HASHED)
  await client.query(SESSIONS, [sessions, now.getTime(), expiresAt.getTime(), bucket, raw.length])
  await client.query(RAW_MAIL, [messages, bucket, now.getTime(), await compress(raw)])
  await client.query(MESSAGES, [
    ...[messages, bucket, now.getTime(), sessions, raw.length],
    ...[senderName, senderEmail, subject],
  ])
  await client.query(`select setval('mail.raw_block', ${Math.ceil(messages / BLOCK) + 1})`)
  await client.query('vacuum analyze')
  await client.query('checkpoint')
  await client.end()
  return { database, sessions }
}

/** For work on a database beside the nodes. */
export function openBenchStore(url: string): Promise<MailStore> {
  const limits = {
    mailbox: { maxMessages: 1_000, maxBytes: 1e9 },
    poolMaxBytes: 1e9,
    maxMailBytes: 1e7,
  }
  return openPostgresMail({ url, limits, ...KEPT, connections: 2 })
}

// See secretHash in core/id.ts.
const HASHED = `create function pg_temp.hashed(secret text) returns text language sql as
  $$ select rtrim(translate(encode(sha256(secret::bytea), 'base64'), '+/', '-_'), '=') $$`

// Ids of the last minutes, see core/id.ts, so that what comes later is above them.
const MAILBOX = '(($2::bigint - 600000) * 1024 + number * 32)'

const SESSIONS = `
  with made as (
    insert into mail.session (id, address, token_hash, created_at, expires_at, bucket, version,
      last_id, count, bytes)
    select ${MAILBOX}, 'bench' || number || '@box.test',
      pg_temp.hashed(pg_temp.hashed('bench ' || number)), $2, $3, $4, ${MESSAGES_EACH},
      ($2 - 600000) * 1024 + (number + $1::integer * ${MESSAGES_EACH - 1}) * 32, ${MESSAGES_EACH},
      ${MESSAGES_EACH} * $5::integer
    from generate_series(0, $1::integer - 1) as number
    returning address
  )
  insert into mail.address_ledger (hash) select pg_temp.hashed(address) from made`

const RAW_MAIL = `
  insert into mail.raw_mail (bucket, serial, refs, client_ip, helo, mail_from, protocol,
    received_at, zstd)
  select $2::integer, number, 1, '127.0.0.1', 'sender.test', 'ann@sender.test', 'ESMTP', $3::bigint,
    $4::bytea
  from generate_series(0, $1::integer - 1) as number`

// Not mailbox by mailbox: one for each in turn, as it would come. Each as if it had been listed before, see fill.ts.
const MESSAGES = `
  insert into mail.message (mailbox, bucket, id, serial, recipient, sender_name, sender_email,
    subject, received_at, size, code)
  select ($3::bigint - 600000) * 1024 + box * 32, $2::integer, ($3 - 600000) * 1024 + number * 32,
    number, 'bench' || box || '@box.test', $6, $7, $8, $3, $5::integer, ''
  from generate_series(0, $1::integer - 1) as number, lateral (select number % $4::integer as box) as it`
