import { inspect } from 'node:util'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  host,
  newMail,
  newSession,
  openFixture,
  START,
} from '../../../../test/kit/store/fixture.ts'
import { openPostgres, type Postgres } from '../../../../test/kit/store/postgres.ts'
import { MAIL_OPTIONS, openPostgresTestMail } from '../../../../test/kit/store/postgres-stores.ts'
import { waitUntil } from '../../../../test/kit/wait-until.ts'
import { hasErrorCode, Problem } from '../../../base/problem.ts'
import { OlderSchema } from '../../schema.ts'
import { openPostgresMail } from '../mail-store.ts'
import { migrate } from '../migrate.ts'
import { openPostgresShop } from '../shop-store.ts'
import { openConnections } from './connections.ts'
import { UnfitServer } from './server-requirements.ts'

let postgres: Postgres
let tls: Postgres
const open: { close(): Promise<void> }[] = []

beforeAll(async () => {
  postgres = await openPostgres()
  tls = await openPostgres({ tls: true })
})
afterAll(async () => {
  await postgres.close()
  await tls.close()
})
afterEach(async () => {
  for (const store of open.splice(0)) await store.close()
})

const isUnavailable = (error: unknown) => {
  expect.assert(error instanceof Problem)
  expect([error.code, error.message, error.retryAfter]).toStrictEqual([
    'overloaded',
    'The store is unavailable. Try again in a moment.',
    1,
  ])
  return true
}

describe('opening a database', () => {
  test('concurrently creates its schema once', async () => {
    const url = postgres.urlOf(await postgres.database())
    const stores = await Promise.all(
      Array.from({ length: 5 }, () => openPostgresMail({ ...MAIL_OPTIONS, url, connections: 1 })),
    )
    open.push(...stores)
    const [first, second] = stores
    const domain = { name: host('box.test'), sessions: true, reader: true, ttlSeconds: undefined }
    await first?.addDomain(domain)
    expect((await second?.listDomains())?.length).toBe(1)
  })

  test('waits for a migration that takes longer than the statement timeout, and says so once', async () => {
    const url = postgres.urlOf(await postgres.database())
    const slow = new Client({ connectionString: url, application_name: 'slow' })
    await slow.connect()
    await slow.query('begin; select pg_advisory_xact_lock(1296125281, 1)')
    const pool = openConnections({ url, connections: 1, statementMs: 1_000 })
    const waits: string[] = []
    const onWait = (others: string) => void waits.push(others)
    const migrated = migrate(pool, 'mail', url, { onWait, noticeMs: 10 })
    await waitUntil(() => waits.length > 0)
    await Promise.all([migrated, slow.query('select pg_sleep(1.5); commit')])
    expect(waits).toStrictEqual(['slow on the same machine'])
    await slow.end()
    await pool.close()
  })

  test('with a newer schema is refused, without a change', async () => {
    const database = await postgres.database()
    const url = postgres.urlOf(database)
    await (await openPostgresMail({ ...MAIL_OPTIONS, url })).close()
    await postgres.run('update mail.schema_version set version = 99', database)
    await expect(openPostgresMail({ ...MAIL_OPTIONS, url })).rejects.toMatchObject({
      message:
        /^mail in PostgreSQL has schema 99, but this version knows only \d+\. Start the newer version, or restore a backup\.$/,
    })
  })

  test('with an older schema is refused if migrating is not allowed, without a change', async () => {
    const database = await postgres.database()
    const options = { ...MAIL_OPTIONS, url: postgres.urlOf(database), upgrade: false }
    // An empty database has no older service that could use it.
    await (await openPostgresMail(options)).close()
    await postgres.run('update mail.schema_version set version = 5', database)
    await expect(openPostgresMail(options)).rejects.toThrow(OlderSchema)
    const versions = await postgres.run('select version from mail.schema_version', database)
    expect(versions).toStrictEqual([{ version: 5 }])
  })

  test('is refused if the server acknowledges commits before they are durable', async () => {
    const database = await postgres.database()
    await postgres.run(`alter database ${database} set synchronous_commit = off`)
    const url = postgres.urlOf(database)
    await expect(openPostgresMail({ ...MAIL_OPTIONS, url })).rejects.toThrow(
      /synchronous_commit is off/,
    )
  })

  test('beside a node of an older version that is in the way of a migration says so', async () => {
    const database = await postgres.database()
    const url = postgres.urlOf(database)
    await (await openPostgresShop({ url })).close()
    const run = (text: string) => postgres.run(text, database)
    await run('drop index shop.api_key_created, shop.webhook_created')
    await run('update shop.schema_version set version = 22')
    // Whoever waits first is the one that fails; the older node waits longer than the migration.
    const old = new Client({ connectionString: url, application_name: 'mayfly' })
    await old.connect()
    await old.query('set deadlock_timeout = 60000; begin; lock shop.webhook in row exclusive mode')
    const opening = openPostgresShop({ url })
    opening.catch(() => {})
    await waitUntil(async () => {
      const waiting = `select 1 from pg_locks where relation = 'shop.webhook'::regclass and not granted`
      return (await run(waiting)).length === 1
    })
    await old.query('lock shop.api_key in row exclusive mode')
    await expect(opening).rejects.toThrow(
      /^The schema in PostgreSQL could not be upgraded, because it is in use by mayfly on the same machine\. .* Stop all nodes of the older version/,
    )
    await old.query('commit')
    await old.end()
    await (await openPostgresShop({ url })).close()
  })

  test('with an invalid URL fails without quoting it', async () => {
    const opening = openPostgresMail({ ...MAIL_OPTIONS, url: 'postgres://joe:geheim@:bad' })
    await expect(opening).rejects.toSatisfy(
      (error: Error) => !JSON.stringify(error).includes('geheim'),
    )
  })
})

describe('a server that refuses connections', () => {
  test('fails the start with its reason, without the password', async () => {
    const { port } = tls.network
    for (const [query, reason] of [
      ['x?sslmode=require', /^PostgreSQL cannot be reached: self-signed certificate/],
      [`no_such?sslmode=no-verify`, /^PostgreSQL refuses us: database "no_such" does not exist/],
      [`x?sslmode=require&host=${encodeURIComponent(tls.path)}`, /does not support SSL/],
    ] as const) {
      const url = `postgres://mayfly:geheim@localhost:${port}/${query}`
      const opening = openPostgresMail({ ...MAIL_OPTIONS, url })
      await expect(opening).rejects.toSatisfy((error: Error) => {
        expect.assert(error instanceof UnfitServer)
        expect(error.message).toMatch(reason)
        return !inspect(error).includes('geheim')
      })
    }
  })

  test('is unavailable while it does so, and available afterwards', async () => {
    const database = await postgres.database()
    const store = await openPostgresMail({ ...MAIL_OPTIONS, url: postgres.urlOf(database) })
    open.push(store)
    const allowConnections = (allowed: boolean) =>
      postgres.run(`alter database ${database} allow_connections ${allowed}`)
    await allowConnections(false)
    await postgres.run(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}'`,
    )
    // The first query may use the terminated connection.
    for (let round = 0; round < 3; round += 1)
      await expect(store.listDomains()).rejects.toSatisfy(isUnavailable)
    await allowConnections(true)
    expect(await store.listDomains()).toStrictEqual([])
  })
})

describe('a node whose clock is wrong', () => {
  for (const minutes of [-1, 1]) {
    test(`by ${minutes} min is not ready and says why; a few seconds are tolerated`, async () => {
      const { store, close } = await openPostgresTestMail(postgres)
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + minutes * 10_000 })
      expect(await store.storageFault()).toBeUndefined()
      vi.setSystemTime(Date.now() + minutes * 50_000)
      while (!(await store.storageFault())) await new Promise(setImmediate)
      vi.useRealTimers()
      const found = await store.storageFault()
      expect(found?.kind).toBe('unavailable')
      expect(found?.reason ?? '').toMatch(
        /^the clocks of this node and PostgreSQL differ by [4-9]\d s$/,
      )
      await close()
    })
  }
})

describe('a server crash', () => {
  test('makes the store unavailable until the restart; then all data exists and no action is needed', async () => {
    const opened = await openPostgresTestMail(postgres)
    const { store } = opened
    const fixture = await openFixture(opened)
    const ann = await fixture.session('ann@box.test')
    const recipients = await fixture.accepted(['ann@box.test'])
    await store.addMail(newMail(recipients))
    expect(await store.storageFault()).toBeUndefined()

    await postgres.stop('SIGQUIT')
    await expect(store.findSession(ann.tokenHash)).rejects.toSatisfy(isUnavailable)
    await expect(store.addMail(newMail(recipients))).rejects.toSatisfy(isUnavailable)
    await expect(
      store.createSession(
        newSession('b@box.test', { tokenHash: 'b', createdAt: START, lifeMs: 9 }),
      ),
    ).rejects.toSatisfy(isUnavailable)
    await expect(store.deleteMessages(ann.id, [1])).rejects.toSatisfy(isUnavailable)
    const opening = openPostgresMail({ ...MAIL_OPTIONS, url: opened.url })
    await expect(opening).rejects.toThrow(/^PostgreSQL cannot be reached: connect ENOENT/)

    await postgres.start()
    expect((await store.findSession(ann.tokenHash))?.count).toBe(1)
    expect((await store.addMail(newMail(recipients))).outcome).toBe('stored')
    expect((await fixture.subjects(ann.id, fixture.other)).length).toBe(2)
    await fixture.close()
  })

  test('loses no acknowledged mail, and stores none partially', async () => {
    const opened = await openPostgresTestMail(postgres)
    const fixture = await openFixture(opened)
    await fixture.session('ann@box.test')
    await fixture.session('bob@box.test', 2 * 86_400_000)
    const recipients = await fixture.accepted(['ann@box.test', 'bob@box.test'])
    const sending = Array.from({ length: 3 }, () => fixture.store.addMail(newMail(recipients)))
    const first = await Promise.race(sending)
    const stopped = postgres.stop('SIGQUIT')
    const outcomes = await Promise.allSettled(sending)
    await stopped
    await postgres.start()
    expect(first.outcome).toBe('stored')
    const acknowledged = outcomes.filter(({ status }) => status === 'fulfilled').length
    for (const { mailbox } of recipients) {
      const stored = await fixture.store.listMessageIds(mailbox)
      expect.assert(stored.length >= acknowledged)
      for (const id of stored) {
        const message = await fixture.store.findMessage(mailbox, id)
        expect.assert(await fixture.store.readRaw(message?.rawId ?? 0))
      }
    }
    await fixture.close()
  })

  test('within a transaction rolls it back', async () => {
    const { close, url, database } = await openPostgresTestMail(postgres)
    const pool = openConnections({ url })
    await expect(
      pool.transaction(async (db) => {
        await db.query(`insert into mail.address_ledger values ('half')`)
        const [row] = await db.query<{ pid: number }>('select pg_backend_pid() as pid')
        await postgres.run(`select pg_terminate_backend(${row?.pid})`)
        await db.query('select 1')
      }),
    ).rejects.toSatisfy(isUnavailable)
    expect(await postgres.run('select * from mail.address_ledger', database)).toStrictEqual([])
    expect(await pool.query('select 1 as one')).toStrictEqual([{ one: 1 }])
    await pool.close()
    await close()
  })
})

describe('an error', () => {
  test('does not quote the contents of a row', async () => {
    const { close, url } = await openPostgresTestMail(postgres)
    const pool = openConnections({ url })
    const insert = pool.query(
      `insert into mail.message (mailbox, id, raw_id, subject) values (1, 1, 1, 'secret')`,
    )
    await expect(insert).rejects.toSatisfy((error: Error & { code?: string }) => {
      expect(error.code).toBe('23502')
      expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toMatch(/secret/)
      return true
    })
    await pool.close()
    await close()
  })

  test('before COMMIT is reported, though COMMIT itself is answered', async () => {
    const { close, url, database } = await openPostgresTestMail(postgres)
    const pool = openConnections({ url })
    const operation = pool.transaction(async (db) => {
      await db.query(`insert into mail.address_ledger values ('one')`)
      db.queueBeforeCommit(() =>
        db.query('insert into mail.address_ledger values ($1), ($1)', ['two']),
      )
    })
    await expect(operation).rejects.toThrow(/duplicate key/)
    expect(await postgres.run('select * from mail.address_ledger', database)).toStrictEqual([])
    await pool.close()
    await close()
  })
})

test('behind PgBouncer no statement is prepared and no setting outlives a transaction', async () => {
  const { close, url } = await openPostgresTestMail(postgres)
  const prepared = 'select count(*) as prepared from pg_prepared_statements'
  for (const [more, expected] of [
    ['', [{ prepared: 1 }]],
    ['&pgbouncer=true', [{ prepared: 0 }]],
  ] as const) {
    const pool = openConnections({ url: `${url}${more}`, connections: 1 })
    await pool.query('select $1::int as one', [1])
    expect(await pool.queryUnprepared(prepared)).toStrictEqual(expected)
    const settings = await pool.transaction((db) =>
      db.queryUnprepared(
        `select current_setting('statement_timeout') as timeout, current_setting('jit') as jit`,
      ),
    )
    expect(settings).toStrictEqual([{ timeout: '10s', jit: 'off' }])
    await pool.close()
  }
  await close()
})

test('a connection is encrypted if the URL requires it, and only to the host that it names', async () => {
  const { port, root } = tls.network
  const url = `postgres://mayfly@localhost:${port}/postgres?sslmode=require`
  const readTls = async (more: string, host = 'localhost') => {
    const pool = openConnections({
      url: `${url}${more}`.replace('localhost', host),
      connections: 1,
    })
    try {
      const text = 'select version from pg_stat_ssl where pid = pg_backend_pid()'
      return await pool.queryUnprepared(text)
    } finally {
      await pool.close()
    }
  }
  expect(await readTls(`&sslrootcert=${root}`)).toStrictEqual([{ version: 'TLSv1.3' }])
  const failsWith = (code: string) => (error: Error) => hasErrorCode(error.cause, code)
  await expect(readTls('')).rejects.toSatisfy(failsWith('DEPTH_ZERO_SELF_SIGNED_CERT'))
  const otherHost = readTls(`&sslrootcert=${root}`, '127.0.0.1')
  await expect(otherHost).rejects.toSatisfy(failsWith('ERR_TLS_CERT_ALTNAME_INVALID'))
})
