import type { Kind } from '../schema.ts'
import { migrate } from './migrate.ts'
import { refuseHalfMoved } from './move-record.ts'
import { openPool, type Pool, type PoolOptions } from './connections.ts'
import { asUnfit, checkServer } from './server.ts'

export interface ReadyPoolOptions extends PoolOptions {
  /** Whether an older schema is brought to the newest version or refused. */
  upgrade?: boolean
}

/** Connections to a server that keeps what it says, with the newest schema of this kind. */
export async function openReadyPool(options: ReadyPoolOptions, kind: Kind): Promise<Pool> {
  const pool = openPool(options)
  try {
    await checkServer(pool)
    await migrate(pool, kind, options.url, options)
    await refuseHalfMoved(pool)
    return pool
  } catch (error) {
    await pool.close()
    throw asUnfit(error)
  }
}
