import { openPostgresMail } from '../../src/store/postgres/mail-store.ts'
import { openPostgresShop } from '../../src/store/postgres/shop-store.ts'
import { openPostgres } from '../support/postgres.ts'
import { MAIL_OPTIONS } from '../support/postgres-stores.ts'

/** Starts the server of vitest's project `postgres`, with a migrated database to copy. Returns a function that stops it. */
export async function setup(): Promise<() => Promise<void>> {
  const postgres = await openPostgres()
  await postgres.run('create database mayfly template template0')
  const url = postgres.urlOf('mayfly')
  const stores = [await openPostgresMail({ ...MAIL_OPTIONS, url }), await openPostgresShop({ url })]
  for (const store of stores) await store.close()
  process.env['MAYFLY_TEST_POSTGRES'] = postgres.urlOf('postgres')
  return () => postgres.close()
}
