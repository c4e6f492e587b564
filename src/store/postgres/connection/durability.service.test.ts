import { afterEach, describe, expect, test, vi } from 'vitest'
import { newMail } from '../../../../test/kit/store/fixture.ts'
import { waitUntil } from '../../../../test/kit/wait-until.ts'
import { StoreUnavailable } from '../../../base/problem.ts'
import { evaluatePostgres } from '../../../doctor/rules/backend-rules.ts'
import { mailForTests } from '../testing/mail-for-tests.ts'
import { openConnections } from './connections.ts'
import { inspectPostgres } from './inspect.ts'

const db = mailForTests({
  limits: {
    mailbox: { maxMessages: 2_000, maxBytes: 1e9 },
    poolMaxBytes: 1e9,
    ownMaxBytes: 1e9,
    maxMailBytes: 10_000_000,
  },
})
afterEach(async () => {
  vi.restoreAllMocks()
  await db.postgres.run('alter system reset all')
  await db.postgres.run('select pg_reload_conf()')
  await db.postgres.run(`alter database ${db.opened.database} reset all`)
})

const isUnavailable = (error: unknown) => error instanceof StoreUnavailable

/** Polls until the fault is as expected; the store refreshes it every half second. */
async function untilFault(isExpected: (reason: string | undefined) => boolean) {
  await waitUntil(async () => isExpected((await db.fixture.store.storageFault())?.reason))
}

describe('a commit with durability off', () => {
  for (const [name, more] of [
    ['of our own connection', ''],
    ['behind PgBouncer', '&pgbouncer=true'],
  ]) {
    test(`${name} is refused and leaves nothing`, async () => {
      const pool = openConnections({ url: `${db.opened.url}${more}`, connections: 1 })
      const write = pool.transaction(async (db) => {
        await db.queryUnprepared('set local synchronous_commit = off')
        db.queueBeforeCommit(() =>
          db.query(`insert into mail.address_ledger values ($1)`, ['lost']),
        )
      })
      await expect(write).rejects.toSatisfy(isUnavailable)
      const found = await db.postgres.run(
        'select hmac from mail.address_ledger',
        db.opened.database,
      )
      expect(found).toStrictEqual([])
      // The connection is replaced.
      await pool.transaction(async (db) => {
        await db.query(`insert into mail.address_ledger values ('kept')`)
      })
      await pool.close()
    })
  }
})

describe('a setting changed while the service runs', () => {
  for (const setting of ['fsync', 'synchronous_commit']) {
    test(`${setting} by a reload: no mail is acknowledged until it is on again`, async () => {
      await db.fixture.session('ann@box.test')
      const recipients = await db.fixture.accepted(['ann@box.test'])
      await db.fixture.store.addMail(newMail(recipients))
      await db.postgres.run(`alter system set ${setting} = off`)
      await db.postgres.run('select pg_reload_conf()')
      // The processes of the server reload one after the other.
      await untilFault((reason) => reason?.includes(`${setting} is off`) ?? false)
      await expect(db.fixture.store.addMail(newMail(recipients))).rejects.toSatisfy(isUnavailable)
      await expect(db.fixture.other.addMail(newMail(recipients))).rejects.toSatisfy(isUnavailable)
      await db.postgres.run(`alter system reset ${setting}`)
      await db.postgres.run('select pg_reload_conf()')
      await untilFault((reason) => reason === undefined)
      expect((await db.fixture.store.addMail(newMail(recipients))).outcome).toBe('stored')
    })
  }

  test('for new connections only: the node is not ready, though an old connection still works', async () => {
    const { database } = db.opened
    expect(await db.fixture.store.storageFault()).toBeUndefined()
    await db.postgres.run(`alter database ${database} set synchronous_commit = off`)
    const queries = Array.from({ length: 3 }, () => db.fixture.store.listDomains())
    const statuses = (await Promise.allSettled(queries)).map(({ status }) => status)
    expect.assert(statuses.includes('fulfilled') && statuses.includes('rejected'), String(statuses))
    await untilFault((reason) => reason?.includes('synchronous_commit is off') ?? false)
    expect((await db.fixture.store.listDomains()).length).toStrictEqual(2)
    await db.postgres.run(`alter database ${database} reset synchronous_commit`)
    await untilFault((reason) => reason === undefined)
  })

  test('for new connections only is detected even if no new connection is needed', async () => {
    const { database } = db.opened
    expect(await db.fixture.store.storageFault()).toBeUndefined()
    await db.postgres.run(`alter database ${database} set synchronous_commit = off`)
    const start = performance.now()
    const base = Date.now() - 60_000
    vi.spyOn(performance, 'now').mockImplementation(() => start + Date.now() - base)
    await untilFault((reason) => reason?.includes('synchronous_commit is off') ?? false)
  })

  test('on the server after a reconnect: no query is sent, and the reason is reported', async () => {
    const { database } = db.opened
    await db.postgres.run(`alter database ${database} set synchronous_commit = off`)
    await db.postgres.run(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}'`,
    )
    for (let round = 0; round < 3; round += 1) {
      await expect(db.fixture.store.listDomains()).rejects.toSatisfy(isUnavailable)
    }
    await untilFault((reason) => reason?.includes('synchronous_commit is off') ?? false)
    await db.postgres.run(`alter database ${database} reset synchronous_commit`)
    await untilFault((reason) => reason === undefined)
    expect((await db.fixture.store.listDomains()).length).toBe(2)
  })
})

test('mayfly doctor sees version, connections and clock, and that durability is off', async () => {
  const { url, database } = db.opened
  const right = await inspectPostgres(url)
  expect(evaluatePostgres(right).status).toBe('ok')
  expect.assert('usedConnections' in right)
  expect.assert(Number(right.version) >= 150_000 && right.usedConnections >= 1)
  // A role that may not see the sessions of others.
  await db.postgres.run('create role plain login')
  const plain = await inspectPostgres(url.replace('mayfly@', 'plain@'))
  expect.assert('usedConnections' in plain)
  expect(plain.role).toBe('plain')
  expect.assert(plain.usedConnections >= right.usedConnections)
  await db.postgres.run(`alter database ${database} set synchronous_commit = off`)
  const lost = evaluatePostgres(await inspectPostgres(url))
  expect([lost.status, lost.seen]).toStrictEqual([
    'failure',
    'synchronous_commit is off: acknowledged mail could be lost',
  ])
})
