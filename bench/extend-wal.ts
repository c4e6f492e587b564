import { randomBytes } from 'node:crypto'
import { joinAddress, parseHost } from '../src/core/address.ts'
import { secretHash } from '../src/core/id.ts'
import type { Session } from '../src/core/session.ts'
import { readHead } from '../src/mime/head.ts'
import { openPostgresMail } from '../src/store/postgres/mail-store.ts'
import type { MailStore } from '../src/store/store.ts'
import { openPostgres, type Postgres } from '../test/support/postgres.ts'
import { tokenOf } from './tools/fill.ts'
import { figure, reportMachine, reportTable, say } from './tools/report.ts'

// How much does PostgreSQL write when a session full of mail is extended again and again? At the store, without the rate limit
// of extend-session.

const quick = process.argv.includes('--quick')
const MAILS = quick ? 2 : 9
// As base64 a mail of 10 MB, which packs to about three quarters.
const RANDOM_BYTES = 7_500_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const LIMITS = {
  mailbox: { maxMessages: 100, maxBytes: 100_000_000 },
  poolMaxBytes: 1e9,
  maxMailBytes: 25_000_000,
}

interface Extension {
  /** When it is asked for, in hours since the session was created, and for how many hours from then. */
  atHours: number
  ttlHours: number
}

const CASES: [string, Extension[]][] = [
  [
    '20 extends, to 60 h and 30 h by turns',
    Array.from({ length: 20 }, (_, n) => ({ atHours: 0, ttlHours: n % 2 === 0 ? 60 : 30 })),
  ],
  [
    '30 extends, each day by a day',
    Array.from({ length: 30 }, (_, n) => ({ atHours: 24 * n + 23, ttlHours: 25 })),
  ],
]

async function main(): Promise<void> {
  say('## What an extend writes on PostgreSQL (bench/extend-wal.ts)', '')
  reportMachine()
  const postgres = await openPostgres()
  try {
    say(`- ${MAILS} mails of 10 MB in one session of 24 h; WAL by pg_current_wal_lsn`)
    const rows: string[][] = []
    for (const [name, extensions] of CASES) {
      const written = await measure(postgres, extensions)
      const moves = written.filter((bytes) => bytes > 1e6)
      rows.push([name, megabytes(sum(written)), String(moves.length), megabytes(sum(moves))])
    }
    reportTable(['extends', 'WAL MB', 'of them over 1 MB', 'their WAL MB'], rows)
  } finally {
    await postgres.close()
  }
}

/** The bytes of WAL that each of them wrote. */
async function measure(postgres: Postgres, extensions: readonly Extension[]): Promise<number[]> {
  const url = postgres.urlOf(await postgres.database())
  const store = await openPostgresMail({
    url,
    limits: LIMITS,
    poolMs: DAY_MS,
    operatorMs: DAY_MS,
  })
  try {
    const session = await fillSession(store)
    const created = session.createdAt.getTime()
    const written: number[] = []
    for (const { atHours, ttlHours } of extensions) {
      const now = created + atHours * HOUR_MS
      const before = await walPosition(postgres)
      const expiresAt = new Date(now + ttlHours * HOUR_MS)
      const extended = await store.extendSession(session.id, expiresAt, new Date(now))
      if (!extended) throw new Error('the session could not be extended')
      written.push((await walPosition(postgres)) - before)
    }
    return written
  } finally {
    await store.close()
  }
}

async function fillSession(store: MailStore): Promise<Session> {
  const host = parseHost('box.test')
  if (!host) throw new Error('box.test is a host')
  await store.addDomain({ name: host, sessions: true, reader: false, ttlSeconds: undefined })
  // At noon, so that the same extends cross the same days at every hour of a run.
  const createdAt = new Date((Math.floor(Date.now() / DAY_MS) + 0.5) * DAY_MS)
  const address = joinAddress('bench', host)
  const session = await store.createSession({
    address,
    tokenHash: secretHash(tokenOf(0)),
    keyId: undefined,
    createdAt,
    expiresAt: new Date(createdAt.getTime() + DAY_MS),
    cooldownMs: 0,
  })
  if (!session) throw new Error(`${address} is taken`)
  const envelope = {
    clientIp: '192.0.2.1',
    helo: 'sender.test',
    mailFrom: 'ann@sender.test',
    tls: undefined,
    protocol: 'ESMTP',
  }
  for (let sent = 0; sent < MAILS; sent += 1) {
    const body = randomBytes(RANDOM_BYTES).toString('base64')
    const raw = Buffer.from(`Subject: ${sent}\r\n\r\n${body}\r\n`)
    const { outcome } = await store.addMail({
      envelope,
      head: readHead(raw, envelope.mailFrom),
      receivedAt: createdAt,
      raw,
      recipients: [{ address, mailbox: session.id }],
    })
    if (outcome !== 'kept') throw new Error(`a mail was not kept: ${outcome}`)
  }
  return session
}

async function walPosition(postgres: Postgres): Promise<number> {
  const [row] = (await postgres.run(
    `select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as wal`,
  )) as { wal: number }[]
  if (!row) throw new Error('PostgreSQL did not say how much it wrote')
  return row.wal
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function megabytes(bytes: number): string {
  return figure(bytes / 1e6)
}

await main()
