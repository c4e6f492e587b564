import type { Config } from '../config/config.ts'
import { Problem } from '../core/problem.ts'
import { type Moved, type MoveProgress, moveUp } from '../service/background/move-up.ts'
import { MoveRefused } from '../store/moving.ts'
import { openMoveTarget } from '../store/postgres/move-target.ts'
import { openMoveSource } from '../store/sqlite/move-source.ts'
import { OPERATOR_MAIL_MS } from './stores.ts'

/** Moves a data folder into a PostgreSQL. The folder is looked at first: nothing is made in a database for one that cannot go. */
export async function moveFolder(
  config: Config,
  { folder, url }: { folder: string; url: string },
  told: (progress: MoveProgress) => void,
): Promise<Moved> {
  const now = () => new Date()
  const source = openMoveSource(folder)
  try {
    const keeping = { poolMs: config.pool.ttlMs, operatorMs: OPERATOR_MAIL_MS }
    const target = await openMoveTarget({ url, now: now(), ...keeping })
    try {
      return await moveUp({ source, target, now, told })
    } catch (error) {
      throw error instanceof Problem ? interrupted(error) : error
    } finally {
      await target.close()
    }
  } finally {
    source.close()
  }
}

function interrupted(cause: Problem): MoveRefused {
  return new MoveRefused(
    `The move stopped: ${cause.message} Run the same command again, and it goes on where it was.`,
    { cause },
  )
}
