import { AHEAD_DAYS } from '../../../src/store/postgres/mail/partition-key.ts'
import { openPostgresMail } from '../../../src/store/postgres/mail-store.ts'
import { openPostgresShop } from '../../../src/store/postgres/shop-store.ts'
import { openPostgres } from '../store/postgres.ts'
import { MAIL_OPTIONS } from '../store/postgres-stores.ts'

/**
 * Starts the server of vitest's project `postgres`, with a migrated database to copy. Returns a function that stops it. The
 * database has the partitions of the days ahead: each service would create them, which takes longer than the rest of its start.
 */
export async function setup(): Promise<() => Promise<void>> {
  const postgres = await openPostgres()
  await postgres.run('create database mayfly template template0')
  const url = postgres.urlOf('mayfly')
  const mail = await openPostgresMail({ ...MAIL_OPTIONS, url, aheadDays: AHEAD_DAYS })
  const { poolMs, operatorMs } = MAIL_OPTIONS
  while (
    await mail.sweep({
      now: new Date(),
      cooldownMs: poolMs,
      poolMs,
      operatorMs,
      ownMs: poolMs,
      mailLogMs: poolMs,
    })
  );
  const shop = await openPostgresShop({ url })
  for (const store of [mail, shop]) await store.close()
  process.env['MAYFLY_TEST_POSTGRES'] = postgres.urlOf('postgres')
  return () => postgres.close()
}
