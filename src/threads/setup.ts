import type { MessagePort } from 'node:worker_threads'
import { openMemoryBus } from '../bus/memory.ts'
import type { Config } from '../config.ts'
import { openMemoryLimit } from '../limit/memory.ts'
import { openClock } from './clock.ts'
import { openMailStore } from './stores.ts'

/** Memory that all threads of one service see. */
export interface Shared {
  clock: SharedArrayBuffer
  versions: SharedArrayBuffer
  rates: SharedArrayBuffer
  connections: SharedArrayBuffer
  mailBytes: SharedArrayBuffer
  busName: string
  waiters: SharedArrayBuffer
}

/** What the thread of any door is started with. */
export interface ThreadSetup {
  config: Config
  shared: Shared
  /** To the mail writer, where there is one. */
  mailPort: MessagePort | undefined
  name: string
}

/** What the thread of a door that listens is started with. */
export interface DoorSetup extends ThreadSetup {
  /** To the shop writer, where there is one; only for the HTTP door. */
  shopPort: MessagePort | undefined
  /** To the main thread. */
  mainPort: MessagePort
  listen: { host: string; port: number; reusePort: boolean }
}

/** The parts that every thread opens in the same way. */
export async function openParts(config: Config, shared: Shared, mailPort: MessagePort | undefined) {
  const store = await openMailStore(config, { versions: shared.versions, port: mailPort })
  const bus = openMemoryBus(shared.busName, shared.waiters)
  const limit = openMemoryLimit(shared.rates)
  return {
    store,
    bus,
    limit,
    now: openClock(shared.clock).now,
    async close() {
      await bus.close()
      await store.close()
    },
  }
}
