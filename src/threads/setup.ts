import type { MessagePort } from 'node:worker_threads'
import { openMemoryBus } from '../bus/memory.ts'
import type { Config } from '../config.ts'
import type { ReceiveLimits } from '../core/recipient.ts'
import { openMemoryLimit } from '../limit/memory.ts'
import type { Write } from '../store/sqlite/group-commit.ts'
import { type MailWrites, openSqliteMail } from '../store/sqlite/mail-store.ts'
import { openSqliteShop, type ShopWrites } from '../store/sqlite/shop-store.ts'
import { openVersions } from '../store/sqlite/versions.ts'
import { openClock } from './clock.ts'
import { caller } from './ports.ts'

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
  /** To the mail writer. */
  mailPort: MessagePort
  name: string
}

/** What the thread of a door that listens is started with. */
export interface DoorSetup extends ThreadSetup {
  /** To the shop writer; only for the HTTP door. */
  shopPort: MessagePort | undefined
  /** To the main thread. */
  mainPort: MessagePort
  listen: { host: string; port: number; reusePort: boolean }
}

/** Postmaster's and abuse's mail: long enough for an operator who looks once a fortnight. */
export const OPERATOR_MAIL_MS = 30 * 86_400_000

/** The parts that every thread opens in the same way. */
export function openParts(config: Config, shared: Shared, mailPort: MessagePort) {
  const store = openSqliteMail({
    folder: config.data,
    minFreeBytes: config.minFreeBytes,
    write: caller(mailPort) as Write<MailWrites>,
    versions: openVersions(shared.versions),
  })
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
      mailPort.close()
    },
  }
}

/** The shop, for the threads that sell or spend. */
export function openShop({ data }: Config, shopPort: MessagePort) {
  const shop = openSqliteShop(data, caller(shopPort) as Write<ShopWrites>)
  return {
    shop,
    async close() {
      await shop.close()
      shopPort.close()
    },
  }
}

export function receiveLimits(config: Config): ReceiveLimits {
  const { maxMessages, maxBytes } = config.sessions
  return { mailbox: { maxMessages, maxBytes }, poolMaxBytes: config.pool.maxBytes }
}
