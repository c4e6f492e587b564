import { execFileSync } from 'node:child_process'
import type { openRedis } from '../../test/kit/redis/redis.ts'
import type { BenchPostgres } from '../contestants/postgres.ts'
import { type Cost, combine } from './capacity.ts'
import { cpuSeconds, requireProgram } from './processes.ts'

export interface Metered {
  /** The main process of each node. */
  nodes: readonly { pid: number }[]
  postgres: BenchPostgres
  database: string
  /** Where PostgreSQL listens. */
  address: string
  redis: Awaited<ReturnType<typeof openRedis>>
}

/** What is used by `work`, which returns how many operations that were: per operation. */
export async function costPer(metered: Metered, work: () => Promise<number>): Promise<Cost> {
  const { meters: before, replyBytes } = await readMeters(metered)
  const links = readLinks(metered.address)
  const count = await work()
  const { meters: after } = await readMeters(metered)
  const postgresNetBytes = linkBytes(links, readLinks(metered.address))
  const used = combine([
    [after, 1],
    [before, -1],
  ])
  const redisNetBytes = used.redisNetBytes - replyBytes
  return combine([[{ ...used, postgresNetBytes, redisNetBytes }, 1 / count]])
}

async function readMeters({ nodes, postgres, database, redis }: Metered) {
  const [row] = (await postgres.run(
    `select pg_current_wal_insert_lsn() - '0/0' as wal, pg_database_size('${database}') as stored,
       pg_snapshot_xmax(pg_current_snapshot())::text as transactions,
       (select sum(calls) from pg_stat_statements join pg_database on dbid = pg_database.oid
        where datname = '${database}') as statements`,
  )) as { wal: string; stored: string; transactions: string; statements: string }[]
  const info = String(await redis.run('INFO', 'everything'))
  const numbers = (pattern: RegExp) =>
    info.matchAll(pattern).reduce((sum, [, number]) => sum + Number(number), 0)
  const { user, system } = process.cpuUsage()
  const meters: Cost = {
    nodeCpu: nodes.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0),
    postgresCpu: cpuSeconds(postgres.pid),
    redisCpu: numbers(/^used_cpu_(?:user|sys):([\d.]+)/gm),
    clientCpu: (user + system) / 1e6,
    statements: Number(row?.statements),
    transactions: Number(row?.transactions),
    walBytes: Number(row?.wal),
    storedBytes: Number(row?.stored),
    redisCommands: numbers(/^cmdstat_[^:]+:calls=(\d+)/gm),
    redisNetBytes: numbers(/^total_net_(?:input|output)_bytes:(\d+)/gm),
    wakes: numbers(/^cmdstat_publish:calls=(\d+)/gm),
    postgresNetBytes: 0,
  }
  // Redis counts its reply afterwards.
  return { meters, replyBytes: info.length }
}

/** Bytes sent and received by each connection to PostgreSQL, by the client's port. */
function readLinks(address: string): Map<string, number> {
  const text = execFileSync(requireProgram('ss', 'iproute2'), ['-tinH', 'dst', address]).toString()
  const links = text.matchAll(/^\S+ +\d+ +\d+ +\S+:(\d+) .*\n(.*)/gm)
  return new Map(
    links.map(([, port = '', counters = '']) => [
      port,
      counters
        .matchAll(/bytes_(?:sent|received):(\d+)/g)
        .reduce((sum, [, bytes]) => sum + Number(bytes), 0),
    ]),
  )
}

function linkBytes(before: Map<string, number>, after: Map<string, number>): number {
  return after.entries().reduce((sum, [port, bytes]) => sum + bytes - (before.get(port) ?? 0), 0)
}
