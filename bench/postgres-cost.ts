import { readFileSync } from 'node:fs'
import { joinAddress, parseHost } from '../src/core/address.ts'
import { secretHash } from '../src/core/id.ts'
import type { Recipient } from '../src/core/recipient.ts'
import { readHead } from '../src/mime/head.ts'
import { acceptRecipient } from '../src/service/mail/receive-mail.ts'
import { openPostgresMail } from '../src/store/postgres/mail-store.ts'
import type { MailStore } from '../src/store/store.ts'
import { openPostgres, type Postgres } from '../test/support/postgres.ts'
import { tokenOf } from './tools/fill.ts'
import { mailText } from './tools/mail-text.ts'
import { cpuSeconds } from './tools/processes.ts'
import { figure, median, reportMachine, reportTable, say } from './tools/report.ts'

// What does a mail cost on PostgreSQL: WAL, disk, CPU of the server and of the node? As the SMTP door asks for it, RCPT and
// DATA, but without the door.

const quick = process.argv.includes('--quick')
const ROUNDS = quick ? 2 : 5
const MAILS = quick ? 500 : 5_000
const SESSIONS = 500
const now = () => new Date()
const DAY_MS = 86_400_000
const LIMITS = {
  mailbox: { maxMessages: 1e6, maxBytes: 1e12 },
  poolMaxBytes: 1e12,
  maxMailBytes: 1e7,
}

interface Case {
  name: string
  bytes: number
  together: number
  mails: number
  /** Of each mail. */
  recipients: number
}

interface Cost {
  perSecond: number
  walBytes: number
  serverCpuMs: number
  nodeCpuMs: number
  diskBytes: number
}

const CASES: Case[] = [
  { name: '4 KB, 1 at a time', bytes: 4_096, together: 1, mails: MAILS / 5, recipients: 1 },
  { name: '4 KB, 20 at a time', bytes: 4_096, together: 20, mails: MAILS, recipients: 1 },
  { name: '4 KB, 100 at a time', bytes: 4_096, together: 100, mails: MAILS, recipients: 1 },
  {
    name: '4 KB for 10 recipients, 20 at a time',
    bytes: 4_096,
    together: 20,
    mails: MAILS / 5,
    recipients: 10,
  },
  { name: '50 KB, 20 at a time', bytes: 51_200, together: 20, mails: MAILS / 5, recipients: 1 },
]

async function main(): Promise<void> {
  say('## What a mail costs on PostgreSQL (bench/postgres-cost.ts)', '')
  reportMachine()
  const postgres = await openPostgres()
  try {
    const [version] = (await postgres.run('show server_version')) as { server_version: string }[]
    say(
      `- PostgreSQL ${version?.server_version}, its usual settings, on the same machine; median of ${ROUNDS} rounds`,
      `- ${MAILS} mails a round (of the slower ones a fifth of that), ${SESSIONS} sessions; HTML that packs 3 to 1 (4 KB) or 4 to 1 (50 KB)`,
      '- WAL: by pg_current_wal_lsn, each round begins with a checkpoint; disk: tables, their indexes and TOAST',
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
  const of = (key: keyof Cost) => figure(median(costs.map((cost) => cost[key])))
  return [of('perSecond'), of('walBytes'), of('diskBytes'), of('serverCpuMs'), of('nodeCpuMs')]
}

async function measure(
  postgres: Postgres,
  { bytes, together, mails, recipients }: Case,
): Promise<Cost[]> {
  const database = await postgres.database()
  const url = postgres.urlOf(database)
  const keeping = { poolMs: DAY_MS, operatorMs: DAY_MS, aheadDays: 1 }
  const store = await openPostgresMail({ url, limits: LIMITS, ...keeping })
  const addresses = await makeSessions(store)
  const raw = Buffer.from(mailText(bytes).replaceAll('\n', '\r\n'))
  const pid = await serverPid(postgres)

  const costs: Cost[] = []
  // The first round warms up: partitions are made, statements prepared.
  for (let round = 0; round <= ROUNDS; round += 1) {
    await postgres.run('checkpoint')
    const before = await look(postgres, database, pid)
    await sendAll(store, { raw, addresses, mails, together, recipients })
    const after = await look(postgres, database, pid)
    const each = (key: keyof typeof before) => (after[key] - before[key]) / mails
    costs.push({
      perSecond: 1000 / each('ms'),
      walBytes: each('wal'),
      diskBytes: each('disk'),
      serverCpuMs: each('serverMs'),
      nodeCpuMs: each('nodeMs'),
    })
  }
  await store.close()
  return costs.slice(1)
}

async function look(postgres: Postgres, database: string, pid: number) {
  const [row] = (await postgres.run(
    `select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as wal,
       (select sum(pg_total_relation_size(inhrelid))::float8 from pg_inherits
        where inhparent in ('mail.message'::regclass, 'mail.raw_mail'::regclass)) as disk`,
    database,
  )) as { wal: number; disk: number }[]
  if (!row) throw new Error('PostgreSQL did not say how much it wrote')
  const { user, system } = process.cpuUsage()
  const serverMs = cpuSeconds(pid) * 1000
  return { ...row, serverMs, nodeMs: (user + system) / 1000, ms: performance.now() }
}

interface Sending {
  raw: Buffer
  addresses: readonly string[]
  mails: number
  together: number
  recipients: number
}

/** So many senders, each with its next mail when the last was kept. */
async function sendAll(
  store: MailStore,
  { raw, addresses, mails, together, recipients: count }: Sending,
) {
  const head = readHead(raw, 'ann@sender.test')
  const who = { clientIp: '192.0.2.1', helo: 'sender.test', mailFrom: 'ann@sender.test' }
  const envelope = { ...who, tls: undefined, protocol: 'ESMTP' }
  let next = 0
  await Promise.all(
    Array.from({ length: together }, async () => {
      while (next < mails) {
        const first = next * count
        next += 1
        const recipients: Recipient[] = []
        for (let at = first; at < first + count; at += 1) {
          const address = addresses[at % addresses.length] ?? ''
          const found = await acceptRecipient({ store, limits: LIMITS, now }, address, {
            size: raw.length,
            others: recipients,
          })
          if ('refused' in found) throw new Error(`${address} was refused: ${found.refused}`)
          recipients.push(found)
        }
        const mail = { envelope, head, receivedAt: now(), raw, recipients }
        const { outcome } = await store.addMail(mail)
        if (outcome !== 'kept') throw new Error(`a mail was not kept: ${outcome}`)
      }
    }),
  )
}

async function makeSessions(store: MailStore): Promise<string[]> {
  const host = parseHost('box.test')
  if (!host) throw new Error('box.test is a host')
  await store.addDomain({ name: host, sessions: true, reader: false, ttlSeconds: undefined })
  const createdAt = new Date()
  const expiresAt = new Date(createdAt.getTime() + DAY_MS)
  const addresses: string[] = []
  for (let number = 0; number < SESSIONS; number += 1) {
    const session = await store.createSession({
      address: joinAddress(`bench${number}`, host),
      tokenHash: secretHash(tokenOf(number)),
      keyId: undefined,
      createdAt,
      expiresAt,
      cooldownMs: 0,
    })
    if (session) addresses.push(session.address)
  }
  return addresses
}

/** The parent of the one that answers: it and all its children are the server. */
async function serverPid(postgres: Postgres): Promise<number> {
  // The process that answers ends with its connection: its parent is looked up by another that stays.
  const [row] = (await postgres.run(
    `select pid from pg_stat_activity where backend_type = 'checkpointer'`,
  )) as { pid: number }[]
  const stat = readFileSync(`/proc/${row?.pid}/stat`, 'utf8')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
}

await main()
