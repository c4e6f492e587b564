import { join } from 'node:path'
import Database from 'better-sqlite3'
import { Client } from 'pg'
import type { Config } from '../src/config/config.ts'
import type { Kind } from '../src/store/schema.ts'

/** Makes a store claim another schema than it has. Returns which it claimed before. */
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
