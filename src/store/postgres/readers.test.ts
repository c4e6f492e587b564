import { afterAll, beforeAll, describe } from 'vitest'
import { openPostgres, type Postgres } from '../../../test/postgres.ts'
import { postgresMail } from '../../../test/postgres-stores.ts'
import { readersContract } from '../contract/readers.contract.ts'
import { readersMarkContract } from '../contract/readers-mark.contract.ts'
import { readersOrderContract } from '../contract/readers-order.contract.ts'

let postgres: Postgres

beforeAll(async () => {
  postgres = await openPostgres()
})
afterAll(() => postgres.close())

describe('PostgreSQL', () => {
  const open = () => postgresMail(postgres)
  describe('what a key sees', () => readersContract(open))
  describe('its mark', () => readersMarkContract(open))
  describe('its order', () => readersOrderContract(open))
})
