import { execFile, spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type CliResult, runMayflyUnder } from '../app/cli.ts'
import { spawnService } from '../app/service-process.ts'
import { FSYNC_UNCHECKED, SYNCHRONOUS_NORMAL } from '../mutation.ts'
import { endWithParent } from '../programs/server-process.ts'
import { openPostgres, type Postgres, postgresProgram } from '../store/postgres.ts'
import { tempFolder } from '../store/stores.ts'

export interface StartOptions {
  /** Everything that must survive is in this folder. */
  folder: string
  /** The same after every crash. */
  ports: { http: number; smtp: number }
  env?: Record<string, string>
  /** Of a copy that does not sync: the control. */
  root?: string | undefined
  /** Everything written so far survives the next crash. */
  sync?(): Promise<void>
}

/** The service and its database server, if it has one. */
export interface Running {
  url: string
  smtpPort: number
  /** Every process is one of these or a descendant. */
  pids: number[]
  mayfly(...args: string[]): Promise<CliResult>
  mayflyOnBackup(...args: string[]): Promise<CliResult>
  /** Kills processes and starts them again with the same data; `turn` may decide which. */
  restart(turn: number): Promise<void>
  /** The exit code of the service after a SIGTERM. */
  stop(): Promise<number | null>
  /** What the service has printed since its last start. */
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
  const mayfly = (folder: string, ...args: string[]) =>
    runMayflyUnder(endWithParent([]), folder, ...args)
  let service = await spawnIn(options)
  return {
    url: service.url,
    smtpPort: service.smtpPort,
    get pids() {
      return [service.pid]
    },
    mayfly: (...args) => mayfly(data, ...args),
    async mayflyOnBackup(...args) {
      const scratch = tempFolder()
      const file = join(scratch.path, 'backup.db')
      const restored = join(scratch.path, 'restored')
      try {
        const written = await mayfly(data, 'backup', file)
        if (written.status !== 0) return written
        const result = await mayfly(restored, 'restore', file)
        return result.status === 0 ? await mayfly(restored, ...args) : result
      } finally {
        scratch.remove()
      }
    },
    async restart() {
      await service.kill('SIGKILL')
      service = await spawnIn(options)
    },
    stop: () => service.kill('SIGTERM'),
    output: () => service.output(),
    kill: async () => void (await service.kill('SIGKILL')),
  }
}

const DATABASE = 'mayfly'
const execute = promisify(execFile)

async function startOnPostgres(options: StartOptions): Promise<Running> {
  const { folder, root } = options
  const cluster = join(folder, 'cluster')
  const pidFile = join(cluster, 'postmaster.pid')
  // In a copy of the disk it names a server that is still alive; after a power cut it would not be.
  rmSync(pidFile, { force: true })
  // Checkpoints come often, and the write-ahead log stays small enough for a loop disk.
  const settings = ['max_wal_size=64MB', `fsync=${root ? 'off' : 'on'}`]
  const postgres = await openPostgres({ cluster, settings })
  const store = { MAYFLY_STORE: postgres.urlOf(DATABASE) }
  const serverPid = () => Number(readFileSync(pidFile, 'utf8').split('\n', 1)[0])
  let memory = sharedMemoryOf(serverPid())
  let service: Awaited<ReturnType<typeof spawnService>>
  try {
    const [exists] = await postgres.run(`select 1 from pg_database where datname = '${DATABASE}'`)
    if (!exists) {
      await postgres.run(`create database ${DATABASE} template template0`)
      // The tests run initdb without its own sync.
      await options.sync?.()
    }
    service = await spawnIn(options, store)
  } catch (error) {
    await postgres.close()
    throw error
  }
  const mayfly = (url: string, ...args: string[]) =>
    runMayflyUnder(endWithParent(['env', `MAYFLY_STORE=${url}`]), join(folder, 'data'), ...args)
  return {
    url: service.url,
    smtpPort: service.smtpPort,
    get pids() {
      // A server whose disk was full may have ended by itself.
      if (!postgres.isRunning()) return [service.pid]
      return [service.pid, serverPid()]
    },
    mayfly: (...args) => mayfly(store.MAYFLY_STORE, ...args),
    async mayflyOnBackup(...args) {
      const copy = await copyDatabase(postgres)
      return await mayfly(postgres.urlOf(copy), ...args).finally(() =>
        postgres.run(`drop database ${copy}`),
      )
    },
    async restart(turn) {
      const [killsService, killsServer] = KILLS[turn % KILLS.length] ?? [true, true]
      if (killsService) await service.kill('SIGKILL')
      if (killsServer) {
        await postgres.stop('SIGKILL')
        await postgres.start()
        memory = sharedMemoryOf(serverPid())
      }
      if (!killsService) return
      // As if the outage had lasted until they expired: the jobs start at once.
      await postgres.run('delete from mail.lease', DATABASE)
      service = await spawnIn(options, store)
    },
    stop: () => service.kill('SIGTERM'),
    output: () => service.output(),
    async kill() {
      await service.kill('SIGKILL')
      await postgres.close()
      memory.remove()
    },
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

/** Dumps the database and restores the dump under another name. */
async function copyDatabase(postgres: Postgres): Promise<string> {
  const scratch = tempFolder()
  const dump = `--file=${join(scratch.path, 'dump.sql')}`
  try {
    await execute(postgresProgram('pg_dump'), [dump, postgres.urlOf(DATABASE)])
    const copy = await postgres.database()
    const strict = ['--quiet', '--single-transaction', '--set=ON_ERROR_STOP=1']
    await execute(postgresProgram('psql'), [...strict, dump, postgres.urlOf(copy)])
    return copy
  } finally {
    scratch.remove()
  }
}
