import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ReceiveLimits } from '../../src/core/recipient.ts'
import { openCaller } from '../../src/runtime/ports.ts'
import { startWriter } from '../../src/runtime/thread.ts'
import { openPostgresMail } from '../../src/store/postgres/mail-store.ts'
import { openPostgresShop } from '../../src/store/postgres/shop-store.ts'
import type { ShopStore } from '../../src/store/shop-store.ts'
import { openSqliteMail } from '../../src/store/sqlite/mail-store.ts'
import { makeVersions, openVersions } from '../../src/store/sqlite/session-cache.ts'
import { openSqliteShop } from '../../src/store/sqlite/shop-store.ts'
import type { MailStore } from '../../src/store/store.ts'
import { storeFor } from './engine.ts'
import { MAIL_OPTIONS } from './postgres-stores.ts'

export function tempFolder(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'mayfly-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

function died(fault: Error): never {
  throw fault
}

/** A temporary SQLite mail store with its real writer thread, opened by two readers, as by two threads. */
export async function openSqliteTestMail(
  limits = {
    mailbox: { maxMessages: 5, maxBytes: 10_000 },
    poolMaxBytes: 20_000,
    maxMailBytes: 1_000,
  },
): Promise<{ store: MailStore; other: MailStore; folder: string; close(): Promise<void> }> {
  const folder = tempFolder()
  const versions = makeVersions()
  const setup = { kind: 'mail', folder: folder.path, maxBytes: 'auto', limits, versions } as const
  const writer = await startWriter(2, setup, died)
  const [store, other] = writer.ports.map((port) =>
    openSqliteMail({
      folder: folder.path,
      minFreeBytes: 0,
      write: openCaller(port),
      versions: openVersions(versions),
      limits,
    }),
  )
  if (!store || !other) throw new Error('two ports were asked for')
  return {
    store,
    other,
    folder: folder.path,
    async close() {
      await store.close()
      await other.close()
      await writer.thread.close()
      folder.remove()
    },
  }
}

/** A temporary SQLite shop store with its real writer thread. */
export async function openSqliteTestShop(): Promise<{ store: ShopStore; close(): Promise<void> }> {
  const folder = tempFolder()
  const { thread, ports } = await startWriter(1, { kind: 'shop', folder: folder.path }, died)
  const [port] = ports
  if (!port) throw new Error('one port was asked for')
  const store = openSqliteShop(folder.path, openCaller(port))
  return {
    store,
    async close() {
      await store.close()
      await thread.close()
      folder.remove()
    },
  }
}

/** Both stores, on the engine of this run. */
export async function openTestStores(limits: ReceiveLimits): Promise<{
  store: MailStore
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
          openPostgresMail({ ...MAIL_OPTIONS, url, limits }).then(closable),
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
