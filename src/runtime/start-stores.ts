import { join } from 'node:path'
import type { MessagePort } from 'node:worker_threads'
import { createDataDirectory } from '../base/data-directory.ts'
import { operatorError } from '../base/fault.ts'
import type { Log } from '../base/log/log.ts'
import { lockFolder, openWritable, SHOP_FILE } from '../store/sqlite/files.ts'
import { openMigrated } from '../store/sqlite/migrate.ts'
import { openShopWriter } from '../store/sqlite/shop-store.ts'
import type { Config } from './config.ts'
import { openLedger } from './ledger.ts'
import { serveWrites } from './serve-writes.ts'
import { openMailStore, openShopStore, receiveLimits, storeFolder } from './stores.ts'
import { openPorts, startMailWriter } from './thread.ts'
import { threadJobs } from './thread-jobs.ts'

export type StartedStores = Awaited<ReturnType<typeof startStores>>

interface Starting {
  versions: SharedArrayBuffer
  now(): Date
  log: Log
  died(fault: Error): void
  /** What is started is added. */
  closers: (() => unknown)[]
}

export function neededThreads(config: Config) {
  const needed = Object.entries(threadJobs).filter(([, job]) => job.isNeeded(config))
  return needed.map(([name]) => name)
}

/**
 * The shop first: the ledger of addresses needs its secret. On SQLite, the directory is locked, and each has a writer: that of the
 * mail in a thread of its own, that of the shop in this one, which has little else to do. A thread takes 7 MB.
 */
export async function startStores(config: Config, { versions, now, log, died, closers }: Starting) {
  const folder = storeFolder(config)
  const { mailMaxBytes: maxBytes, smtp, http } = config
  if (folder !== undefined) {
    const fault = createDataDirectory(folder)
    if (fault) throw operatorError('MAYFLY_DATA', fault)
    closers.push(lockFolder(folder))
  }

  const takeShopPort = folder === undefined ? NO_PORT : openShop(folder, http.threads + 1, closers)
  const onWait = (others: string) =>
    log.warn({ others }, 'the migration of the database waits for locks of other clients')
  const shop = await openShopStore(config, takeShopPort(), { onWait })
  closers.push(shop.close)

  const ledgerKey = await openLedger(config, { shop, now: now(), log, onWait })
  const servers = smtp.threads + http.threads + neededThreads(config).length
  const options = { maxBytes, limits: receiveLimits(config), ledgerKey, versions }
  const mailWriter =
    folder === undefined
      ? undefined
      : await startMailWriter(
          servers + 1,
          { folder, ...options },
          { died, maxOldMb: config.memory.threadMb },
        )
  if (mailWriter) closers.push(mailWriter.thread.close)
  const takeMailPort = mailWriter ? portTaker(mailWriter.ports) : NO_PORT
  const store = await openMailStore(config, { versions, ledgerKey, port: takeMailPort() })
  closers.push(store.close)

  return {
    store,
    shop,
    ledgerKey,
    /** Ports to the writers, a new one per call. */
    takePorts: { mail: takeMailPort, shop: takeShopPort },
    mailWriter: mailWriter?.thread,
  }
}

const NO_PORT = () => undefined

function openShop(folder: string, callers: number, closers: (() => unknown)[]) {
  openMigrated(folder, 'shop').close()
  const db = openWritable(join(folder, SHOP_FILE))
  const { served, ports } = openPorts(callers)
  closers.push(serveWrites(db, openShopWriter(db), served).close)
  return portTaker(ports)
}

function portTaker(ports: MessagePort[]): () => MessagePort {
  return () => {
    const port = ports.pop()
    if (!port) throw new Error('more callers than ports to a writer')
    return port
  }
}
