import { join } from 'node:path'
import type { ShopStore } from '../store.ts'
import { openReadable, SHOP_FILE } from './files.ts'
import type { Write } from './group-commit.ts'
import { keyReads, type ShopWrites } from './keys.ts'

/** The shop as one thread sees it. Keys are read at each request, so that a revoke counts at once. */
export function openSqliteShop(folder: string, write: Write<ShopWrites>): ShopStore {
  const db = openReadable(join(folder, SHOP_FILE))
  const { findKey } = keyReads(db)

  return {
    addKey: (key) => write('addKey', key),
    findKey: async (secretHash, now) => findKey(secretHash, now),
    revokeKey: (keyId) => write('revokeKey', keyId),
    spendRequest: (keyId, now) => write('spendRequest', { keyId, now }),
    returnRequest: (keyId, spentAt) => write('returnRequest', { keyId, now: spentAt }),
    async close() {
      db.close()
    },
  }
}
