import type { Kind } from '../schema.ts'
import { migrate } from './migrate.ts'
import { refuseHalfMoved } from './move-record.ts'
import { openPool, type Pool, type PoolOptions } from './pool.ts'
import { asUnfit, checkServer } from './server.ts'

/** Connections to a server that keeps what it says, with the newest schema of this kind. */
export async function openReadyPool(options: PoolOptions, kind: Kind): Promise<Pool> {
  const pool = openPool(options)
  try {
    await checkServer(pool)
    await migrate(pool, kind, options.url)
    await refuseHalfMoved(pool)
    return pool
  } catch (error) {
    await pool.close()
    throw asUnfit(error)
  }
}
