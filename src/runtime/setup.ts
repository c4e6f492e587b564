import { type MessagePort, parentPort } from 'node:worker_threads'
import type { Log } from '../base/log/log.ts'
import { openLog } from '../base/log/open-log.ts'
import { readMetrics } from '../base/metrics.ts'
import { openBlockList } from '../blocks/open-block-list.ts'
import { openMemoryBus } from '../bus/memory.ts'
import { openMemoryLimit } from '../limit/memory.ts'
import { NO_BLOCKING } from '../mail/blocking.ts'
import { openMailLog } from '../mail/log/mail-log.ts'
import { mailLogKey } from '../mail/log/rules.ts'
import { openTlsContexts } from '../tls/contexts.ts'
import type { Config } from './config.ts'
import { releaseMemoryWhenIdle } from './idle-memory.ts'
import { serve } from './ports.ts'
import { openMailStore } from './stores.ts'

export interface SharedMemory {
  clock: SharedArrayBuffer
  versions: SharedArrayBuffer
  rates: SharedArrayBuffer
  connections: SharedArrayBuffer
  httpConnections: SharedArrayBuffer
  mailBytes: SharedArrayBuffer
  busName: string
  waiterCounts: SharedArrayBuffer
}

export interface ThreadSetup {
  config: Config
  shared: SharedMemory
  /** To the mail writer, on SQLite. */
  mailPort: MessagePort | undefined
  ledgerKey: Uint8Array
  name: string
}

export interface ServerThreadSetup extends ThreadSetup {
  /** To the writer of the shop, on SQLite; HTTP only. */
  shopPort: MessagePort | undefined
  /** To the main thread. */
  mainPort: MessagePort
  listen: { host: string; port: number; httpsPort: number; reusePort: boolean }
}

export async function openThreadParts({ config, shared, mailPort, ledgerKey, name }: ThreadSetup) {
  const log = openLog({ level: config.logLevel, thread: name })
  const { versions } = shared
  const store = await openMailStore(config, { versions, port: mailPort, ledgerKey })
  const { bus, limit, close } = await openBusAndLimit(config, shared, log)
  return {
    store,
    bus,
    limit,
    log,
    now: openClock(shared.clock).now,
    async close() {
      await close()
      await store.close()
    },
  }
}

export type IntakeParts = Awaited<ReturnType<typeof openIntakeParts>>

/** For threads that receive mail. */
export async function openIntakeParts(setup: ThreadSetup) {
  const parts = await openThreadParts(setup)
  const { close, ...blocking } = {
    ...NO_BLOCKING,
    ...(await openBlockList(parts)),
  }
  const { mode } = setup.config.mailLog
  const mailLog = openMailLog({ ...parts, mode, key: mailLogKey(setup.ledgerKey) })
  return {
    ...parts,
    ...blocking,
    mailLog,
    async close() {
      await mailLog.close()
      await close()
      await parts.close()
    },
  }
}

/** The certificates that the main thread obtains; undefined if it does not. */
export async function openThreadContexts(
  { config }: ThreadSetup,
  deps: Pick<Parameters<typeof openTlsContexts>[0], 'callMain' | 'defaultName' | 'now' | 'log'>,
) {
  if (!config.acme.on) return undefined
  const { hostname } = config.smtp
  return await openTlsContexts({ ...deps, folder: config.data, hostname })
}

interface ThreadCommands {
  ready(): unknown
  drain(): void
  close(): Promise<void>
}

export function serveMain(commands: ThreadCommands): void {
  if (!parentPort) return
  releaseMemoryWhenIdle()
  serve(parentPort, {
    ...commands,
    metrics: readMetrics,
    /** Resolves with the last metrics, which count everything. */
    async close() {
      await commands.close()
      return readMetrics()
    },
  })
}

/** Over the threads of this node, and with Redis over all nodes. */
export async function openBusAndLimit({ redis: url }: Config, shared: SharedMemory, log: Log) {
  const local = {
    bus: openMemoryBus(shared.busName, shared.waiterCounts),
    limit: openMemoryLimit(shared.rates),
  }
  if (url === '') return { ...local, close: local.bus.close }
  // Loaded on demand, in every thread: the redis package is large.
  const [{ connectRedis }, { openRedisBus }, { openRedisLimit }] = await Promise.all([
    import('../redis/connect.ts'),
    import('../bus/redis.ts'),
    import('../limit/redis.ts'),
  ])
  const redis = await connectRedis({ url, log })
  const bus = openRedisBus({ redis, local: local.bus, node: shared.busName })
  return {
    bus,
    limit: openRedisLimit({ redis, local: local.limit }),
    async close() {
      await bus.close()
      redis.close()
    },
  }
}

/** One clock for all threads: the system clock plus an offset that tests set. */
export function makeClock(): SharedArrayBuffer {
  return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
}

export function openClock(shared: SharedArrayBuffer) {
  const offsetSeconds = new Int32Array(shared)
  return {
    now: (): Date => new Date(Date.now() + Atomics.load(offsetSeconds, 0) * 1000),
    move(seconds: number): void {
      Atomics.add(offsetSeconds, 0, seconds)
    },
  }
}
