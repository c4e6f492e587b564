import { Client } from 'pg'
import type { Postgres } from '../../../../test/kit/store/postgres.ts'
import { openPostgresTestMail } from '../../../../test/kit/store/postgres-stores.ts'
import { type OpenShareStore, SHARE_LIMITS } from '../../contract/shares.contract.ts'

const openOwn = (postgres: Postgres) => openPostgresTestMail(postgres, { limits: SHARE_LIMITS })

/** A store with the limits of the shares contract, whose rows can be read. */
export async function openShares(
  postgres: Postgres,
  open = openOwn,
): Promise<OpenShareStore & { url: string }> {
  const opened = await open(postgres)
  const client = new Client({ connectionString: opened.url })
  await client.connect()
  return {
    ...opened,
    async query(sql) {
      return (await client.query<Record<string, unknown>>(sql.replaceAll('{mail}', 'mail.'))).rows
    },
    async execute(sql) {
      await client.query(sql.replaceAll('{mail}', 'mail.'))
    },
    async close() {
      await client.end()
      await opened.close()
    },
  }
}
