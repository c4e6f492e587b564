import { mkdirSync } from 'node:fs'
import type { Config } from '../config.ts'
import type { Db } from '../store/sqlite/files.ts'
import { groupCommit, type Write } from '../store/sqlite/group-commit.ts'
import { allMailWrites, type MailWrites, openSqliteMail } from '../store/sqlite/mail-store.ts'
import { openMigrated } from '../store/sqlite/migrate.ts'
import { allShopWrites, openSqliteShop, type ShopWrites } from '../store/sqlite/shop-store.ts'
import { makeVersions, openVersions } from '../store/sqlite/versions.ts'
import type { MailStore, ShopStore } from '../store/store.ts'
import { receiveLimits } from './setup.ts'

/** What the service's threads look at anew each time. About sessions and messages they trust their own writer alone. */
export type StoreBeside = Omit<
  MailStore,
  | 'createSession'
  | 'findSession'
  | 'extendSession'
  | 'reviveSession'
  | 'endSession'
  | 'addMail'
  | 'deleteMessage'
  | 'sweep'
>

/** The mail store of a command that runs beside the service: it writes in short transactions of its own. */
export function openMailBeside(config: Config): StoreBeside {
  const { data: folder, minFreeBytes } = config
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const db = openMigrated(folder, 'mail')
  const versions = openVersions(makeVersions())
  const commit = groupCommit(
    db,
    allMailWrites(db, receiveLimits(config), Math.random),
    versions.add,
  )

  const store = openSqliteMail({
    folder,
    minFreeBytes,
    write: writeAlone(commit) as Write<MailWrites>,
    versions,
  })
  return closingBoth(store, db)
}

/** The same for the shop. Keys are read at each request, so the service's threads see every change at once. */
export function openShopBeside({ data: folder }: Pick<Config, 'data'>): ShopStore {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const db = openMigrated(folder, 'shop')
  const { writes, batches } = allShopWrites(db)
  const commit = groupCommit(db, writes, () => {}, batches)
  return closingBoth(openSqliteShop(folder, writeAlone(commit) as Write<ShopWrites>), db)
}

/** Each write is a group of its own: one short IMMEDIATE transaction, for which the service's writer waits its turn. */
function writeAlone(commit: ReturnType<typeof groupCommit>) {
  return async (name: string, value: unknown) => {
    const [outcome] = commit([{ name, value }])
    if (!outcome || 'error' in outcome) throw outcome?.error
    return outcome.result
  }
}

function closingBoth<Store extends { close(): Promise<void> }>(store: Store, db: Db): Store {
  return {
    ...store,
    async close() {
      await store.close()
      db.close()
    },
  }
}
