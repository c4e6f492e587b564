import { Client } from 'pg'
import { NOW } from '../../../src/store/postgres/mail/leases.ts'
import {
  DATABASES,
  type DatabaseName,
  isNode,
  type MachineName,
  type NodeName,
} from './cluster-config.ts'

/** Ports of the nodes. */
export const PORTS = { http: 8080, smtp: 2525 }

/** What can be asked of the servers of a cluster, by their addresses. */
export function inspectCluster(at: (name: MachineName) => string) {
  async function query(
    sql: string,
    {
      server = 'haproxy',
      database = 'mayfly',
      timeoutMs = 3_000,
    }: { server?: MachineName; database?: string; timeoutMs?: number } = {},
  ): Promise<Record<string, unknown>[]> {
    const client = new Client({
      ...{ host: at(server), user: 'mayfly', database },
      ...{ connectionTimeoutMillis: timeoutMs, query_timeout: timeoutMs },
    })
    client.on('error', () => {})
    try {
      await client.connect()
      return (await client.query(sql)).rows
    } finally {
      client.end().catch(() => {})
    }
  }

  /** How many seconds the clock of a machine is ahead of the real time; undefined without a response. */
  async function clockOffset(name: NodeName | DatabaseName): Promise<number | undefined> {
    const time = isNode(name) ? timeOfNode(name) : timeOfDatabase(name)
    const there = await time.catch(() => undefined)
    return there === undefined ? undefined : (there - Date.now()) / 1_000
  }

  async function timeOfNode(name: NodeName): Promise<number> {
    const signal = AbortSignal.timeout(5_000)
    const response = await fetch(`${urlOf(name)}/livez`, { signal })
    await response.text()
    return Date.parse(response.headers.get('date') ?? '')
  }

  async function timeOfDatabase(name: DatabaseName): Promise<number> {
    const [row] = await query(`select ${NOW} as time`, { server: name, database: 'postgres' })
    return Number(row?.['time'])
  }

  /** A request to Patroni; undefined without a response. */
  async function patroni(name: DatabaseName, path: string, body?: object) {
    return await fetch(`http://${at(name)}:8008${path}`, {
      ...(body ? { method: 'POST', body: JSON.stringify(body) } : {}),
      signal: AbortSignal.timeout(body ? 20_000 : 2_000),
    }).catch(() => undefined)
  }

  async function primary(): Promise<DatabaseName | undefined> {
    for (const name of DATABASES) if ((await patroni(name, '/primary'))?.status === 200) return name
    return undefined
  }

  const urlOf = (name: NodeName | 'haproxy') =>
    `http://${at(name)}:${name === 'haproxy' ? 80 : PORTS.http}`

  async function isReady(name: NodeName | 'haproxy'): Promise<boolean> {
    const signal = AbortSignal.timeout(5_000)
    const response = await fetch(`${urlOf(name)}/readyz`, { signal }).catch(() => undefined)
    await response?.text().catch(() => {})
    return response?.status === 200
  }

  return { query, patroni, primary, clockOffset, urlOf, isReady }
}
