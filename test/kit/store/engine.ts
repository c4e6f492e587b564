import { Client } from 'pg'

// Some suites run twice: on SQLite, and in vitest's project `postgres` on a server that all its files share
// (test/kit/global/postgres.ts).

const { MAYFLY_TEST_ENGINE, MAYFLY_TEST_POSTGRES: server = '' } = process.env

export const engine = MAYFLY_TEST_ENGINE === 'postgres' ? 'postgres' : 'sqlite'

const databases = new Map<string, Promise<string>>()
let created = 0

/** The value of MAYFLY_STORE for a service in this folder. A service restarted there finds its data again. */
export async function storeFor(folder: string): Promise<string> {
  if (engine !== 'postgres') return 'sqlite:'
  const database = databases.get(folder) ?? createDatabase('app', 'mayfly')
  databases.set(folder, database)
  return await database
}

/** Restores this SQL into a new database of the shared server; returns its MAYFLY_STORE. */
export async function restoreDatabase(sql: string): Promise<string> {
  const url = await createDatabase('restored', 'template0')
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(sql)
  await client.end()
  return url
}

async function createDatabase(prefix: string, template: string): Promise<string> {
  created += 1
  const name = `${prefix}_${process.pid}_${created}`
  const client = new Client({ connectionString: server })
  await client.connect()
  await client.query(`create database ${name} template ${template}`)
  await client.end()
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}
