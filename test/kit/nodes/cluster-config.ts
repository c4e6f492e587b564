import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { postgresProgram } from '../store/postgres.ts'

export const NODES = ['node1', 'node2', 'node3'] as const
export const DATABASES = ['postgres1', 'postgres2'] as const
export const ETCD = ['etcd1', 'etcd2', 'etcd3'] as const
export const MACHINES = [...NODES, ...DATABASES, ...ETCD, 'redis', 'haproxy'] as const
export type MachineName = (typeof MACHINES)[number]
export type NodeName = (typeof NODES)[number]
export type DatabaseName = (typeof DATABASES)[number]

export const isNode = (name: string): name is NodeName => NODES.some((one) => one === name)
export const isDatabase = (name: string): name is DatabaseName =>
  DATABASES.some((one) => one === name)

interface PatroniOptions {
  name: string
  path: string
  address: string
  /** Of etcd. */
  hosts: readonly string[]
  /** The folder of PostgreSQL's. */
  programs: string
  synchronous: boolean
}

/** PostgreSQL's programs, of which the server is run under this command. Patroni itself cannot: its sleeps fail. */
export function postgresPrograms(folder: string, under: readonly string[]): string {
  const original = join(postgresProgram('postgres'), '..')
  if (existsSync(folder)) return folder
  mkdirSync(folder)
  for (const name of readdirSync(original)) symlinkSync(join(original, name), join(folder, name))
  const server = join(folder, 'postgres')
  rmSync(server)
  const command = [...under, join(original, 'postgres')].map((word) => `'${word}'`).join(' ')
  writeFileSync(server, `#!/bin/sh\nexec ${command} "$@"\n`, { mode: 0o755 })
  return folder
}

export function patroniConfig(options: PatroniOptions): object {
  const { name, path, address, hosts, programs, synchronous } = options
  const login = { username: 'mayfly' }
  return {
    scope: 'mayfly',
    name,
    restapi: { listen: `${address}:8008`, connect_address: `${address}:8008` },
    // The older API of etcd: with the newer one, Patroni before 3.0.3 takes the lock back after a suspension, whoever has it.
    etcd: { hosts },
    bootstrap: {
      dcs: {
        ...{ ttl: 12, loop_wait: 2, retry_timeout: 4 },
        // Strict: a primary without a standby acknowledges nothing. Otherwise a former primary may take over without that mail.
        ...{ synchronous_mode: synchronous, synchronous_mode_strict: synchronous },
        postgresql: {
          use_pg_rewind: true,
          parameters: { max_connections: 200, shared_buffers: '32MB', synchronous_commit: 'on' },
        },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, { username: 'mayfly' }],
    },
    postgresql: {
      listen: `${address}:5432`,
      connect_address: `${address}:5432`,
      data_dir: join(path, 'data'),
      pgpass: join(path, 'pgpass'),
      bin_dir: programs,
      authentication: { superuser: login, replication: login, rewind: login },
      pg_hba: ['local all all trust', 'host all all all trust', 'host replication all all trust'],
      parameters: { unix_socket_directories: path, recovery_init_sync_method: 'syncfs' },
      remove_data_directory_on_rewind_failure: true,
      remove_data_directory_on_diverged_timelines: true,
    },
  }
}

/** deploy/haproxy.cfg, and the address of the primary: the server for which Patroni says so. */
export function haproxyFile(folder: string, at: (name: MachineName) => string): string {
  const config = readFileSync(new URL('../../../deploy/haproxy.cfg', import.meta.url), 'utf8')
  const primary = `
listen postgres
  mode tcp
  bind :5432
  timeout client 1h
  timeout server 1h
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter 1s fall 2 rise 2 on-marked-down shutdown-sessions
${DATABASES.map((name) => `  server ${name} ${at(name)}:5432 check port 8008`).join('\n')}
`
  const file = join(folder, 'haproxy.cfg')
  const nodes = config.replaceAll(/ (node\d):/g, (_, name: NodeName) => ` ${at(name)}:`)
  writeFileSync(file, nodes + primary)
  return file
}
