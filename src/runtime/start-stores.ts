import type { MessagePort } from 'node:worker_threads'
import type { Log } from '../base/log/log.ts'
import { lockFolder } from '../store/sqlite/files.ts'
import type { ShopStore, Store } from '../store/store.ts'
import type { Config } from './config.ts'
import { openLedger } from './ledger.ts'
import { openMailStore, openShopStore, receiveLimits, usesPostgres } from './stores.ts'
import { startWriter, type Thread } from './thread.ts'
import type { WriterSetup } from './writer.ts'

/** Ports to the writers, a new one per call. */
export interface TakePorts {
  mail(): MessagePort | undefined
  shop(): MessagePort | undefined
}

interface Starting {
  versions: SharedArrayBuffer
  now(): Date
  log: Log
  died(fault: Error): void
  /** What is started is added. */
  closers: (() => unknown)[]
}

interface StartedStores {
  store: Store
  shop: ShopStore
  ledgerKey: Uint8Array
  takePorts: TakePorts
  writers: Thread[]
}

export const hasImapAccounts = ({ gmailAccounts }: Config) => gmailAccounts.length > 0

/** The shop first: the ledger of addresses needs its secret. On SQLite, each has a writer, and the directory is locked. */
export async function startStores(
  config: Config,
  { versions, now, log, died, closers }: Starting,
): Promise<StartedStores> {
  const isSqlite = !usesPostgres(config)
  const { data: folder, mailMaxBytes: maxBytes, smtp, http } = config
  if (isSqlite) closers.push(lockFolder(folder))
  const start = async (callers: number, setup: WriterSetup) => {
    const { thread, ports } = await startWriter(callers, setup, died)
    closers.push(thread.close)
    return { thread, takePort: portTaker(ports) }
  }

  const shopWriter = isSqlite ? await start(http.threads + 1, { kind: 'shop', folder }) : NO_WRITER
  const shop = await openShopStore(config, shopWriter.takePort())
  closers.push(shop.close)

  const ledgerKey = await openLedger(config, { shop, now: now(), log })
  const servers = smtp.threads + http.threads + (hasImapAccounts(config) ? 1 : 0)
  const options = { folder, maxBytes, limits: receiveLimits(config), ledgerKey, versions }
  const mailWriter = isSqlite ? await start(servers + 1, { kind: 'mail', ...options }) : NO_WRITER
  const store = await openMailStore(config, { versions, ledgerKey, port: mailWriter.takePort() })
  closers.push(store.close)

  return {
    store,
    shop,
    ledgerKey,
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
