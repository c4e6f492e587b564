import { Client } from 'pg'
import type { Postgres } from '../../../../test/postgres.ts'
import { postgresMail } from '../../../../test/postgres-stores.ts'
import { type OpenShareStore, SHARE_LIMITS } from '../../contract/shares.contract.ts'
import { STILL_THERE } from '../shared.ts'

/** A store with the limits of the shares contract, whose rows can be read. */
export async function openShares(postgres: Postgres): Promise<OpenShareStore> {
  const opened = await postgresMail(postgres, { limits: SHARE_LIMITS })
  const client = new Client({ connectionString: opened.url })
  await client.connect()
  return {
    ...opened,
    async query(sql) {
      const text = sql.replaceAll('{mail}', 'mail.').replaceAll('{there}', STILL_THERE)
      return (await client.query<Record<string, unknown>>(text)).rows
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
