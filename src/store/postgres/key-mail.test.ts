import { afterAll, beforeAll, describe } from 'vitest'
import { openPostgres, type Postgres } from '../../../test/support/postgres.ts'
import { openPostgresTestMail } from '../../../test/support/postgres-stores.ts'
import { keyMailContract } from '../contract/key-mail.contract.ts'
import { keyMailOrderContract } from '../contract/key-mail-order.contract.ts'
import { keyMailVersionContract } from '../contract/key-mail-version.contract.ts'

let postgres: Postgres

beforeAll(async () => {
  postgres = await openPostgres()
})
afterAll(() => postgres.close())

describe('PostgreSQL', () => {
  const open = () => openPostgresTestMail(postgres)
  describe('what a key sees', () => keyMailContract(open))
  describe('its mark', () => keyMailVersionContract(open))
  describe('its order', () => keyMailOrderContract(open))
})
