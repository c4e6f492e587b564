import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { type Fixture, openFixture } from '../../../../test/kit/store/fixture.ts'
import { openPostgres, type Postgres } from '../../../../test/kit/store/postgres.ts'
import { openPostgresTestMail } from '../../../../test/kit/store/postgres-stores.ts'
import type { PostgresMailOptions } from '../mail-store.ts'

/** One server for the tests of a file, and a mail store for each of them. */
export function mailForTests(options: Partial<PostgresMailOptions> = {}) {
  let postgres: Postgres
  let opened: Awaited<ReturnType<typeof openPostgresTestMail>>
  let fixture: Fixture

  beforeAll(async () => {
    postgres = await openPostgres()
  })
  afterAll(() => postgres.close())
  beforeEach(async () => {
    opened = await openPostgresTestMail(postgres, options)
    fixture = await openFixture(opened)
  })
  afterEach(() => fixture.close())

  return {
    get postgres() {
      return postgres
    },
    get opened() {
      return opened
    },
    get fixture() {
      return fixture
    },
    /** Runs a query in the database of the test. */
    run: async <Row>(sql: string) => (await postgres.run(sql, opened.database)) as Row[],
  }
}
