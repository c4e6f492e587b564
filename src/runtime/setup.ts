import type { MessagePort } from 'node:worker_threads'
import { openMemoryBus } from '../bus/memory.ts'
import { openRedisBus } from '../bus/redis.ts'
import type { Config } from '../config/config.ts'
import type { Log } from '../core/log.ts'
import { openMemoryLimit } from '../limit/memory.ts'
import { openRedisLimit } from '../limit/redis.ts'
import { connectRedis } from '../redis/connect.ts'
import { openMailStore } from './stores.ts'

/** Memory that all threads of one service see. */
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

/** What the thread of any door is started with. */
export interface ThreadSetup {
  config: Config
  shared: SharedMemory
  /** To the mail writer, where there is one. */
  mailPort: MessagePort | undefined
  name: string
}

/** What the thread of a door that listens is started with. */
export interface ServerThreadSetup extends ThreadSetup {
  /** To the shop writer, where there is one; only for the HTTP door. */
  shopPort: MessagePort | undefined
  /** To the main thread. */
  mainPort: MessagePort
  listen: { host: string; port: number; reusePort: boolean }
}

/** The parts that the thread of every door opens in the same way. */
export async function openThreadParts({ config, shared, mailPort }: ThreadSetup, log: Log) {
  const store = await openMailStore(config, { versions: shared.versions, port: mailPort })
  const { bus, limit, close } = await openBusAndLimit(config, shared, log)
  return {
    store,
    bus,
    limit,
    now: openClock(shared.clock).now,
    async close() {
      await close()
      await store.close()
    },
  }
}

/** Waking and counting: over the threads of this node, and where Redis is given over all nodes. */
async function openBusAndLimit({ redis: url }: Config, shared: SharedMemory, log: Log) {
  const near = {
    bus: openMemoryBus(shared.busName, shared.waiterCounts),
    limit: openMemoryLimit(shared.rates),
  }
  if (url === '') return { ...near, close: near.bus.close }
  const redis = await connectRedis({ url, log })
  const bus = openRedisBus({ redis, local: near.bus, node: shared.busName })
  return {
    bus,
    limit: openRedisLimit({ redis, local: near.limit }),
    async close() {
      await bus.close()
      redis.close()
    },
  }
}

/** One clock for all threads: the machine's, moved by a number of seconds that tests set. */
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
