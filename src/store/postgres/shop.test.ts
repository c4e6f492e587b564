import { afterAll, beforeAll, describe } from 'vitest'
import { openPostgres, type Postgres } from '../../../test/support/postgres.ts'
import { openPostgresTestShop } from '../../../test/support/postgres-stores.ts'
import { keysContract } from '../contract/keys.contract.ts'
import { purchasesContract } from '../contract/purchases.contract.ts'
import { shopMaintenanceContract } from '../contract/shop-maintenance.contract.ts'

let postgres: Postgres

beforeAll(async () => {
  postgres = await openPostgres()
})
afterAll(() => postgres.close())

// Each in a part of its own: a contract opens its store before every test of the part that it stands in.
describe('PostgreSQL', () => {
  const open = () => openPostgresTestShop(postgres)
  describe('keys', () => keysContract(open))
  describe('purchases', () => purchasesContract(open))
  describe('shopkeeping', () => shopMaintenanceContract(open))
})
