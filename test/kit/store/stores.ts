import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MessageChannel } from 'node:worker_threads'
import type { ReceiveLimits } from '../../../src/mail/rules/recipient.ts'
import { openCaller } from '../../../src/runtime/ports.ts'
import { startWriter } from '../../../src/runtime/thread.ts'
import { openWriter, type WriterSetup } from '../../../src/runtime/writer.ts'
import { openPostgresShop } from '../../../src/store/postgres/shop-store.ts'
import { openSqliteMail } from '../../../src/store/sqlite/mail-store.ts'
import { makeVersions, openVersions } from '../../../src/store/sqlite/mailbox-cache.ts'
import { openMigrated } from '../../../src/store/sqlite/migrate.ts'
import { openSqliteShop } from '../../../src/store/sqlite/shop-store.ts'
import type { ShopStore, Store } from '../../../src/store/store.ts'
import { KNOWN_LEDGER, LEDGER_KEY } from './address-ledger.ts'
import { storeFor } from './engine.ts'
import { MAIL_OPTIONS, openNewPostgresMail } from './postgres-stores.ts'

/** For tempFolder: in vitest, the default is in memory. */
export const DISK = '/var/tmp'

export function tempFolder(parent = tmpdir()): { path: string; remove(): void } {
  const path = mkdtempSync(join(parent, 'mayfly-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

/**
 * The writer of a new database with its real channels, but in this thread: a thread would take most of the time of many
 * tests. Tests of the whole service (app.ts) and startTestWriter use threads.
 */
function openTestWriter(callers: number, setup: WriterSetup) {
  makeDatabase(setup)
  const channels = Array.from({ length: callers }, () => new MessageChannel())
  const writer = openWriter({ ...setup, ports: channels.map(({ port1 }) => port1) })
  return { calls: channels.map(({ port2 }) => openCaller(port2)), close: writer.close }
}

function makeDatabase({ folder, kind }: WriterSetup): void {
  const db = openMigrated(folder, kind)
  if (kind === 'mail') db.exec(KNOWN_LEDGER)
  db.close()
}

/** The same in a thread of its own. */
export async function startTestWriter(callers: number, setup: WriterSetup) {
  makeDatabase(setup)
  const { thread, ports } = await startWriter(callers, setup, (fault) => {
    throw fault
  })
  return { calls: ports.map(openCaller), close: thread.close }
}

/** A temporary SQLite mail store, opened by two readers, as by two threads. */
export async function openSqliteTestMail(
  limits = {
    mailbox: { maxMessages: 5, maxBytes: 10_000 },
    poolMaxBytes: 20_000,
    ownMaxBytes: 20_000,
    maxMailBytes: 1_000,
  },
  open: typeof openTestWriter | typeof startTestWriter = openTestWriter,
): Promise<{ store: Store; other: Store; folder: string; close(): Promise<void> }> {
  const folder = tempFolder()
  const versions = makeVersions()
  const options = { folder: folder.path, limits, ledgerKey: LEDGER_KEY }
  const setup = { kind: 'mail', maxBytes: 'auto', versions, ...options } as const
  const writer = await open(2, setup)
  const [store, other] = writer.calls.map((write) =>
    openSqliteMail({ minFreeBytes: 0, write, versions: openVersions(versions), ...options }),
  )
  if (!store || !other) throw new Error('two callers were requested')
  return {
    store,
    other,
    folder: folder.path,
    async close() {
      await store.close()
      await other.close()
      await writer.close()
      folder.remove()
    },
  }
}

/** A temporary SQLite shop store. */
export async function openSqliteTestShop(): Promise<{ store: ShopStore; close(): Promise<void> }> {
  const folder = tempFolder()
  const writer = openTestWriter(1, { kind: 'shop', folder: folder.path })
  const [write] = writer.calls
  if (!write) throw new Error('one caller was requested')
  const store = openSqliteShop(folder.path, write)
  return {
    store,
    async close() {
      await store.close()
      writer.close()
      folder.remove()
    },
  }
}

/** Both stores, on the engine of this run. */
export async function openTestStores(limits: ReceiveLimits): Promise<{
  store: Store
  shop: ShopStore
  close(): Promise<void>
}> {
  const folder = tempFolder()
  const url = await storeFor(folder.path)
  folder.remove()
  const [mail, shop] =
    url === 'sqlite:'
      ? [await openSqliteTestMail(limits), await openSqliteTestShop()]
      : await Promise.all([
          openNewPostgresMail({ ...MAIL_OPTIONS, url, limits }).then(closable),
          openPostgresShop({ url }).then(closable),
        ])
  return {
    store: mail.store,
    shop: shop.store,
    async close() {
      await mail.close()
      await shop.close()
    },
  }
}

function closable<Store extends { close(): Promise<void> }>(store: Store) {
  return { store, close: () => store.close() }
}
