import { isSameSum, NO_ROWS, plusRows } from '../../core/row-sum.ts'
import type { MovePlace, MoveSource, MoveTable, MoveTarget } from '../../store/moving.ts'

export interface MoveProgress {
  doing: 'copying' | 'comparing'
  rows: number
  bytes: number
  all: { rows: number; bytes: number }
}

interface MovedTable {
  name: string
  rows: number
  /** Whether both sides have the same rows. */
  same: boolean
}

export interface Moved {
  tables: MovedTable[]
  bytes: number
  /** False when all of it had been moved before: then it was only compared. */
  copied: boolean
}

interface Deps {
  source: MoveSource
  target: MoveTarget
  now(): Date
  told(progress: MoveProgress): void
}

/** Copies all that one engine keeps into another, from where a former try was stopped, and compares both row by row. */
export async function moveUp(deps: Deps): Promise<Moved> {
  const { source, target, now } = deps
  const { place, finished } = await target.begin(source)
  if (!finished) {
    await copy(deps, place)
    await target.setNextIds(source.nextIds)
  }
  const tables = await compare(deps)
  if (!finished && tables.every(({ same }) => same)) await target.finish(now())
  return { tables, bytes: totalOf(source.tables).bytes, copied: !finished }
}

async function copy({ source, target, told }: Deps, from: MovePlace | undefined): Promise<void> {
  const { tables } = source
  const all = totalOf(tables)
  const first = from ? tables.findIndex(({ name }) => name === from.table) : 0
  const before = totalOf(tables.slice(0, first))
  const progress = {
    rows: before.rows + (from?.rows ?? 0),
    bytes: before.bytes + (from?.bytes ?? 0),
  }
  told({ doing: 'copying', ...progress, all })
  for (const { name } of tables.slice(first)) {
    const start = from?.table === name ? from : { rows: 0, bytes: 0 }
    let { rows, bytes } = start
    const options = 'after' in start ? { after: start.after } : {}
    for (const batch of source.batches(name, options)) {
      rows += batch.rows.length
      bytes += batch.bytes
      await target.put(name, batch, { table: name, after: batch.last, rows, bytes })
      progress.rows += batch.rows.length
      progress.bytes += batch.bytes
      told({ doing: 'copying', ...progress, all })
    }
  }
}

async function compare(deps: Deps): Promise<MovedTable[]> {
  const { source, told } = deps
  const all = totalOf(source.tables)
  const progress = { rows: 0, bytes: 0 }
  const tell = (rows: number, bytes: number) => {
    progress.rows += rows
    progress.bytes += bytes
    told({ doing: 'comparing', ...progress, all })
  }
  tell(0, 0)
  const compared: MovedTable[] = []
  for (const { name } of source.tables) compared.push(await compareTable({ ...deps, tell }, name))
  return compared
}

/** Both sides in step, each in its own order: it makes no difference to the sums. */
async function compareTable(
  { source, target, tell }: Deps & { tell: (rows: number, bytes: number) => void },
  name: string,
): Promise<MovedTable> {
  const pages = target.pages(name)[Symbol.asyncIterator]()
  let [here, there] = [NO_ROWS, NO_ROWS]
  for (const { rows, bytes } of source.batches(name, { toCheck: true })) {
    // The server looks for its rows while we add up ours.
    const page = pages.next()
    here = plusRows(here, target.shaped(name, rows))
    const { value = [] } = await page
    there = plusRows(there, value)
    tell(rows.length, bytes)
  }
  for (let page = await pages.next(); !page.done; page = await pages.next()) {
    there = plusRows(there, page.value)
  }
  return { name, rows: there.rows, same: isSameSum(here, there) }
}

function totalOf(tables: readonly MoveTable[]): { rows: number; bytes: number } {
  return tables.reduce(
    (all, { rows, bytes }) => ({ rows: all.rows + rows, bytes: all.bytes + bytes }),
    { rows: 0, bytes: 0 },
  )
}
