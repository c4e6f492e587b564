import { randomBytes } from 'node:crypto'
import type { Session } from '../src/mail/rules/session.ts'
import type { Store } from '../src/store/store.ts'
import { openPostgres, type Postgres } from '../test/support/postgres.ts'
import { DAY_MS, DOMAIN, incomingMail, newSession, openBenchStore } from './tools/fill.ts'
import { quick } from './tools/options.ts'
import { figure, reportHeader, reportTable, say } from './tools/report.ts'

// WAL written when a session full of mail is extended repeatedly. Calls the store directly, to bypass the rate limit of
// extend-session.

const MAILS = quick ? 2 : 9
// 10 MB as base64, which compresses to about three quarters.
const RANDOM_BYTES = 7_500_000
const HOUR_MS = 3_600_000

interface Extension {
  /** Since the session was created. */
  atHours: number
  /** From then. */
  ttlHours: number
}

const CASES: [string, Extension[]][] = [
  [
    '20 extends, alternately to 60 h and 30 h',
    Array.from({ length: 20 }, (_, n) => ({ atHours: 0, ttlHours: n % 2 === 0 ? 60 : 30 })),
  ],
  [
    '30 extends, daily by one day',
    Array.from({ length: 30 }, (_, n) => ({ atHours: 24 * n + 23, ttlHours: 25 })),
  ],
]

async function main(): Promise<void> {
  reportHeader('WAL written by extend-session', 'extend-wal')
  const postgres = await openPostgres()
  try {
    say(`- ${MAILS} mails of 10 MB in one session of 24 h; WAL measured with pg_current_wal_lsn`)
    const rows: string[][] = []
    for (const [name, extensions] of CASES) {
      const written = await measure(postgres, extensions)
      const copies = written.filter((bytes) => bytes > 1e6)
      rows.push([name, megabytes(sum(written)), String(copies.length), megabytes(sum(copies))])
    }
    reportTable(['extends', 'WAL MB', 'extends over 1 MB', 'their WAL MB'], rows)
  } finally {
    await postgres.close()
  }
}

/** WAL bytes of each extend. */
async function measure(postgres: Postgres, extensions: readonly Extension[]): Promise<number[]> {
  const url = postgres.urlOf(await postgres.database())
  const store = await openBenchStore(url)
  try {
    const session = await fillSession(store)
    const created = session.createdAt.getTime()
    const written: number[] = []
    for (const { atHours, ttlHours } of extensions) {
      const now = created + atHours * HOUR_MS
      const before = await walPosition(postgres)
      const expiresAt = new Date(now + ttlHours * HOUR_MS)
      const extended = await store.extendSession(session.id, expiresAt, new Date(now))
      if (!extended) throw new Error('session not extended')
      written.push((await walPosition(postgres)) - before)
    }
    return written
  } finally {
    await store.close()
  }
}

async function fillSession(store: Store): Promise<Session> {
  await store.addDomain(DOMAIN)
  // At noon, so that the extends cross the same day boundaries at any time of day.
  const createdAt = new Date((Math.floor(Date.now() / DAY_MS) + 0.5) * DAY_MS)
  const expiresAt = new Date(createdAt.getTime() + DAY_MS)
  const session = await store.createSession(newSession(0, createdAt, expiresAt))
  if (!session) throw new Error('the address is taken')
  for (let sent = 0; sent < MAILS; sent += 1) {
    const body = randomBytes(RANDOM_BYTES).toString('base64')
    const raw = Buffer.from(`Subject: ${sent}\r\n\r\n${body}\r\n`)
    const recipients = [{ address: session.address, mailbox: session.id }]
    const { outcome } = await store.addMail({ ...incomingMail(raw, createdAt), recipients })
    if (outcome !== 'stored') throw new Error(`mail not stored: ${outcome}`)
  }
  return session
}

async function walPosition(postgres: Postgres): Promise<number> {
  const [row] = (await postgres.run(
    `select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as wal`,
  )) as { wal: number }[]
  if (!row) throw new Error('no WAL position')
  return row.wal
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function megabytes(bytes: number): string {
  return figure(bytes / 1e6)
}

await main()
