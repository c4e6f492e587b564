import { execFile, spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { withDb } from '../../../src/store/backup/backup.ts'
import { restoreBackup } from '../../../src/store/backup/restore.ts'
import { MAIL_FILE, SHOP_FILE } from '../../../src/store/sqlite/files.ts'
import { MAIN, type ServiceProcess, spawnService } from '../app/service-process.ts'
import { FSYNC_UNCHECKED, SYNCHRONOUS_NORMAL } from '../mutation.ts'
import { killProcesses } from '../programs/power-cut.ts'
import { endWithParent } from '../programs/server-process.ts'
import { isRunning, openPostgres, type Postgres, postgresProgram } from '../store/postgres.ts'
import { tempFolder } from '../store/stores.ts'
import { waitUntil } from '../wait-until.ts'
import type { Target } from './actor.ts'
import { type Backup, restoreEach, startBackup } from './backups.ts'

export interface StartOptions {
  /** Everything that must survive is in this folder. */
  folder: string
  /** A folder that no fault affects. */
  elsewhere: string
  /** The same after every crash. */
  ports: { http: number; smtp: number }
  env?: Record<string, string>
  /** Of a copy that does not sync: the control. */
  root?: string | undefined
  /** Everything written so far survives the next crash. */
  sync?(): Promise<void>
}

/** The service and its database server, if it has one. */
export interface Running extends Target {
  /** Every process is one of these or a descendant. */
  pids: number[]
  /** Kills processes and starts them again with the same data; `turn` may decide which. */
  restart(turn: number): Promise<void>
  /** The exit code of the service after a SIGTERM. */
  stop(): Promise<number | null>
  /** What is damaged in its files, when the service has stopped. */
  damage(): Promise<string[]>
  /** Everything that the service has printed. */
  output(): string
  /** Kills everything that still runs. */
  kill(): Promise<void>
  /** Writes everything to the disk that could be lost. */
  sync?: (() => Promise<void>) | undefined
}

export interface Engine {
  start(options: StartOptions): Promise<Running>
  /** Makes a copy of the program lose mail, and its setup if it has one. */
  mutation: typeof SYNCHRONOUS_NORMAL
}

const ROOM = { MAYFLY_SESSION_MAX_MESSAGES: '100000', MAYFLY_SESSION_MAX_BYTES: '10GB' }

export const ENGINES = {
  SQLite: { start: startOnSqlite, mutation: SYNCHRONOUS_NORMAL },
  PostgreSQL: { start: startOnPostgres, mutation: FSYNC_UNCHECKED },
} satisfies Record<string, Engine>

function spawnIn({ folder, ports, env, root }: StartOptions, more: Record<string, string> = {}) {
  return spawnService({
    folder: join(folder, 'data'),
    ports,
    env: { ...ROOM, ...env, ...more },
    under: endWithParent([]),
    ...(root && { root }),
  })
}

async function startOnSqlite(options: StartOptions): Promise<Running> {
  const data = join(options.folder, 'data')
  const backups = join(options.folder, 'backups')
  let backup: Backup | undefined
  let printed = ''
  let service = await spawnIn(options)
  return {
    url: service.url,
    smtpPort: service.smtpPort,
    config: { data, store: 'sqlite:' },
    get pids() {
      return [service.pid, ...pidsOf(backup)]
    },
    async backUp() {
      mkdirSync(backups, { recursive: true })
      const started = startBackup([process.execPath, MAIN, 'backup', backups], {
        MAYFLY_DATA: data,
      })
      backup = started
      // Its temporary folder is the first that it creates.
      await waitUntil(() => started.isOver() || readdirSync(backups).length > 0)
      return started
    },
    restoreBackups: () => restoreEach(backups, keysInFile),
    async restart() {
      assertRunning(service)
      killProcesses(pidsOf(backup))
      await service.kill('SIGKILL')
      printed += service.output()
      service = await spawnIn(options)
    },
    stop: () => service.kill('SIGTERM'),
    damage: async () => [MAIL_FILE, SHOP_FILE].flatMap((file) => damageOf(join(data, file))),
    output: () => printed + service.output(),
    async kill() {
      killProcesses(pidsOf(backup))
      await service.kill('SIGKILL')
    },
  }
}

/** A fault is to end it, not to find it ended. */
function assertRunning({ child }: ServiceProcess): void {
  if (!isRunning(child)) throw new Error(`the service ended by itself, with ${child.exitCode}`)
}

function damageOf(file: string): string[] {
  const found = withDb(file, (db) => db.pragma('integrity_check') as { integrity_check: string }[])
  return found
    .map(({ integrity_check: message }) => message)
    .filter((message) => message !== 'ok')
    .map((message) => `${basename(file)} is damaged: ${message}`)
}

const pidsOf = (backup: Backup | undefined) => (!backup || backup.isOver() ? [] : [backup.pid])

/** The ids of keys in a backup, restored elsewhere. */
async function keysInFile(file: string): Promise<string[]> {
  const folder = tempFolder()
  try {
    restoreBackup(folder.path, file, { now: new Date(), tell() {} })
    return withDb(join(folder.path, SHOP_FILE), (db) =>
      db.prepare<[], string>('select id from api_key').pluck().all(),
    )
  } finally {
    folder.remove()
  }
}

const DATABASE = 'mayfly'
const execute = promisify(execFile)

async function startOnPostgres(options: StartOptions): Promise<Running> {
  const { folder, root } = options
  const cluster = join(folder, 'cluster')
  const backups = join(options.elsewhere, 'backups')
  const pidFile = join(cluster, 'postmaster.pid')
  // In a copy of the disk it names a server that is still alive; after a power cut it would not be.
  rmSync(pidFile, { force: true })
  // Checkpoints come often, and the write-ahead log stays small enough for a loop disk.
  const settings = ['max_wal_size=64MB', `fsync=${root ? 'off' : 'on'}`]
  const postgres = await openPostgres({ cluster, settings })
  const store = postgres.urlOf(DATABASE)
  const serverPid = () => Number(readFileSync(pidFile, 'utf8').split('\n', 1)[0])
  let memory = sharedMemoryOf(serverPid())
  const startService = async () => {
    const [hasLeases] = await postgres.run(
      "select 1 where to_regclass('mail.lease') is not null",
      DATABASE,
    )
    // As if the outage had lasted until they expired: the jobs start at once.
    if (hasLeases) await postgres.run('delete from mail.lease', DATABASE)
    return await spawnIn(options, { MAYFLY_STORE: store })
  }
  let service: Awaited<ReturnType<typeof spawnService>>
  try {
    const [exists] = await postgres.run(`select 1 from pg_database where datname = '${DATABASE}'`)
    if (!exists) {
      await postgres.run(`create database ${DATABASE} template template0`)
      // The tests run initdb without its own sync.
      await options.sync?.()
    }
    service = await startService()
  } catch (error) {
    await postgres.close()
    throw error
  }
  let backup: Backup | undefined
  let printed = ''
  return {
    url: service.url,
    smtpPort: service.smtpPort,
    config: { data: join(folder, 'data'), store },
    get pids() {
      // A server whose disk was full may have ended by itself.
      const server = postgres.isRunning() ? [serverPid()] : []
      return [service.pid, ...server, ...pidsOf(backup)]
    },
    async backUp() {
      mkdirSync(backups, { recursive: true })
      const part = join(backups, '.dump.sql')
      const dump = ['--schema=shop', `--file=${part}`, store]
      backup = startBackup([postgresProgram('pg_dump'), ...dump])
      const failure = backup.failure.then((reason) => {
        if (reason === undefined) renameSync(part, join(backups, 'dump.sql'))
        return reason
      })
      return { ...backup, failure }
    },
    restoreBackups: () => restoreEach(backups, (file) => keysInDump(postgres, file)),
    async restart(turn) {
      const [killsService, killsServer] = KILLS[turn % KILLS.length] ?? [true, true]
      assertRunning(service)
      // With all that PostgreSQL has started, in the middle of their commits: they would finish them.
      killProcesses([...(killsService ? [service.pid] : []), ...(killsServer ? [serverPid()] : [])])
      await Promise.all([
        killsService && service.kill('SIGKILL'),
        killsServer && postgres.stop('SIGKILL'),
      ])
      if (killsServer) {
        await postgres.start()
        memory = sharedMemoryOf(serverPid())
      }
      if (!killsService) return
      printed += service.output()
      service = await startService()
    },
    stop: () => service.kill('SIGTERM'),
    damage: () => damageOfDatabase(store),
    output: () => printed + service.output(),
    async kill() {
      killProcesses(pidsOf(backup))
      await service.kill('SIGKILL')
      await postgres.close()
      memory.remove()
    },
  }
}

/** By the pages of its tables and indexes, and by whether each row is in its indexes. */
async function damageOfDatabase(store: string): Promise<string[]> {
  const check = ['--install-missing', '--heapallindexed', store]
  try {
    await execute(postgresProgram('pg_amcheck'), check)
    return []
  } catch (error) {
    return [`the database is damaged: ${error}`]
  }
}

/** What a server that is killed leaves in memory until it starts again; a machine has room for a few thousand. */
function sharedMemoryOf(pid: number): { remove(): void } {
  const maps = readFileSync(`/proc/${pid}/maps`, 'utf8')
  const [, segment = ''] = /(\d+) +\/SYSV/.exec(maps) ?? []
  const [file = ''] = /\/dev\/shm\/PostgreSQL\.\d+/.exec(maps) ?? []
  return {
    remove() {
      spawnSync('ipcrm', ['-m', segment])
      rmSync(file, { force: true })
    },
  }
}

/** The service, the database server, both. */
const KILLS = [
  [true, false],
  [false, true],
  [true, true],
] as const

/** The ids of keys in a dump, restored to another database. */
async function keysInDump(postgres: Postgres, file: string): Promise<string[]> {
  const copy = await postgres.database()
  try {
    const strict = ['--quiet', '--single-transaction', '--set=ON_ERROR_STOP=1']
    await execute(postgresProgram('psql'), [...strict, `--file=${file}`, postgres.urlOf(copy)])
    const rows = (await postgres.run('select id from shop.api_key', copy)) as { id: string }[]
    return rows.map(({ id }) => id)
  } finally {
    await postgres.run(`drop database ${copy}`)
  }
}
