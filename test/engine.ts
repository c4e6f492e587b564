import { Client } from 'pg'

// The suites of the doors run twice: on SQLite, and as vitest's project `postgres` on a server that all its files share
// (test/shared-postgres.ts).

const { MAYFLY_TEST_ENGINE: engine, MAYFLY_TEST_POSTGRES: server = '' } = process.env

const databases = new Map<string, Promise<string>>()

/** What MAYFLY_STORE is for a house in this folder: a house that is opened there again finds what it left. */
export async function storeFor(folder: string): Promise<string> {
  if (engine !== 'postgres') return 'sqlite:'
  const database = databases.get(folder) ?? makeDatabase()
  databases.set(folder, database)
  return await database
}

async function makeDatabase(): Promise<string> {
  const name = `house_${process.pid}_${databases.size}`
  const client = new Client({ connectionString: server })
  await client.connect()
  await client.query(`create database ${name} template mayfly`)
  await client.end()
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}
