import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { MailboxId } from '../../src/mail/rules/session.ts'
import { type Db, openReadOnly } from '../../src/store/sqlite/files.ts'
import { mailWrites } from '../../src/store/sqlite/mail-store.ts'
import { openMigrated } from '../../src/store/sqlite/migrate.ts'
import type { Mayfly } from '../contestants/mayfly.ts'
import { fill, LEDGER_KEY, LIMITS, MESSAGES_EACH, tokenOf } from './fill.ts'
import { type IntakeTimes, whileTimingIntake } from './intake.ts'
import { cpuSeconds, diskReadBytes } from './processes.ts'
import { figure, progress, say } from './report.ts'

/** A filled data directory. */
export interface Store {
  name: string
  path: string
  /** Their numbers, oldest first. */
  sessions: number[]
}

export type Running = Store & Mayfly

/** Fills a directory inside `folder`, unless it was filled before. */
export function filledStore(folder: string, messages: number, mailBytes: number): Store {
  const path = join(folder, String(messages))
  const name = `${messages.toLocaleString('en-US')} messages`
  if (!existsSync(path)) {
    progress(`filling a store with ${name}`)
    const start = performance.now()
    mkdirSync(folder, { recursive: true })
    fill(`${path}.part`, messages, { mailBytes })
    renameSync(`${path}.part`, path)
    say(`- Filling with ${name}: ${figure((performance.now() - start) / 1000)} s`)
  }
  return { name, path, sessions: liveSessions(path) }
}

/** A former run may have swept some. */
export function liveSessions(path: string): number[] {
  return readStore({ path }, (db) =>
    db
      .prepare<[], number>(
        `select cast(substr(address, 6) as integer) from session
         where cleared = 0 and address like 'bench%' order by id`,
      )
      .pluck()
      .all(),
  )
}

export function mailFile({ path }: Pick<Store, 'path'>): string {
  return join(path, 'mail.db')
}

export function fileMb(path: string): number {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) / 1e6
}

export function dropFromPageCache(store: Store): void {
  const args = [`if=${mailFile(store)}`, 'iflag=nocache', 'count=0']
  execFileSync('dd', args, { stdio: 'ignore' })
}

export function readStore<R>(store: Pick<Store, 'path'>, read: (db: Db) => R): R {
  const db = openReadOnly(mailFile(store))
  try {
    return read(db)
  } finally {
    db.close()
  }
}

export type IntakeLoadResult = IntakeTimes & { cpuPerThousand: number; diskReads: number }

/** Intake at full load to random ones of the newest mailboxes. */
export async function loadIntake(
  store: Running,
  { newest, senders, seconds }: { newest: number; senders: number; seconds: number },
): Promise<IntakeLoadResult> {
  const usage = () => ({ cpu: cpuSeconds(store.pid), bytes: diskReadBytes(store.pid) })
  const sessions = store.sessions.slice(-newest)
  return await whileTimingIntake(
    store,
    senders,
    async (timesSince) => {
      await pause(500)
      const [start, before] = [performance.now(), usage()]
      await pause(seconds * 1000)
      const [times, after] = [timesSince(start), usage()]
      return {
        ...times,
        cpuPerThousand: ((after.cpu - before.cpu) / times.mails) * 1000,
        diskReads: (after.bytes - before.bytes) / 4096 / times.mails,
      }
    },
    () => addressOf(sessions[Math.floor(Math.random() * sessions.length)] ?? 0),
  )
}

function addressOf(number: number): string {
  return `bench${number}@box.test`
}

/** Requests for all messages of these sessions. */
export function readMailPaths(store: Store, sessions: readonly number[]): string[] {
  return readStore(store, (db) => {
    const ids = db
      .prepare<[string], number>(
        `select message.id from session join message on mailbox = session.id
         where address = ? order by message.id limit ${MESSAGES_EACH}`,
      )
      .pluck()
    return sessions.flatMap((number) =>
      ids.all(addressOf(number)).map((id) => `/api/read-mail?token=${tokenOf(number)}&id=${id}`),
    )
  })
}

export interface Sweep {
  perSecond: number
  /** Of intake while it ran. */
  intake: IntakeTimes
}

/** Expires the oldest sessions, and waits during intake until the running service has deleted their mail. */
export async function timeSweep(
  service: Running,
  { count, senders }: { count: number; senders: number },
): Promise<Sweep> {
  return await whileTimingIntake(service, senders, async (timesSince) => {
    await pause(500)
    expireSessions(service, count)
    const db = openReadOnly(mailFile(service))
    const due = db
      .prepare<[number], number>(
        'select count(*) from session where cleared = 0 and expires_at <= ?',
      )
      .pluck()
    const now = Date.now()
    let start = performance.now()
    for (let left = count; left > 0; left = due.get(now) ?? 0) {
      // The sweep begins within seconds.
      if (left === count) start = performance.now()
      await pause(3)
    }
    const seconds = (performance.now() - start) / 1000
    db.close()
    return { perSecond: (count * MESSAGES_EACH) / seconds, intake: timesSince(start) }
  })
}

function expireSessions(store: Store, count: number): void {
  const db = openMigrated(store.path, 'mail')
  const { endSession } = mailWrites(db, { limits: LIMITS, ledgerKey: LEDGER_KEY }, () => {})
  const find = db.prepare<[string], MailboxId>('select id from session where address = ?').pluck()
  const minutesAgo = new Date(Date.now() - 120_000)
  db.transaction(() => {
    for (const number of store.sessions.splice(0, count)) {
      const mailbox = find.get(addressOf(number))
      if (mailbox !== undefined) endSession(mailbox, minutesAgo)
    }
  }).immediate()
  db.close()
}
