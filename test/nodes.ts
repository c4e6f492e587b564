import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { mayflyUnder, type Told } from './command.ts'
import { openPostgres } from './postgres.ts'
import { mortal } from './private-server.ts'
import { openRedis } from './redis.ts'
import { scratchFolder } from './scratch.ts'
import { freePorts, type Served, serveProcess } from './served.ts'

export type Nodes = Awaited<ReturnType<typeof openNodes>>

interface NodesOptions {
  count?: number
  env?: Record<string, string>
  /** Where mail is kept and news are told, if not in a PostgreSQL and a Redis of their own. */
  store?: string
  redis?: string
}

// Whoever answers before the commit, or without waiting for the disk, has time enough to be found out.
const SLOW_DISK = ['commit_delay=10000', 'commit_siblings=0', 'wal_writer_delay=2s']

/** Nodes of one installation: each a `mayfly serve` with a folder and ports of its own, all started at once. */
export async function openNodes({ count = 3, env = {}, store, redis }: NodesOptions = {}) {
  const folder = scratchFolder()
  const own = {
    postgres: store === undefined ? await openPostgres({ settings: SLOW_DISK }) : undefined,
    redis: redis === undefined ? await openRedis() : undefined,
  }
  const url = store ?? own.postgres?.urlOf((await own.postgres.database()) ?? '') ?? ''
  const shared = { MAYFLY_STORE: url, MAYFLY_REDIS: redis ?? own.redis?.url ?? '' }
  const started: Served[] = []
  const under = mortal([])

  async function openNode(_: unknown, number: number) {
    const path = join(folder.path, `node-${number}`)
    mkdirSync(path)
    const ports = await freePorts()
    const serve = async () => {
      const options = { folder: path, ports, env: { ...shared, ...env }, under }
      const served = await serveProcess(options)
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
    /** Where each is reached, up or not. */
    urls: nodes.map(({ served }) => served.url),
    smtpPorts: nodes.map(({ served }) => served.smtpPort),
    node: (number: number) => at(number).served,
    /** The numbers of those that nobody has killed. */
    up: () => nodes.flatMap(({ isUp }, number) => (isUp ? [number] : [])),
    async kill(number: number, signal: NodeJS.Signals = 'SIGKILL'): Promise<number | null> {
      at(number).isUp = false
      return await at(number).served.kill(signal)
    },
    /** On the same ports; again and again while the store is away, as a supervisor does it. */
    async restart(number: number): Promise<void> {
      for (let served: Served | undefined; !served; at(number).isUp = served !== undefined) {
        served = await at(number).serve().catch(ofStore)
        if (served) at(number).served = served
      }
    },
    /** A `mayfly` command of the operator. */
    command: (...args: string[]): Promise<Told> =>
      mayflyUnder(
        ['env', ...Object.entries(shared).map(([name, value]) => `${name}=${value}`)],
        folder.path,
        ...args,
      ),
    /** All that any of them ever printed. */
    output: () => started.map((served) => served.output()).join(''),
    /** Asks the database itself. */
    async query(sql: string): Promise<Record<string, unknown>[]> {
      const database = new URL(url).pathname.slice(1)
      return (await ours(own.postgres).run(sql, database)) as Record<string, unknown>[]
    },
    postgres: () => ours(own.postgres),
    redis: () => ours(own.redis),
    async close() {
      for (const { served, isUp } of nodes) if (isUp) await served.kill('SIGKILL')
      await own.redis?.close()
      await own.postgres?.close()
      folder.remove()
    },
  }
}

/** Nothing, where a start was refused for the store's sake. */
function ofStore(fault: Error): undefined {
  if (!/PostgreSQL cannot be reached|The store cannot be reached/.test(fault.message)) throw fault
}

function ours<Server>(server: Server | undefined): Server {
  if (!server) throw new Error('somebody else runs it')
  return server
}
