import { join } from 'node:path'
import Database from 'better-sqlite3'
import { Client } from 'pg'
import type { Config } from '../src/config/config.ts'

/** SQL beside a running service, in words that both engines know: for what no deed of ours does. */
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
