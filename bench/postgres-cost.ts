import { acceptRecipient } from '../src/mail/receive-mail.ts'
import type { Recipient } from '../src/mail/rules/recipient.ts'
import { openPostgresMail } from '../src/store/postgres/mail-store.ts'
import type { Store } from '../src/store/store.ts'
import { type BenchPostgres, startPostgres } from './contestants/postgres.ts'
import {
  DAY_MS,
  DOMAIN,
  incomingMail,
  LEDGER_KEY,
  LIMITS,
  newSession,
  RETENTION,
} from './tools/fill.ts'
import { mailText } from './tools/mail-text.ts'
import { quick } from './tools/options.ts'
import { cpuSeconds } from './tools/processes.ts'
import { figure, median, reportHeader, reportTable, say } from './tools/report.ts'

// Cost of a mail on PostgreSQL: WAL, disk, CPU of the server and of the node, for the store calls of RCPT and DATA without
// the SMTP server itself.

const ROUNDS = quick ? 2 : 5
const MAILS = quick ? 500 : 5_000
const SESSIONS = 500
const now = () => new Date()

interface Case {
  name: string
  bytes: number
  concurrency: number
  mails: number
  recipientsPerMail: number
}

interface Cost {
  perSecond: number
  walBytes: number
  serverCpuMs: number
  nodeCpuMs: number
  diskBytes: number
}

const CASES: Case[] = [
  makeCase('4 KB, one at a time', 4_096, 1, MAILS / 5),
  makeCase('4 KB, 20 concurrent', 4_096, 20, MAILS),
  makeCase('4 KB, 100 concurrent', 4_096, 100, MAILS),
  makeCase('4 KB for 10 recipients, 20 concurrent', 4_096, 20, MAILS / 5, 10),
  makeCase('50 KB, 20 concurrent', 51_200, 20, MAILS / 5),
]

function makeCase(
  name: string,
  bytes: number,
  concurrency: number,
  mails: number,
  recipientsPerMail = 1,
): Case {
  return { name, bytes, concurrency, mails, recipientsPerMail }
}

async function main(): Promise<void> {
  reportHeader('Cost of a mail on PostgreSQL', 'postgres-cost')
  const postgres = await startPostgres([])
  try {
    say(
      `- ${postgres.settings}; otherwise default settings; median of ${ROUNDS} rounds`,
      `- ${MAILS} mails per round (a fifth of that for the slower cases), ${SESSIONS} sessions; HTML that compresses 3:1 (4 KB) or 4:1 (50 KB)`,
      '- WAL: measured with pg_current_wal_lsn; each round starts with a checkpoint. Disk: tables, indexes and TOAST',
    )
    const rows: string[][] = []
    for (const one of CASES) rows.push([one.name, ...cells(await measure(postgres, one))])
    reportTable(
      ['mails', 'mails/s', 'WAL bytes', 'disk bytes', 'server CPU ms', 'node CPU ms'],
      rows,
    )
  } finally {
    await postgres.close()
  }
}

function cells(costs: readonly Cost[]): string[] {
  const medianCost = (key: keyof Cost) => figure(median(costs.map((cost) => cost[key])))
  return (['perSecond', 'walBytes', 'diskBytes', 'serverCpuMs', 'nodeCpuMs'] as const).map(
    medianCost,
  )
}

async function measure(postgres: BenchPostgres, one: Case): Promise<Cost[]> {
  const database = await postgres.database()
  const url = postgres.urlOf(database)
  const options = { url, limits: LIMITS, ledgerKey: LEDGER_KEY, aheadDays: 1 }
  const store = await openPostgresMail({ ...options, ...RETENTION })
  const addresses = await createSessions(store)

  const costs: Cost[] = []
  // The first round is a warm-up: it creates partitions and prepares statements.
  for (let round = 0; round <= ROUNDS; round += 1) {
    await postgres.run('checkpoint')
    const before = await readCounters(postgres, database)
    await storeMails(store, addresses, one)
    const after = await readCounters(postgres, database)
    const perMail = (key: keyof typeof before) => (after[key] - before[key]) / one.mails
    costs.push({
      perSecond: 1000 / perMail('ms'),
      walBytes: perMail('wal'),
      diskBytes: perMail('disk'),
      serverCpuMs: perMail('serverMs'),
      nodeCpuMs: perMail('nodeMs'),
    })
  }
  await store.close()
  return costs.slice(1)
}

async function readCounters(postgres: BenchPostgres, database: string) {
  const [row] = (await postgres.run(
    `select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as wal,
       (select sum(pg_total_relation_size(inhrelid))::float8 from pg_inherits
        where inhparent in ('mail.message'::regclass, 'mail.raw_mail'::regclass)) as disk`,
    database,
  )) as { wal: number; disk: number }[]
  if (!row) throw new Error('no WAL position')
  const { user, system } = process.cpuUsage()
  const serverMs = cpuSeconds(postgres.pid) * 1000
  return { ...row, serverMs, nodeMs: (user + system) / 1000, ms: performance.now() }
}

async function storeMails(
  store: Store,
  addresses: readonly string[],
  { bytes, concurrency, mails, recipientsPerMail }: Case,
) {
  const mail = incomingMail(Buffer.from(mailText(bytes)), now())
  let next = 0
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (next < mails) {
        const first = next * recipientsPerMail
        next += 1
        const recipients: Recipient[] = []
        for (let index = first; index < first + recipientsPerMail; index += 1) {
          const address = addresses[index % addresses.length] ?? ''
          const recipient = await acceptRecipient({ store, limits: LIMITS, now }, address, {
            size: mail.raw.length,
            others: recipients,
          })
          if ('refused' in recipient) throw new Error(`${address} rejected: ${recipient.refused}`)
          recipients.push(recipient)
        }
        const { outcome } = await store.addMail({ ...mail, receivedAt: now(), recipients })
        if (outcome !== 'stored') throw new Error(`mail not stored: ${outcome}`)
      }
    }),
  )
}

async function createSessions(store: Store): Promise<string[]> {
  await store.addDomain(DOMAIN)
  const createdAt = new Date()
  const expiresAt = new Date(createdAt.getTime() + DAY_MS)
  const addresses: string[] = []
  for (let number = 0; number < SESSIONS; number += 1) {
    const session = await store.createSession(newSession(number, createdAt, expiresAt))
    if (session) addresses.push(session.address)
  }
  return addresses
}

await main()
