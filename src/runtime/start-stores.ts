import type { MessagePort } from 'node:worker_threads'
import { createDataDirectory } from '../base/data-directory.ts'
import { operatorError } from '../base/fault.ts'
import type { Log } from '../base/log/log.ts'
import { lockFolder } from '../store/sqlite/files.ts'
import type { Config } from './config.ts'
import { openLedger } from './ledger.ts'
import { openMailStore, openShopStore, receiveLimits, storeFolder } from './stores.ts'
import { startWriter } from './thread.ts'
import { threadJobs } from './thread-jobs.ts'
import type { WriterKind } from './writer.ts'

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

/** The shop first: the ledger of addresses needs its secret. On SQLite, each has a writer, and the directory is locked. */
export async function startStores(config: Config, { versions, now, log, died, closers }: Starting) {
  const folder = storeFolder(config)
  const { mailMaxBytes: maxBytes, smtp, http } = config
  if (folder !== undefined) {
    const fault = createDataDirectory(folder)
    if (fault) throw operatorError('MAYFLY_DATA', fault)
    closers.push(lockFolder(folder))
  }
  const start = async (callers: number, setup: WriterKind) => {
    if (folder === undefined) return NO_WRITER
    const { thread, ports } = await startWriter(callers, { folder, ...setup }, died)
    closers.push(thread.close)
    return { thread, takePort: portTaker(ports) }
  }

  const shopWriter = await start(http.threads + 1, { kind: 'shop' })
  const shop = await openShopStore(config, shopWriter.takePort())
  closers.push(shop.close)

  const ledgerKey = await openLedger(config, { shop, now: now(), log })
  const servers = smtp.threads + http.threads + neededThreads(config).length
  const options = { maxBytes, limits: receiveLimits(config), ledgerKey, versions }
  const mailWriter = await start(servers + 1, { kind: 'mail', ...options })
  const store = await openMailStore(config, { versions, ledgerKey, port: mailWriter.takePort() })
  closers.push(store.close)

  return {
    store,
    shop,
    ledgerKey,
    /** Ports to the writers, a new one per call. */
    takePorts: { mail: mailWriter.takePort, shop: shopWriter.takePort },
    writers: [mailWriter, shopWriter].flatMap(({ thread }) => thread ?? []),
  }
}

const NO_WRITER = { thread: undefined, takePort: () => undefined }

function portTaker(ports: MessagePort[]): () => MessagePort {
  return () => {
    const port = ports.pop()
    if (!port) throw new Error('more callers than ports to a writer')
    return port
  }
}
