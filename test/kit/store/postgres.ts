import { type ChildProcess, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { isStopped, withDescendants } from '../programs/power-cut.ts'
import { program } from '../programs/programs.ts'
import { freePort, makeCertificate, startServer } from '../programs/server-process.ts'
import { waitUntil } from '../wait-until.ts'
import { tempFolder } from './stores.ts'

export type Postgres = Awaited<ReturnType<typeof openPostgres>>

const CACHE = fileURLToPath(new URL('../../../node_modules/.cache/', import.meta.url))

interface PostgresOptions {
  tls?: boolean
  /** Additional settings, such as `shared_buffers=512MB`. */
  settings?: readonly string[]
  /** Makes it a streaming replica of another server, with this name. */
  replica?: { of: { path: string }; name: string }
  /** The data directory, by default in the temporary folder. Existing data is used. */
  cluster?: string
}

/**
 * A private PostgreSQL that listens only in its temporary folder: Debian's program, run by an unprivileged user. With
 * TLS it also listens on a free local port.
 */
export async function openPostgres(options: PostgresOptions = {}) {
  const { tls = false, settings = [], replica } = options
  const folder = tempFolder()
  const { path } = folder
  const user = unprivilegedUser()
  const { cluster = join(path, 'cluster') } = options
  chmodSync(path, 0o700)
  if (user) for (const one of [path, dirname(cluster)]) chownSync(one, user.uid, user.gid)
  if (!existsSync(cluster)) {
    if (replica) copyPrimary(cluster, { path, user, from: replicaUrl(replica) })
    else copyEmptyCluster(cluster, { path, user })
  }
  const place = { path, cluster, user, settings, port: tls ? await freePort() : undefined }
  if (tls) makeCertificate(path, 'DNS:localhost', user)
  let server = await startPostgres(place)
  let databases = 0

  const urlOf = (database: string) =>
    `postgres://mayfly@localhost:${place.port ?? 5432}/${database}?host=${encodeURIComponent(path)}`

  /** For superuser commands, in the default database. */
  async function run(sql: string, database = 'postgres'): Promise<unknown[]> {
    const client = new Client({ connectionString: urlOf(database) })
    await client.connect()
    try {
      return (await client.query(sql)).rows
    } finally {
      await client.end()
    }
  }

  return {
    /** The folder of its socket. */
    path,
    urlOf,
    /** The URL over TCP with TLS; `root` is the certificate to verify it with. */
    network: { port: place.port, root: join(path, 'tls.crt') },
    run,
    /** A new, empty database. */
    async database(): Promise<string> {
      databases += 1
      const name = `scratch_${databases}`
      await run(`create database ${name} template template0`)
      return name
    },
    /** Stops it: SIGTERM waits for clients, SIGINT does not, SIGQUIT is an immediate shutdown without a checkpoint. */
    async stop(signal: NodeJS.Signals = 'SIGQUIT') {
      const exit = once(server, 'exit')
      const processes = server.pid === undefined ? [] : withDescendants(server.pid)
      server.kill(signal)
      await exit
      // After SIGKILL its backends run on for a moment, in which it cannot be started again.
      await waitUntil(() => processes.every(isStopped))
    },
    async start() {
      server = await startPostgres(place)
    },
    isRunning: () => isRunning(server),
    async close() {
      if (isRunning(server)) await this.stop()
      folder.remove()
    },
  }
}

export function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null
}

type User = { uid: number; gid: number } | undefined

function copyPrimary(
  cluster: string,
  { path, user, from }: { path: string; user: User; from: string },
) {
  const args = ['-D', cluster, '-R', '-N', '-c', 'fast', '-d', from]
  execFileSync(postgresProgram('pg_basebackup'), args, { ...user, stdio: 'ignore', cwd: path })
}

/** Its letters are not only those of ASCII, as in most databases. */
const LOCALE = 'C.UTF-8'

/** initdb takes a second of CPU time, copying its result a tenth of that: the first caller creates it for all. */
function copyEmptyCluster(cluster: string, { path, user }: { path: string; user: User }): void {
  const version = execFileSync(postgresProgram('postgres'), ['--version'], { encoding: 'utf8' })
  const template = join(CACHE, `${version.replace(/\W+/g, '-')}${LOCALE}-${user?.uid ?? ''}`)
  if (!existsSync(template)) {
    const args = `-U mayfly -A trust -E UTF8 --locale=${LOCALE} -N`.split(' ')
    const options = { ...user, stdio: 'ignore', cwd: path } as const
    execFileSync(postgresProgram('initdb'), ['-D', cluster, ...args], options)
    mkdirSync(CACHE, { recursive: true })
    const made = `${template}.${process.pid}`
    execFileSync('cp', ['-a', cluster, made])
    try {
      renameSync(made, template)
    } catch {
      // Another process was faster.
      rmSync(made, { recursive: true })
    }
    return
  }
  execFileSync('cp', ['-a', template, cluster])
}

function replicaUrl({ of, name }: { of: { path: string }; name: string }): string {
  const query = new URLSearchParams({ host: of.path, application_name: name })
  return `postgres://mayfly@/postgres?${query}`
}

interface PostgresPaths {
  path: string
  cluster: string
  user: User
  port: number | undefined
  settings: readonly string[]
}

async function startPostgres(place: PostgresPaths): Promise<ChildProcess> {
  const { path, cluster, user, port } = place
  const tls = `ssl=on ssl_cert_file=${path}/tls.crt ssl_key_file=${path}/tls.key port=${port}`
  const settings = [
    ...(port ? ['listen_addresses=127.0.0.1', ...tls.split(' ')] : ['listen_addresses=']),
    `unix_socket_directories=${path}`,
    'max_connections=200',
    'shared_buffers=32MB',
    'recovery_init_sync_method=syncfs',
    ...place.settings,
  ]
  const flags = settings.flatMap((setting) => ['-c', setting])
  return await startServer({
    command: [postgresProgram('postgres'), '-D', cluster, ...flags],
    folder: path,
    user,
    ready: /ready to accept (read-only )?connections/,
    endSignal: 'QUIT',
  })
}

/** PostgreSQL refuses to run as root. */
export function unprivilegedUser(): User {
  if (process.getuid?.() !== 0) return undefined
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((one) => one.startsWith('postgres:'))
  const [, , uid = '65534', gid = '65534'] = line?.split(':') ?? []
  return { uid: Number(uid), gid: Number(gid) }
}

/** The path of a program that comes with the server. `postgres` itself may be a symbolic link in another folder, without the other programs beside it. */
export function postgresProgram(name: string): string {
  return join(dirname(realpathSync(program('postgres'))), name)
}

const STANDBY = 'standby'

/**
 * A PostgreSQL and a streaming replica behind one stable address, like a virtual IP: a symbolic link to the socket
 * folder of the current primary.
 */
export async function openReplicatedPostgres() {
  const folder = tempFolder()
  const address = join(folder.path, 'primary')
  const primary = await openPostgres()
  const database = await primary.database()
  const standby = await openPostgres({ replica: { of: primary, name: STANDBY } })
  const point = (path: string) => {
    symlinkSync(path, `${address}.new`)
    renameSync(`${address}.new`, address)
  }
  point(primary.path)

  const attached = async (state: string) =>
    (await primary.run(`select 1 from pg_stat_replication where sync_state = '${state}'`)).length >
    0

  const storeAs = (role: string) =>
    `postgres://${role}@localhost/${database}?host=${encodeURIComponent(address)}`

  return {
    store: storeAs('mayfly'),
    storeAs,
    run: primary.run,
    /** From now on a commit waits until the replica has it on disk. */
    async synchronous(): Promise<void> {
      await primary.run(`alter system set synchronous_standby_names = '${STANDBY}'`)
      await primary.run('select pg_reload_conf()')
      await waitUntil(() => attached('sync'))
    },
    /** Lets the replica catch up, then pauses replication. */
    async cutOff(): Promise<void> {
      const [row] = await primary.run('select pg_current_wal_lsn() as place')
      const { place } = row as { place: string }
      const caughtUp = `select 1 where pg_last_wal_replay_lsn() >= '${place}'`
      await waitUntil(async () => (await standby.run(caughtUp)).length > 0)
      await standby.run("alter system set primary_conninfo = ''")
      await standby.run('select pg_reload_conf()')
      await waitUntil(async () => !(await attached('async')))
    },
    /** Kills the primary; the replica is promoted and takes over the address. */
    async failOver(signal: NodeJS.Signals): Promise<void> {
      await primary.stop(signal)
      await standby.run('select pg_promote()')
      point(standby.path)
    },
    async close() {
      await standby.close()
      await primary.close()
      folder.remove()
    },
  }
}
