import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { dayOf } from '../src/store/postgres/mail/partition-key.ts'
import type { MailStore } from '../src/store/store.ts'
import { startMayfly } from './contestants/mayfly.ts'
import { type BenchPostgres, startPostgres } from './contestants/postgres.ts'
import { DAY_MS, fillPostgres, KEPT, MESSAGES_EACH, openBenchStore } from './tools/fill.ts'
import { type IntakeTimes, whileTimingIntake } from './tools/intake.ts'
import { benchFolder } from './tools/processes.ts'
import {
  alternate,
  figure,
  median,
  progress,
  reportMachine,
  reportTable,
  say,
  spread,
} from './tools/report.ts'

// A day's mail is over: what does it cost to clear it away while new mail comes in? As the store does it, which drops the
// day's partitions, and by DELETE, which would need no partitions.

const quick = process.argv.includes('--quick')
const ROUNDS = quick ? 1 : 2
const MESSAGES = quick ? 20_000 : 1_000_000
const SENDERS = 20
const LEAST_SECONDS = quick ? 1 : 3
const MOST_SECONDS = 60
const BOXES_A_STEP = 100
// As the sweep between two of its steps.
const BREATH_MS = 5

interface Cleared {
  seconds: number
  /** Of the messages that were due, how many were left when the time was over. */
  left: number
  leftMb: number
  /** Until the room of what was deleted can be used again. */
  vacuumSeconds: number
  before: IntakeTimes
  during: IntakeTimes
}

interface Way {
  name: string
  clear(database: Due): Promise<void>
}

interface Due {
  store: MailStore
  client: Client
  bucket: number
}

const WAYS: Way[] = [
  { name: 'sweep(): the partition is dropped', clear: drop },
  {
    name: `DELETE, ${figure(BOXES_A_STEP * MESSAGES_EACH)} messages at a time`,
    clear: deleteInSteps,
  },
  { name: 'DELETE in one statement', clear: deleteAtOnce },
]

async function main(): Promise<void> {
  say('## A day of mail goes while mail comes in (bench/postgres-drop.ts)', '')
  reportMachine()
  const postgres = await startPostgres()
  say(
    `- ${postgres.settings}`,
    `- Settings: ${ROUNDS} rounds, alternating, each on a fresh copy with ${MESSAGES.toLocaleString('en-US')} expired messages of 2 KB, whose sessions were cleared before; at most ${MOST_SECONDS} s`,
    `- Intake: one node, ${SENDERS} senders on kept connections as fast as they can, 4 KB, for ${LEAST_SECONDS} s before and during the work (at least ${LEAST_SECONDS} s). Time to 250: from the last byte. Pause: the longest time in which no sender got a 250.`,
    '- VACUUM is what a DELETE leaves to be done, here without any mail coming in.',
  )
  progress(`filling a database with ${figure(MESSAGES)} messages`)
  const expiresAt = new Date(Date.now() - 2 * DAY_MS)
  const filling = { messages: MESSAGES, now: expiresAt, expiresAt }
  const { database } = await fillPostgres(postgres, filling)
  // The nodes leave the sweep to us.
  await postgres.run(
    `truncate mail.session; insert into mail.lease values ('sweep', 'bench', ${2 ** 53 - 1})`,
    database,
  )
  let copies = 0
  const results = await alternate(
    WAYS,
    ROUNDS,
    (way) => {
      copies += 1
      const copy = `copy_${copies}`
      return onCopy(postgres, { from: database, copy, bucket: dayOf(expiresAt), way })
    },
    false,
  )
  print(results)
  await postgres.close()
}

async function onCopy(
  postgres: BenchPostgres,
  { from, copy, bucket, way }: { from: string; copy: string; bucket: number; way: Way },
): Promise<Cleared> {
  await postgres.run(`create database ${copy} template ${from} strategy file_copy`)
  const url = postgres.urlOf(copy)
  const mayfly = await startMayfly(benchFolder().path, { MAYFLY_STORE: url })
  const client = new Client({ connectionString: url })
  await client.connect()
  const store = await openBenchStore(url)
  const cleared = await whileTimingIntake(mayfly, SENDERS, async (spanSince) => {
    await pause(1_000)
    const calm = performance.now()
    await pause(LEAST_SECONDS * 1000)
    const before = spanSince(calm)
    const start = performance.now()
    await way.clear({ store, client, bucket })
    const seconds = (performance.now() - start) / 1000
    await pause(Math.max(LEAST_SECONDS - seconds, 0) * 1000)
    return { seconds, before, during: spanSince(start) }
  })
  const rest = await leftOf(client, bucket)
  const vacuumSeconds = rest.leftMb > 0 ? await vacuum(client, bucket) : Number.NaN
  await client.end()
  await store.close()
  await mayfly.stop()
  await postgres.run(`drop database ${copy} with (force)`)
  return { ...cleared, ...rest, vacuumSeconds }
}

async function drop({ store }: Due): Promise<void> {
  while (await store.sweep({ ...KEPT, now: new Date() })) await pause(BREATH_MS)
}

async function deleteInSteps({ client, bucket }: Due): Promise<void> {
  const latest = performance.now() + MOST_SECONDS * 1000
  const { rows } = await client.query<{ mailbox: string }>(
    `select distinct mailbox from mail.message where bucket = ${bucket} order by mailbox`,
  )
  const boxes = rows.map(({ mailbox }) => mailbox)
  while (boxes.length > 0 && performance.now() < latest) {
    await client.query('begin')
    const gone = await client.query<{ serial: string }>(
      `delete from mail.message where bucket = ${bucket} and mailbox = any($1) returning serial`,
      [boxes.splice(0, BOXES_A_STEP)],
    )
    await client.query(`delete from mail.raw_mail where bucket = ${bucket} and serial = any($1)`, [
      gone.rows.map(({ serial }) => serial),
    ])
    await client.query('commit')
    await pause(BREATH_MS)
  }
}

async function deleteAtOnce({ client, bucket }: Due): Promise<void> {
  await client.query(
    `begin; delete from mail.message where bucket = ${bucket};
     delete from mail.raw_mail where bucket = ${bucket}; commit`,
  )
}

/** What is still there, for readers and on the disk. */
async function leftOf(client: Client, bucket: number): Promise<{ left: number; leftMb: number }> {
  const names = [`mail.message_${bucket}`, `mail.raw_mail_${bucket}`]
  const sizes = names.map((name) => `coalesce(pg_total_relation_size(to_regclass('${name}')), 0)`)
  const { rows } = await client.query<{ left: number; bytes: number }>(
    `select (select count(*) from mail.message where bucket = ${bucket})::float8 as left,
       (${sizes.join(' + ')})::float8 as bytes`,
  )
  return { left: rows[0]?.left ?? 0, leftMb: (rows[0]?.bytes ?? 0) / 2 ** 20 }
}

async function vacuum(client: Client, bucket: number): Promise<number> {
  const start = performance.now()
  await client.query(`vacuum mail.message_${bucket}, mail.raw_mail_${bucket}`)
  return (performance.now() - start) / 1000
}

function print(results: Map<string, Cleared[]>): void {
  reportTable(
    ['way', 'seconds', 'messages left', 'MB left on disk', 'VACUUM afterwards s'],
    [...results].map(([name, list]) => [
      name,
      spread(list.map(({ seconds }) => seconds)),
      median(list.map(({ left }) => left)).toLocaleString('en-US'),
      figure(median(list.map(({ leftMb }) => leftMb))),
      figure(median(list.map(({ vacuumSeconds }) => vacuumSeconds))),
    ]),
  )
  const middle = (list: readonly IntakeTimes[], field: keyof IntakeTimes) =>
    median(list.map((span) => span[field]))
  const row = (name: string, spans: readonly IntakeTimes[], calm: readonly IntakeTimes[]) => [
    name,
    figure(middle(spans, 'perSecond')),
    figure(middle(spans, 'perSecond') / middle(calm, 'perSecond')),
    ...(['p50Ms', 'p99Ms', 'worstMs', 'pauseMs'] as const).map((field) =>
      figure(middle(spans, field)),
    ),
  ]
  const calm = [...results.values()].flatMap((list) => list.map(({ before }) => before))
  reportTable(
    ['intake', 'mails/s', 'of before', '250 after p50 ms', 'p99', 'slowest', 'pause ms'],
    [
      row('before', calm, calm),
      ...[...results].map(([name, list]) =>
        row(
          name,
          list.map(({ during }) => during),
          list.map(({ before }) => before),
        ),
      ),
    ],
  )
}

await main()
