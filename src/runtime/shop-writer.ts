import { join } from 'node:path'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { openWritable, SHOP_FILE } from '../store/sqlite/files.ts'
import { groupCommit } from '../store/sqlite/group-commit.ts'
import { allShopWrites } from '../store/sqlite/shop-store.ts'
import { serve } from './ports.ts'
import { serveGroups } from './serve-groups.ts'

// Owns the only writable connection to shop.db.

interface ShopWriterSetup {
  folder: string
  ports: MessagePort[]
}

const setup: ShopWriterSetup = workerData
const db = openWritable(join(setup.folder, SHOP_FILE))
const { writes, batches } = allShopWrites(db)
serveGroups(
  setup.ports,
  groupCommit(db, writes, () => {}, batches),
)

if (parentPort) {
  serve(parentPort, {
    ready: () => true,
    close() {
      for (const port of setup.ports) port.close()
      db.close()
      parentPort?.unref()
    },
  })
}
