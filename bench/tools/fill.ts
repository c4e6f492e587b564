import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { Client } from 'pg'
import { joinAddress, parseHost } from '../../src/base/address.ts'
import { secretHash } from '../../src/base/id.ts'
import type { Recipient } from '../../src/mail/rules/recipient.ts'
import { POOL } from '../../src/mail/rules/session.ts'
import { readHead } from '../../src/mime/header-summary.ts'
import { scanned } from '../../src/mime/testing/scan.ts'
import { compress } from '../../src/store/compression.ts'
import { dayOf } from '../../src/store/postgres/mail/partition-key.ts'
import { BLOCK } from '../../src/store/postgres/mail/raw-mail.ts'
import { openPostgresMail } from '../../src/store/postgres/mail-store.ts'
import { mailWrites } from '../../src/store/sqlite/mail-store.ts'
import { openMigrated } from '../../src/store/sqlite/migrate.ts'
import type { Store } from '../../src/store/store.ts'
import type { Postgres } from '../../test/support/postgres.ts'
import { mailText } from './mail-text.ts'
import { figure, progress } from './report.ts'

export const MESSAGES_EACH = 10
export const DAY_MS = 86_400_000
export const RETENTION = { cooldownMs: DAY_MS, poolMs: DAY_MS, operatorMs: 30 * DAY_MS }
export const LIMITS = {
  mailbox: { maxMessages: 1e6, maxBytes: 1e12 },
  poolMaxBytes: 1e12,
  maxMailBytes: 25e6,
}

const host = parseHost('box.test')
if (!host) throw new Error('unreachable: box.test is a host')
const HOST = host
export const DOMAIN = { name: HOST, sessions: true, reader: false, ttlSeconds: undefined }

/** As long as one may be. */
const PREVIEW = 'Thank you for your order. '.repeat(5).slice(0, 120)

const ENVELOPE = {
  clientIp: '192.0.2.1',
  helo: 'sender.test',
  mailFrom: 'ann@sender.test',
  tls: undefined,
  protocol: 'ESMTP',
}

export function newSession(number: number, createdAt: Date, expiresAt: Date) {
  const address = joinAddress(`bench${number}`, HOST)
  const tokenHash = secretHash(tokenOf(number))
  const times = { createdAt, expiresAt, cooldownMs: 0 }
  return { address, tokenHash, keyId: undefined, ...times, isRandom: true }
}

export function incomingMail(raw: Buffer, receivedAt: Date) {
  return { envelope: ENVELOPE, head: readHead(scanned(raw), ENVELOPE.mailFrom), receivedAt, raw }
}

/** Derived from the number of the session, so that load generators need no list of tokens. */
export function tokenOf(number: number): string {
  return createHash('sha256').update(`bench ${number}`).digest('base64url')
}

const SESSIONS_PER_BATCH = 5_000
export const LEDGER_KEY = new Uint8Array(32)

/**
 * Fills a data directory with sessions of ten messages each, through the store's own writes but without fsync. In each
 * transaction 5,000 sessions are created and mail arrives for all of them in turn; the last one is of this moment, the first
 * one of a day ago. Nothing expires within 30 days.
 */
export function fill(
  folder: string,
  messages: number,
  { mailBytes = 2_000, preview = PREVIEW } = {},
): { sessions: number } {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const sessions = Math.ceil(messages / MESSAGES_EACH)
  const db = openMigrated(folder, 'mail')
  db.pragma('synchronous = OFF')
  db.pragma('cache_size = -1000000')
  const writes = mailWrites(db, { limits: LIMITS, ledgerKey: LEDGER_KEY }, () => {})
  // As if listed before: the first listing of a mail scans it.
  const markScanned = db.prepare(
    "update message set code = '', preview = ?, attachments = 0 where mailbox >= ?",
  )
  const raw = Buffer.from(mailText(mailBytes))
  const now = Date.now()
  const expiresAt = new Date(now + 30 * DAY_MS)

  const addBatch = db.transaction((from: number) => {
    const to = Math.min(from + SESSIONS_PER_BATCH, sessions)
    const at = new Date(now - DAY_MS * (1 - to / sessions))
    const recipients: Recipient[] = []
    for (let number = from; number < to; number += 1) {
      const session = writes.createSession(newSession(number, at, expiresAt))
      if (session) recipients.push({ address: session.address, mailbox: session.id })
    }
    const mail = incomingMail(raw, at)
    for (let count = 0; count < MESSAGES_EACH; count += 1) {
      for (const recipient of recipients) writes.addMail({ ...mail, recipients: [recipient] })
    }
    markScanned.run(preview, recipients[0]?.mailbox)
  })

  writes.addDomain(DOMAIN)
  for (let from = 0; from < sessions; from += SESSIONS_PER_BATCH) {
    addBatch(from)
    if (from % 100_000 === 0 && from > 0) progress(`  ${figure(from * MESSAGES_EACH)} messages`)
  }
  // Those of another key would be lost when a service starts, and its pool closed.
  db.exec('delete from address_ledger')
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.close()
  return { sessions }
}

/** Fills the pool of a data directory, likewise. */
export function fillPool(folder: string, messages: number): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const db = openMigrated(folder, 'mail')
  db.pragma('synchronous = OFF')
  const writes = mailWrites(db, { limits: LIMITS, ledgerKey: LEDGER_KEY }, () => {})
  db.exec(`insert into ledger_state (id, reason, pruned) values (1, '', 0)`)
  writes.addDomain({ ...DOMAIN, reader: true })
  const mail = incomingMail(Buffer.from(mailText(2_000)), new Date())
  for (let from = 0; from < messages; from += 50_000) {
    db.transaction(() => {
      for (let number = from; number < Math.min(from + 50_000, messages); number += 1) {
        // A thousand messages per address.
        const address = joinAddress(`pool${number % Math.ceil(messages / 1_000)}`, HOST)
        writes.addMail({ ...mail, recipients: [{ address, mailbox: POOL }] })
      }
    })()
  }
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.close()
}

interface FillOptions {
  messages: number
  receivedAt: Date
  expiresAt: Date
}

/**
 * Creates a database with the same sessions and messages as fill(), in a few SQL statements: a million messages through the
 * store's own writes would take minutes.
 */
export async function fillPostgres(
  postgres: Postgres,
  { messages, receivedAt, expiresAt }: FillOptions,
): Promise<{ database: string; sessions: number }> {
  const database = await postgres.database()
  const url = postgres.urlOf(database)
  const store = await openBenchStore(url)
  await store.addDomain(DOMAIN)
  // The sweep creates the partitions.
  while (await store.sweep({ ...RETENTION, now: receivedAt }));
  await store.close()

  const sessions = Math.ceil(messages / MESSAGES_EACH)
  const raw = Buffer.from(mailText(2_000))
  const now = receivedAt.getTime()
  const { senderName, senderEmail, subject } = readHead(scanned(raw), ENVELOPE.mailFrom)
  const bucket = dayOf(expiresAt)
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query('set synchronous_commit = off')
  await client.query(HASH_FUNCTION)
  await client.query(SESSIONS, [sessions, now, expiresAt.getTime(), bucket, raw.length])
  await client.query(RAW_MAIL, [messages, bucket, now, await compress(raw)])
  await client.query(MESSAGES, [
    ...[messages, bucket, now, sessions, raw.length],
    ...[senderName, senderEmail, subject, PREVIEW],
  ])
  await client.query(`select setval('mail.raw_block', ${Math.ceil(messages / BLOCK) + 1})`)
  await client.query('vacuum analyze')
  await client.query('checkpoint')
  await client.end()
  return { database, sessions }
}

export function openBenchStore(url: string): Promise<Store> {
  return openPostgresMail({
    url,
    limits: LIMITS,
    ledgerKey: LEDGER_KEY,
    ...RETENTION,
    connections: 2,
  })
}

// secretHash of base/id.ts.
const HASH_FUNCTION = `create function pg_temp.hash(secret text) returns text language sql as
  $$ select rtrim(translate(encode(sha256(secret::bytea), 'base64'), '+/', '-_'), '=') $$`

// Ids of ten minutes ago (see base/id.ts), below those of later mail.
const MAILBOX = '(($2::bigint - 600000) * 1024 + number * 32)'

const SESSIONS = `
  with inserted as (
    insert into mail.session (id, address, token_hash, created_at, expires_at, bucket, version,
      last_id, count, bytes)
    select ${MAILBOX}, 'bench' || number || '@box.test',
      pg_temp.hash(pg_temp.hash('bench ' || number)), $2, $3, $4, ${MESSAGES_EACH},
      ($2 - 600000) * 1024 + (number + $1::integer * ${MESSAGES_EACH - 1}) * 32, ${MESSAGES_EACH},
      ${MESSAGES_EACH} * $5::integer
    from generate_series(0, $1::integer - 1) as number
    returning address
  )
  insert into mail.address_ledger (hmac) select pg_temp.hash(address) from inserted`

const RAW_MAIL = `
  insert into mail.raw_mail (bucket, serial, refs, client_ip, helo, mail_from, protocol,
    received_at, zstd)
  select $2::integer, number, 1, '127.0.0.1', 'sender.test', 'ann@sender.test', 'ESMTP', $3::bigint,
    $4::bytea
  from generate_series(0, $1::integer - 1) as number`

// Interleaved across mailboxes and already scanned, as in fill().
const MESSAGES = `
  insert into mail.message (mailbox, bucket, id, serial, recipient, sender_name, sender_email,
    subject, received_at, size, code, preview, attachments)
  select ($3::bigint - 600000) * 1024 + box * 32, $2::integer, ($3 - 600000) * 1024 + number * 32,
    number, 'bench' || box || '@box.test', $6, $7, $8, $3, $5::integer, '', $9, 0
  from generate_series(0, $1::integer - 1) as number, lateral (select number % $4::integer as box) as mailbox_number`
