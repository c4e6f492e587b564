import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { proxiedClient, TRUST_LOOPBACK } from '../../../bench/tools/proxied-client.ts'
import type { SoakClient } from '../../../bench/tools/soak/requests.ts'
import { filesMb, type SoakTarget, sqliteFiles } from '../../../bench/tools/soak/samples.ts'
import { freeServicePorts, ROOT, spawnService } from '../../kit/app/service-process.ts'
import { openHaproxy } from '../../kit/http/haproxy.ts'
import {
  buildCommit,
  canRunBesideLastRelease,
  firstWithSchema,
  lastRelease,
} from '../../kit/programs/last-release.ts'
import { endWithParent } from '../../kit/programs/server-process.ts'
import { openRedis } from '../../kit/redis/redis.ts'
import { connectSmtp } from '../../kit/smtp/smtp-client.ts'
import { openPostgres, type Postgres } from '../../kit/store/postgres.ts'

/** An installation of the last release. */
export interface Installation {
  target: SoakTarget
  client: SoakClient
  url: string
  /** The folder of that release. */
  release: string
  /** For commands of the operator. */
  env: Record<string, string>
  /** From the last release to this version. */
  upgrade(): Promise<void>
  /** Everything printed so far by all nodes, whichever version. */
  output(): string
  /** How often a proxy has found a node to be down. */
  outages(): number
  /** Ends all nodes. Returns the exit code of each process that was one: null if it was killed. */
  stop(): Promise<(number | null)[]>
  /** Kills what still runs. */
  close(): Promise<void>
}

export type OpenInstallation = (options: {
  folder: string
  env: Record<string, string>
}) => Promise<Installation>

const ENV = { ...TRUST_LOOPBACK, MAYFLY_RATE_LIMITS: 'off' }

/** One service on SQLite, without a proxy. */
export const openOnSqlite: OpenInstallation = async ({ folder, env }) => {
  const release = buildCommit(lastRelease()?.commit ?? '')
  const data = join(folder, 'data')
  const node = await openNode(data, { ...ENV, ...env }, release)
  return {
    target: {
      pids: () => [node.pid()],
      files: () => sqliteFiles(data),
      growing: () => ({ log: node.output().length / 2 ** 20 }),
    },
    client: proxiedClient('192.0.2.1', node),
    url: node.url,
    release,
    env: { MAYFLY_DATA: data },
    async upgrade() {
      await node.stop()
      await node.start(ROOT)
    },
    output: node.output,
    outages: () => 0,
    async stop() {
      await node.stop()
      return await node.exitCodes()
    },
    close: node.kill,
  }
}

/** Three nodes behind HAProxy. */
export const openThreeNodes: OpenInstallation = async ({ folder, env }) => {
  const release = buildCommit(lastRelease()?.commit ?? '')
  // A version whose nodes may run beside those of this one.
  const older = canRunBesideLastRelease() ? undefined : buildCommit(firstWithSchema() ?? '')
  const postgres = await openPostgres({ settings: ['shared_buffers=256MB', 'max_wal_size=1GB'] })
  const redis = await openRedis()
  const database = await postgres.database()
  const store = { MAYFLY_STORE: postgres.urlOf(database), MAYFLY_REDIS: redis.url }
  const settings = { ...ENV, ...env, ...store, MAYFLY_DRAIN: '4s' }
  const open = (name: string) => openNode(join(folder, name), settings, release)
  const [node1, node2, node3] = await Promise.all([open('node1'), open('node2'), open('node3')])
  const nodes = [node1, node2, node3]
  const haproxy = await openHaproxy({ node1, node2, node3 })
  const haveState = (state: string, numbers = [1, 2, 3]) =>
    haproxy.waitForStates(
      Object.fromEntries(numbers.map((number) => [`http_nodes/node${number}`, state])),
    )
  await haveState('UP')
  const output = () => nodes.map((node) => node.output()).join('')
  const stop = () => Promise.all(nodes.map((node) => node.stop()))
  return {
    target: {
      pids: () => nodes.map(({ pid }) => pid()),
      files: async () => ({
        data: await databaseMb(postgres, database, NOT_RAW),
        wal: filesMb(join(postgres.path, 'cluster/pg_wal')),
        redis:
          Number(/used_memory:(\d+)/.exec(String(await redis.run('info', 'memory')))?.[1]) /
          2 ** 20,
      }),
      growing: async () => ({
        log: output().length / 2 ** 20,
        raw: await databaseMb(postgres, database, RAW),
      }),
    },
    client: {
      ...proxiedClient('192.0.2.1', {
        httpPort: Number(new URL(haproxy.url).port),
        smtpPort: haproxy.smtpPort,
      }),
      // HAProxy adds its own PROXY header.
      smtp: () => connectSmtp(haproxy.smtpPort),
    },
    url: haproxy.url,
    release,
    env: { ...store, MAYFLY_DATA: folder },
    async upgrade() {
      // The changelog: no node of the last release may run beside this version.
      if (older) {
        await stop()
        await Promise.all(nodes.map(({ start }) => start(older)))
        await haveState('UP')
      }
      for (const [at, node] of nodes.entries()) {
        await node.stop()
        await haveState('DOWN', [at + 1])
        await node.start(ROOT)
        await haveState('UP')
      }
    },
    output,
    outages: haproxy.outages,
    async stop() {
      await stop()
      return (await Promise.all(nodes.map(({ exitCodes }) => exitCodes()))).flat()
    },
    async close() {
      await haproxy.close()
      await Promise.all(nodes.map(({ kill }) => kill()))
      await redis.close()
      await postgres.close()
    },
  }
}

const RAW = "relname like 'raw_mail%'"
const NOT_RAW = `not ${RAW}`

/** MB of the tables that the condition selects. */
async function databaseMb(postgres: Postgres, database: string, condition: string) {
  const [row] = (await postgres.run(
    `select sum(pg_total_relation_size(oid)) / 2 ^ 20 as mb from pg_class where relkind = 'r' and ${condition}`,
    database,
  )) as { mb: number }[]
  return Number(row?.mb)
}

/** docs/scaling.md: a stop may take MAYFLY_DRAIN and a minute. */
const STOP_MS = 90_000

/** A node that keeps its ports and its folder, whichever version runs. */
async function openNode(folder: string, env: Record<string, string>, release: string) {
  mkdirSync(folder)
  const ports = await freeServicePorts()
  const under = endWithParent([])
  const spawn = (root: string) => spawnService({ folder, ports, env, root, under })
  let service = await spawn(release)
  const services = [service]
  return {
    httpPort: ports.http,
    smtpPort: ports.smtp,
    url: service.url,
    pid: () => service.pid,
    async start(root: string) {
      service = await spawn(root)
      services.push(service)
    },
    async stop() {
      const killing = setTimeout(() => void service.kill('SIGKILL'), STOP_MS)
      await service.kill('SIGTERM')
      clearTimeout(killing)
    },
    /** Of those that have run, when all have ended. */
    exitCodes: () => Promise.all(services.map(({ exited }) => exited)),
    async kill() {
      await service.kill('SIGKILL')
    },
    output: () => services.map((one) => one.output()).join(''),
  }
}
