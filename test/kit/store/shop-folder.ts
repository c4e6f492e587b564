import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { issueKey } from '../../../src/keys/keys.ts'
import { openShopStoreForCli } from '../../../src/runtime/stores.ts'
import { PLANS, type Plan } from '../../../src/shared/plan.ts'
import { writeBackup } from '../../../src/store/backup/backup.ts'
import { openMigrated } from '../../../src/store/sqlite/migrate.ts'
import type { ShopStore } from '../../../src/store/store.ts'
import { tempFolder } from './stores.ts'

export const NOON = new Date('2026-03-01T12:00:00Z')
const [starter] = PLANS as [Plan, Plan]

/** A data folder with a shop, and a path for its backup next to it. */
export function shopFolder() {
  const scratch = tempFolder()
  const data = join(scratch.path, 'data')
  const file = join(scratch.path, 'backup.db')
  mkdirSync(data, { mode: 0o700 })
  openMigrated(data, 'shop').close()

  return {
    path: scratch.path,
    data,
    file,
    backup: (target = file, force = false) => writeBackup(data, target, { force, tell: () => {} }),
    issue: () => inShop(data, issueIn),
    remove: scratch.remove,
  }
}

/** Adds a key; returns its id. */
export async function issueIn(shop: ShopStore): Promise<string> {
  const deps = { shop, now: () => NOON, randomBytes }
  return (await issueKey(deps, { plan: starter, label: '', mode: 'live' })).key.id
}

/** The ids of all keys in a folder. */
export function keyIds(data: string): Promise<string[]> {
  return inShop(data, async (store) =>
    (await store.listKeys({ now: NOON, limit: 100 })).map(({ id }) => id).sort(),
  )
}

export async function inShop<T>(
  data: string,
  operation: (store: ShopStore) => Promise<T>,
): Promise<T> {
  const store = await openShopStoreForCli({ data, store: 'sqlite:' })
  try {
    return await operation(store)
  } finally {
    await store.close()
  }
}

/** The bytes of every file in a folder, for comparison. */
export function bytesIn(folder: string): Record<string, string> {
  const names = readdirSync(folder).filter((name) => name !== 'lock.db')
  return Object.fromEntries(
    names.sort().map((name) => [name, readFileSync(join(folder, name)).toString('base64')]),
  )
}
