import { Problem } from '../../base/problem.ts'
import type { Checksum } from './checksum.ts'
import { type MoveOptions, MoveRefused, type MoveSource, openMoveSource } from './source.ts'
import { openMoveTarget } from './target.ts'

export interface MoveProgress {
  doing: 'copying' | 'comparing'
  rows: number
  bytes: number
  all: { rows: number; bytes: number }
}

export interface Moved {
  tables: { name: string; rows: number; same: boolean }[]
  bytes: number
}

interface Move extends MoveOptions {
  folder: string
  /** URL of PostgreSQL. */
  url: string
  report(progress: MoveProgress): void
}

/**
 * Copies a data folder into PostgreSQL, one transaction per table, and compares the count and the checksum of every table. An
 * interrupted move starts over. The folder is opened first: nothing is created in a database for one that cannot be moved.
 */
export async function moveToPostgres({ folder, url, report, ...options }: Move): Promise<Moved> {
  const source = openMoveSource(folder, options)
  try {
    const target = await openMoveTarget(url)
    try {
      await target.begin(
        source.tables.map(({ name }) => name),
        options.now,
      )
      const tables = await copyAndCompare(source, target, report)
      if (tables.every(({ same }) => same)) await target.finish(source.nextIds, options.now)
      return { tables, bytes: totalOf(source).bytes }
    } catch (error) {
      throw error instanceof Problem ? asInterrupted(error) : error
    } finally {
      await target.close()
    }
  } finally {
    source.close()
  }
}

async function copyAndCompare(
  source: MoveSource,
  target: Awaited<ReturnType<typeof openMoveTarget>>,
  report: Move['report'],
): Promise<Moved['tables']> {
  const all = totalOf(source)
  const progress = { doing: 'copying' as const, rows: 0, bytes: 0, all }
  report({ ...progress })
  const expected = new Map<string, Checksum>()
  for (const { name, read } of source.tables) {
    const checksum = await target.copyTable(name, read(), (rows, bytes) => {
      progress.rows += rows
      progress.bytes += bytes
      report({ ...progress })
    })
    expected.set(name, checksum)
  }
  const tables: Moved['tables'] = []
  let compared = 0
  for (const [name, { rows, sum }] of expected) {
    report({ doing: 'comparing', rows: compared, bytes: 0, all: { ...all, bytes: 0 } })
    const found = await target.checksum(name)
    tables.push({ name, rows: found.rows, same: found.rows === rows && found.sum === sum })
    compared += rows
  }
  return tables
}

function totalOf({ tables }: MoveSource): { rows: number; bytes: number } {
  return tables.reduce(
    (all, { rows, bytes }) => ({ rows: all.rows + rows, bytes: all.bytes + bytes }),
    { rows: 0, bytes: 0 },
  )
}

function asInterrupted(cause: Problem): MoveRefused {
  return new MoveRefused(`The move was interrupted: ${cause.message} Run it again to start over.`, {
    cause,
  })
}
