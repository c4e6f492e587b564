import { join } from 'node:path'
import Database from 'better-sqlite3'
import { Client } from 'pg'
import type { Config } from '../../../src/runtime/config.ts'
import type { Kind } from '../../../src/store/schema.ts'

/** Runs SQL that both engines understand while a service runs, for changes that no API of ours makes. */
export async function runSql(
  { config }: { config: Pick<Config, 'data' | 'store'> },
  kind: 'mail' | 'shop',
  sql: string,
): Promise<unknown[]> {
  if (config.store === 'sqlite:') {
    const db = new Database(join(config.data, `${kind}.db`))
    try {
      const statement = db.prepare(sql)
      return statement.reader ? statement.all() : [statement.run()]
    } finally {
      db.close()
    }
  }
  const client = new Client({ connectionString: config.store })
  await client.connect()
  try {
    await client.query(`set search_path = ${kind}`)
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

/** Changes the schema version recorded in a store. Returns the previous one. */
export async function setSchemaVersion(
  { store, data }: Pick<Config, 'store' | 'data'>,
  kind: Kind,
  version: number,
): Promise<number> {
  if (store === 'sqlite:') {
    const db = new Database(join(data, `${kind}.db`))
    const before = Number(db.pragma('user_version', { simple: true }))
    db.pragma(`user_version = ${version}`)
    db.close()
    return before
  }
  const client = new Client({ connectionString: store })
  await client.connect()
  const { rows } = await client.query<{ version: number }>(
    `select version from ${kind}.schema_version`,
  )
  await client.query(`update ${kind}.schema_version set version = $1`, [version])
  await client.end()
  return rows[0]?.version ?? 0
}
