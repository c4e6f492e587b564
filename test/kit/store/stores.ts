import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ReceiveLimits } from '../../../src/mail/rules/recipient.ts'
import type { MailWriterSetup } from '../../../src/runtime/mail-writer.ts'
import { openCaller } from '../../../src/runtime/ports.ts'
import { serveWrites } from '../../../src/runtime/serve-writes.ts'
import { openPorts, startMailWriter } from '../../../src/runtime/thread.ts'
import { openPostgresShop } from '../../../src/store/postgres/shop-store.ts'
import { type Db, MAIL_FILE, openWritable, SHOP_FILE } from '../../../src/store/sqlite/files.ts'
import { openMailWriter, openSqliteMail } from '../../../src/store/sqlite/mail-store.ts'
import { makeVersions, openVersions } from '../../../src/store/sqlite/mailbox-cache.ts'
import { openMigrated } from '../../../src/store/sqlite/migrate.ts'
import { openShopWriter, openSqliteShop } from '../../../src/store/sqlite/shop-store.ts'
import type { ShopStore, Store } from '../../../src/store/store.ts'
import { KNOWN_LEDGER, LEDGER_KEY } from './address-ledger.ts'
import { storeFor } from './engine.ts'
import { MAIL_OPTIONS, openNewPostgresMail } from './postgres-stores.ts'

/** For tempFolder: in vitest, the default is in memory. */
export const DISK = '/var/tmp'

export function tempFolder(parent = tmpdir()): { path: string; remove(): void } {
  const path = mkdtempSync(join(parent, 'mayfly-'))
  folders.add(path)
  return { path, remove: () => removeFolder(path) }
}

const folders = new Set<string>()

function removeFolder(path: string): void {
  // A process that ends with this one may still create files in it.
  rmSync(path, { recursive: true, force: true, maxRetries: 10 })
  folders.delete(path)
}

/** Those that an abort has left. */
export function removeTempFolders(): void {
  for (const path of folders) removeFolder(path)
}

/**
 * The writer of a new mail.db with its real channels, but in this thread: a thread would take most of the time of many
 * tests. Tests of the whole service (app.ts) and startTestWriter use threads.
 */
function openTestWriter(callers: number, setup: MailWriterSetup) {
  const { folder, versions, ...options } = setup
  makeMailDatabase(folder)
  const db = openWritable(join(folder, MAIL_FILE))
  return serveHere(callers, db, openMailWriter(db, openVersions(versions), options))
}

function serveHere(callers: number, db: Db, commit: Parameters<typeof serveWrites>[1]) {
  const { served, ports } = openPorts(callers)
  const writer = serveWrites(db, commit, served)
  return { calls: ports.map(openCaller), close: writer.close }
}

let emptyMail: Buffer | undefined

/** A copy of one that was migrated: the migrations would take longer than many tests. */
function makeMailDatabase(folder: string): void {
  emptyMail ??= migratedMail(folder)
  writeFileSync(join(folder, MAIL_FILE), emptyMail)
}

function migratedMail(folder: string): Buffer {
  const db = openMigrated(folder, 'mail')
  db.exec(KNOWN_LEDGER)
  db.close()
  return readFileSync(join(folder, MAIL_FILE))
}

/** The same in a thread of its own. */
export async function startTestWriter(callers: number, setup: MailWriterSetup) {
  makeMailDatabase(setup.folder)
  const { thread, ports } = await startMailWriter(callers, setup, {
    died(fault) {
      throw fault
    },
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
  const setup = { maxBytes: 'auto', versions, ...options } as const
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
  openMigrated(folder.path, 'shop').close()
  const db = openWritable(join(folder.path, SHOP_FILE))
  const writer = serveHere(1, db, openShopWriter(db))
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
