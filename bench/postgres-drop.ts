import { execFileSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { dayOf } from '../src/store/postgres/mail/partition-key.ts'
import type { Store } from '../src/store/store.ts'
import { startMayfly } from './contestants/mayfly.ts'
import { type BenchPostgres, startPostgres } from './contestants/postgres.ts'
import { DAY_MS, fillPostgres, MESSAGES_EACH, openBenchStore, RETENTION } from './tools/fill.ts'
import { type IntakeTimes, whileTimingIntake } from './tools/intake.ts'
import { options, quick } from './tools/options.ts'
import { benchFolder } from './tools/processes.ts'
import {
  alternate,
  figure,
  median,
  progress,
  reportGoal,
  reportHeader,
  reportTable,
  say,
  spread,
} from './tools/report.ts'

// Cost of deleting an expired day of mail during intake: dropping its partitions, as the store does, compared with detaching them
// first and, unless `--drops` is given, with DELETE.

const ROUNDS = quick ? 1 : options.drops ? 5 : 3
const MAX_STALL_MS = 20
const MESSAGES = quick ? 20_000 : 1_000_000
const SENDERS = 20
const MIN_SECONDS = quick ? 1 : 3
const MAX_SECONDS = 60
const MAILBOXES_PER_STEP = 100
// As between two steps of the sweep.
const PAUSE_MS = 5

interface Result {
  seconds: number
  /** Expired messages not deleted within MAX_SECONDS. */
  left: number
  leftMb: number
  vacuumSeconds: number
  before: IntakeTimes
  during: IntakeTimes
}

interface Method {
  name: string
  run(expired: Expired): Promise<void>
}

interface Expired {
  store: Store
  client: Client
  bucket: number
}

const SWEEP: Method = { name: 'sweep(): partition dropped', run: sweep }
const DETACH: Method = { name: 'DETACH CONCURRENTLY, then DROP', run: detachFirst }
const DELETES: Method[] = [
  {
    name: `DELETE, ${figure(MAILBOXES_PER_STEP * MESSAGES_EACH)} messages at a time`,
    run: deleteInSteps,
  },
  { name: 'DELETE in one statement', run: deleteAtOnce },
]
const METHODS = [SWEEP, DETACH, ...(options.drops ? [] : DELETES)]

async function main(): Promise<void> {
  reportHeader('Dropping a day of mail during intake', 'postgres-drop')
  const postgres = await startPostgres()
  say(
    `- ${postgres.settings}`,
    `- File system: ${mountOptions(tmpdir())}`,
    `- Settings: ${ROUNDS} rounds, alternating, each on a fresh copy with ${MESSAGES.toLocaleString('en-US')} expired messages of 2 KB whose sessions are already deleted; at most ${MAX_SECONDS} s`,
    `- Intake: one node, ${SENDERS} senders on reused connections at full speed, 4 KB, for ${MIN_SECONDS} s before and during the deletion (at least ${MIN_SECONDS} s). Time to 250: from the last byte of DATA. Stall: the longest period in which no sender got a 250.`,
    '- VACUUM: what DELETE leaves to do, measured without intake.',
  )
  progress(`filling a database with ${figure(MESSAGES)} messages`)
  const expiresAt = new Date(Date.now() - 2 * DAY_MS)
  const { database } = await fillPostgres(postgres, {
    messages: MESSAGES,
    receivedAt: expiresAt,
    expiresAt,
  })
  // Holds the sweep lease, so that the node does not sweep.
  await postgres.run(
    `truncate mail.session; insert into mail.lease values ('sweep', 'bench', ${2 ** 53 - 1})`,
    database,
  )
  let copies = 0
  const results = await alternate(
    METHODS,
    ROUNDS,
    (method) => {
      copies += 1
      const copy = `copy_${copies}`
      return onCopy(postgres, { from: database, copy, bucket: dayOf(expiresAt), method })
    },
    false,
  )
  report(results)
  const stall = median((results.get(SWEEP.name) ?? []).map(({ during }) => during.stallMs))
  reportGoal(`dropping a day: stall of at most ${MAX_STALL_MS} ms`, stall, stall <= MAX_STALL_MS)
  await postgres.close()
}

/** With `discard`, removing a file keeps the disk busy. */
function mountOptions(folder: string): string {
  const args = ['-no', 'FSTYPE,OPTIONS', '-T', folder]
  return execFileSync('findmnt', args, { encoding: 'utf8' }).trim().replace(/\s+/, ', ')
}

async function onCopy(
  postgres: BenchPostgres,
  { from, copy, bucket, method }: { from: string; copy: string; bucket: number; method: Method },
): Promise<Result> {
  await postgres.run(`create database ${copy} template ${from} strategy file_copy`)
  const url = postgres.urlOf(copy)
  const mayfly = await startMayfly(benchFolder().path, { MAYFLY_STORE: url })
  const client = new Client({ connectionString: url })
  await client.connect()
  const store = await openBenchStore(url)
  const measured = await whileTimingIntake(mayfly, SENDERS, async (timesSince) => {
    await pause(1_000)
    const baselineStart = performance.now()
    await pause(MIN_SECONDS * 1000)
    const before = timesSince(baselineStart)
    const start = performance.now()
    await method.run({ store, client, bucket })
    const seconds = (performance.now() - start) / 1000
    await pause(Math.max(MIN_SECONDS - seconds, 0) * 1000)
    return { seconds, before, during: timesSince(start) }
  })
  const left = await measureLeft(client, bucket)
  const vacuumSeconds = left.leftMb > 0 ? await vacuum(client, bucket) : Number.NaN
  await client.end()
  await store.close()
  await mayfly.stop()
  await postgres.run(`drop database ${copy} with (force)`)
  return { ...measured, ...left, vacuumSeconds }
}

async function sweep({ store }: Expired): Promise<void> {
  while (await store.sweep({ ...RETENTION, now: new Date() })) await pause(PAUSE_MS)
}

async function detachFirst({ client, bucket }: Expired): Promise<void> {
  for (const table of ['message', 'raw_mail']) {
    const name = `mail.${table}_${bucket}`
    await client.query(`alter table mail.${table} detach partition ${name} concurrently`)
    await pause(PAUSE_MS)
    await client.query(`drop table ${name}`)
    await pause(PAUSE_MS)
  }
}

async function deleteInSteps({ client, bucket }: Expired): Promise<void> {
  const deadline = performance.now() + MAX_SECONDS * 1000
  const { rows } = await client.query<{ mailbox: string }>(
    `select distinct mailbox from mail.message where bucket = ${bucket} order by mailbox`,
  )
  const mailboxes = rows.map(({ mailbox }) => mailbox)
  while (mailboxes.length > 0 && performance.now() < deadline) {
    await client.query('begin')
    const deleted = await client.query<{ serial: string }>(
      `delete from mail.message where bucket = ${bucket} and mailbox = any($1) returning serial`,
      [mailboxes.splice(0, MAILBOXES_PER_STEP)],
    )
    await client.query(`delete from mail.raw_mail where bucket = ${bucket} and serial = any($1)`, [
      deleted.rows.map(({ serial }) => serial),
    ])
    await client.query('commit')
    await pause(PAUSE_MS)
  }
}

async function deleteAtOnce({ client, bucket }: Expired): Promise<void> {
  await client.query(
    `begin; delete from mail.message where bucket = ${bucket};
     delete from mail.raw_mail where bucket = ${bucket}; commit`,
  )
}

async function measureLeft(
  client: Client,
  bucket: number,
): Promise<{ left: number; leftMb: number }> {
  const { rows } = await client.query<{ left: number; bytes: number }>(
    `select (select count(*) from mail.message where bucket = ${bucket})::float8 as left,
       coalesce(sum(pg_total_relation_size(oid)), 0)::float8 as bytes
     from pg_class where relkind = 'r' and relname in ('message_${bucket}', 'raw_mail_${bucket}')`,
  )
  return { left: rows[0]?.left ?? 0, leftMb: (rows[0]?.bytes ?? 0) / 2 ** 20 }
}

async function vacuum(client: Client, bucket: number): Promise<number> {
  const start = performance.now()
  await client.query(`vacuum mail.message_${bucket}, mail.raw_mail_${bucket}`)
  return (performance.now() - start) / 1000
}

function report(results: Map<string, Result[]>): void {
  reportTable(
    ['method', 'seconds', 'messages left', 'MB left on disk', 'VACUUM s'],
    [...results].map(([name, list]) => [
      name,
      spread(list.map(({ seconds }) => seconds)),
      median(list.map(({ left }) => left)).toLocaleString('en-US'),
      figure(median(list.map(({ leftMb }) => leftMb))),
      figure(median(list.map(({ vacuumSeconds }) => vacuumSeconds))),
    ]),
  )
  const medianOf = (list: readonly IntakeTimes[], field: keyof IntakeTimes) =>
    median(list.map((times) => times[field]))
  const row = (name: string, times: readonly IntakeTimes[], baseline: readonly IntakeTimes[]) => [
    name,
    figure(medianOf(times, 'perSecond')),
    figure(medianOf(times, 'perSecond') / medianOf(baseline, 'perSecond')),
    ...(['p50Ms', 'p99Ms', 'maxMs', 'stallMs'] as const).map((field) =>
      figure(medianOf(times, field)),
    ),
  ]
  const baseline = [...results.values()].flatMap((list) => list.map(({ before }) => before))
  reportTable(
    ['intake', 'mails/s', 'of before', '250 p50 ms', 'p99', 'max', 'stall ms'],
    [
      row('before', baseline, baseline),
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
