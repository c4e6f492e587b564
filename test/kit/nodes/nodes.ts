import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { type CliResult, runMayflyUnder } from '../app/cli.ts'
import { freeServicePorts, type ServiceProcess, spawnService } from '../app/service-process.ts'
import { request } from '../http/http-client.ts'
import { endWithParent } from '../programs/server-process.ts'
import { openRedis } from '../redis/redis.ts'
import { openPostgres } from '../store/postgres.ts'
import { tempFolder } from '../store/stores.ts'
import { leakedSecrets } from './logs.ts'

export type Nodes = Awaited<ReturnType<typeof openNodes>>

interface NodesOptions {
  count?: number
  /** Settings of all nodes, or of each. */
  env?: Record<string, string> | ((node: number) => Record<string, string>)
  /** The store and Redis to use instead of new ones. */
  store?: string
  redis?: string
}

// Slow enough that a reply sent before the commit or before the sync is detected.
const SLOW_DISK = ['commit_delay=10000', 'commit_siblings=0', 'wal_writer_delay=2s']

/** Nodes of one installation: each a `mayfly serve` with its own folder and ports, all started at once. */
export async function openNodes({ count = 3, env = {}, store, redis }: NodesOptions = {}) {
  const folder = tempFolder()
  const own = {
    postgres: store === undefined ? await openPostgres({ settings: SLOW_DISK }) : undefined,
    redis: redis === undefined ? await openRedis() : undefined,
  }
  const url = store ?? own.postgres?.urlOf((await own.postgres.database()) ?? '') ?? ''
  const shared = { MAYFLY_STORE: url, MAYFLY_REDIS: redis ?? own.redis?.url ?? '' }
  const started: ServiceProcess[] = []
  const under = endWithParent([])

  async function openNode(_: unknown, number: number) {
    const path = join(folder.path, `node-${number}`)
    mkdirSync(path)
    const ports = await freeServicePorts()
    const serve = async () => {
      const settings = typeof env === 'function' ? env(number) : env
      const options = { folder: path, ports, env: { ...shared, ...settings }, under }
      const served = await spawnService(options)
      started.push(served)
      return served
    }
    return { serve, served: await serve(), isUp: true }
  }
  const nodes = await Promise.all(Array.from({ length: count }, openNode))
  const at = (number: number) => {
    const node = nodes[number]
    if (!node) throw new Error(`there is no node ${number}`)
    return node
  }

  return {
    folder: folder.path,
    store: url,
    count,
    /** The URL of each node, up or not. */
    urls: nodes.map(({ served }) => served.url),
    smtpPorts: nodes.map(({ served }) => served.smtpPort),
    node: (number: number) => at(number).served,
    /** The numbers of the nodes that have not been killed. */
    up: () => nodes.flatMap(({ isUp }, number) => (isUp ? [number] : [])),
    async kill(number: number, signal: NodeJS.Signals = 'SIGKILL'): Promise<number | null> {
      at(number).isUp = false
      return await at(number).served.kill(signal)
    },
    /** Restarts a node on the same ports; retries while the store is unreachable, like a supervisor. */
    async restart(number: number): Promise<void> {
      for (
        let served: ServiceProcess | undefined;
        !served;
        at(number).isUp = served !== undefined
      ) {
        served = await at(number).serve().catch(ignoreUnreachableStore)
        if (served) at(number).served = served
      }
    },
    /** Runs a `mayfly` command of the operator. */
    command: (...args: string[]): Promise<CliResult> =>
      runMayflyUnder(
        ['env', ...Object.entries(shared).map(([name, value]) => `${name}=${value}`)],
        folder.path,
        ...args,
      ),
    /** Everything printed so far by any node. */
    output: () => started.map((served) => served.output()).join(''),
    /** Returns a function that returns everything printed since this call. */
    recordOutput() {
      const before = started.map((served) => served.output().length)
      return () => started.map((served, at) => served.output().slice(before[at] ?? 0)).join('')
    },
    /** Queries the database directly. */
    async query(sql: string): Promise<Record<string, unknown>[]> {
      const database = new URL(url).pathname.slice(1)
      return (await ownServer(own.postgres).run(sql, database)) as Record<string, unknown>[]
    },
    postgres: () => ownServer(own.postgres),
    redis: () => ownServer(own.redis),
    async close() {
      for (const { served, isUp } of nodes) if (isUp) await served.kill('SIGKILL')
      await own.redis?.close()
      await own.postgres?.close()
      folder.remove()
    },
  }
}

/** Undefined if the start failed because of the store. */
function ignoreUnreachableStore(fault: Error): undefined {
  if (!/PostgreSQL cannot be reached|The store is unavailable/.test(fault.message)) throw fault
}

function ownServer<Server>(server: Server | undefined): Server {
  if (!server) throw new Error('somebody else runs it')
  return server
}

// Messages that an outage is expected to log.
const EXPECTED = [
  'the store is unavailable; clients are asked to retry',
  'Redis is unavailable: waiting clients poll, and each node counts rates by itself',
  'a lease could not be renewed; stopping its operation',
]

interface LogLine {
  level: string
  msg: string
}

/** The log reports the outages, no errors of our own, and no secrets. */
export function assertLogsClean(output: string, secrets: Iterable<string>): void {
  const lines = output.split('\n')
  const unexpected = lines.filter((line) =>
    line.startsWith('{') ? isUnexpectedEntry(line) : isRuntimeOutput(line),
  )
  expect(unexpected).toStrictEqual([])
  expect(leakedSecrets(output, secrets), 'secrets in the log').toStrictEqual([])
}

function isUnexpectedEntry(line: string): boolean {
  // The incomplete last line of a killed node.
  if (!line.endsWith('}')) return false
  const { level, msg } = JSON.parse(line) as LogLine
  return level === 'error' || (level === 'warn' && !EXPECTED.includes(msg))
}

/** Printed by Node itself: a warning or an uncaught error. */
function isRuntimeOutput(line: string): boolean {
  return /^\s+at .*:\d+\)?$|Error|Warning/.test(line)
}

/** Responses counted by status; 0 is a failed connection, and a 503 without Retry-After counts as 500. */
export type StatusCounts = Record<number, number>

/** Sends this many concurrent requests for one address, round robin over these nodes. */
export function raceForAddress(
  urls: readonly string[],
  prefix: string,
  count: number,
): Promise<StatusCounts> {
  const body = () => new URLSearchParams({ prefix, domain_id: '1' })
  return race(urls, count, (url) => ({
    url: `${url}/api/create-session`,
    init: { method: 'POST', body: body() },
  }))
}

// On a busy machine, more at once would only time out.
const MAX_CONCURRENT = 100

/** Sends this many /emails requests with one key, likewise, at most MAX_CONCURRENT at a time. */
export function raceForRequests(
  urls: readonly string[],
  { headers }: { headers: Record<string, string> },
  count: number,
): Promise<StatusCounts> {
  const question = (url: string) => ({ url: `${url}/emails`, init: { headers } })
  return race(urls, count, question, MAX_CONCURRENT)
}

async function race(
  urls: readonly string[],
  count: number,
  question: (url: string) => { url: string; init: RequestInit },
  concurrent = count,
): Promise<StatusCounts> {
  const counts: StatusCounts = {}
  let sent = 0
  const client = async () => {
    while (sent < count) {
      const { url, init } = question(urls[sent % urls.length] ?? '')
      sent += 1
      const response = await request(url, init).catch(() => undefined)
      const isFault = response?.status === 503 && !response.headers.has('retry-after')
      const status = isFault ? 500 : (response?.status ?? 0)
      counts[status] = (counts[status] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrent, count) }, client))
  return counts
}

interface SharedLimit {
  count: number
  /** For one more. */
  seconds: number
  /** The status of what is within the limit. */
  passes: number
}

let lastClient = 6

/** One node after the other lets `count` attempts of one client pass, and one more each time these seconds have passed. */
export async function assertSharedLimit(
  nodes: Nodes,
  { count, seconds, passes }: SharedLimit,
  attempt: (port: number, headers: Record<string, string>) => Promise<{ status: number }>,
): Promise<void> {
  // While Redis is slow, each node counts on its own: then the test is repeated with another client.
  for (let round = 0; round < 3; round += 1) {
    lastClient += 1
    const headers = { 'x-forwarded-for': `192.0.2.${lastClient}` }
    const next = (turn: number) => attempt(nodes.node(turn % nodes.count).httpPort, headers)
    const started = Date.now()
    let passed = 0
    let last = await next(0)
    for (; last.status === passes; last = await next(passed)) passed += 1
    expect(last.status).toBe(429)
    expect(passed, `${passed} passed`).toBeGreaterThanOrEqual(count)
    if (passed <= count + Math.ceil((Date.now() - started) / (seconds * 1_000))) return
  }
  expect.fail(`more than ${count} passed each time`)
}
