import { hash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Row } from '../../core/row-sum.ts'
import { type Key, type MoveBatch, MoveRefused, type MoveSource } from '../moving.ts'
import { type Kind, NewerSchema } from '../schema.ts'
import { isCorruption } from './backup.ts'
import { type Db, FolderInUse, lockFolder, openReadOnly } from './files.ts'
import { DamagedFile, latestSchema } from './migrate.ts'
import { factsOf, type MoveQuery, mailQueries, prepareMail, shopQueries } from './move-queries.ts'

/** A data folder at rest: nobody serves it meanwhile, and nothing is written to what it keeps. */
export function openMoveSource(folder: string): MoveSource {
  for (const kind of ['mail', 'shop']) {
    if (existsSync(join(folder, `${kind}.db`))) continue
    throw new MoveRefused(`There is no ${kind}.db in ${folder}: name the folder of MAYFLY_DATA.`)
  }
  const unlock = lockAtRest(folder)
  const files: Db[] = []
  const close = () => {
    for (const db of files) db.close()
    unlock()
  }
  try {
    for (const kind of ['shop', 'mail'] as const) files.push(openAtRest(folder, kind))
    return { ...sourceOf(files), close }
  } catch (error) {
    close()
    throw error
  }
}

function sourceOf([shop, mail]: Db[]): Omit<MoveSource, 'close'> {
  if (!shop || !mail) throw new Error('both files are open')
  prepareMail(mail)
  // The shop first: it is small, and what is worth most.
  const queries = [...shopQueries(shop), ...mailQueries(mail)]
  const tables = queries.map(({ db, name, total }) => {
    const sizes = db.prepare<[], { rows: number; bytes: number }>(total).get()
    return { name, rows: sizes?.rows ?? 0, bytes: sizes?.bytes ?? 0 }
  })
  const { print, nextIds } = factsOf(shop, mail)
  return {
    print: hash('sha256', JSON.stringify([tables, print]), 'base64url'),
    tables,
    nextIds,
    batches(table, options = {}) {
      const query = queries.find(({ name }) => name === table)
      if (!query) throw new Error(`${table} is not kept here`)
      return batches(query, options)
    },
  }
}

const MOST_ROWS = 500
const MOST_BYTES = 8_000_000

function* batches(
  { db, key, columns, checked = columns, from }: MoveQuery,
  { after, toCheck = false }: { after?: Key; toCheck?: boolean },
): Generator<MoveBatch> {
  const select = `select ${toCheck ? checked : columns} from ${from}`
  const marks = key.map(() => '?').join(', ')
  const rest = `order by ${key.join(', ')} limit ${MOST_ROWS}`
  const first = db.prepare<[], Row>(`${select} ${rest}`)
  const next = db.prepare<(string | number)[], Row>(
    `${select} where (${key.join(', ')}) > (${marks}) ${rest}`,
  )
  for (let last = after; ; ) {
    const rows: Row[] = []
    let size = 0
    for (const row of last ? next.iterate(...last) : first.iterate()) {
      rows.push(row)
      size += sizeOf(row)
      if (size >= MOST_BYTES) break
    }
    const end = rows.at(-1)
    if (!end) return
    last = key.map((column) => end[column.replace(/^\w+\./, '')] as string | number)
    yield { rows, bytes: bytesOf(rows), last }
  }
}

function sizeOf(row: Row): number {
  return Object.values(row).reduce<number>(
    (size, value) => size + (typeof value === 'number' ? 8 : (value?.length ?? 0)),
    0,
  )
}

function bytesOf(rows: readonly Row[]): number {
  const all = rows.flatMap((row) => Object.values(row))
  return all.reduce<number>(
    (bytes, value) => bytes + (value instanceof Uint8Array ? value.length : 0),
    0,
  )
}

function lockAtRest(folder: string): () => void {
  try {
    return lockFolder(folder)
  } catch (cause) {
    if (!(cause instanceof FolderInUse)) throw cause
    throw new MoveRefused(
      `A mayfly serves ${folder}, or moves it already. Stop it first: what moves must stand still.`,
      { cause },
    )
  }
}

/** One moment of the file: a command that writes beside us is not seen. */
function openAtRest(folder: string, kind: Kind): Db {
  const db = openReadOnly(join(folder, `${kind}.db`))
  try {
    db.exec('begin')
    const at = Number(db.pragma('user_version', { simple: true }))
    const known = latestSchema(kind)
    if (at > known) throw new NewerSchema(`${kind}.db`, at, known)
    if (at < known) {
      throw new MoveRefused(
        `${kind}.db has schema ${at}, this program moves ${known}. Start and stop the service once on ${folder}, or on a copy of it, which brings it up to date.`,
      )
    }
    return db
  } catch (cause) {
    db.close()
    throw isCorruption(cause) ? new DamagedFile(kind, { cause }) : cause
  }
}
