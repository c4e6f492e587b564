import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { readConfig } from '../src/config/config.ts'
import type { Host } from '../src/core/address.ts'
import { moveFolder } from '../src/runtime/moving.ts'
import { audit } from '../src/store/contract/shares-model.ts'
import { NOT_EXPIRED } from '../src/store/postgres/mail/shared-mailboxes.ts'
import { openPostgresMail } from '../src/store/postgres/mail-store.ts'
import { answersOf, ENV, type Fixture, fillApp, LARGE_MAILS } from './moved-app.ts'
import { emailsOf } from './support/api-client.ts'
import { type App, startApp, WAIT_FOR_EXTRACTION } from './support/app.ts'
import { type CliResult, runMayfly } from './support/cli.ts'
import { request } from './support/http-client.ts'
import { openPostgres, type Postgres } from './support/postgres.ts'
import { MAIL_OPTIONS } from './support/postgres-stores.ts'

let postgres: Postgres
let fixture: Fixture
let whileServed: CliResult
let moved: { database: string; told: CliResult }

beforeAll(async () => {
  postgres = await openPostgres()
  fixture = await fillApp(async (folder) => {
    whileServed = await migrate(folder, postgres.urlOf('postgres'))
  })
  const database = await postgres.database()
  moved = { database, told: await migrate(fixture.folder, postgres.urlOf(database)) }
}, 120_000)
afterAll(async () => {
  await postgres?.close()
  fixture?.remove()
})

/** What was moved, once more, to be used or spoilt. */
async function copyOfMoved(): Promise<string> {
  copies += 1
  await postgres.run(`create database copy_${copies} template ${moved.database}`)
  return `copy_${copies}`
}
let copies = 0

const migrate = (folder: string, url: string) =>
  runMayfly(folder, 'migrate', '--from', `sqlite:${folder}`, '--to', url)

/** The same in this process; the answer is the tables that differ. */
async function moveHere(url: string): Promise<string[]> {
  const { config } = readConfig({ env: { MAYFLY_DATA: fixture.folder }, file: {} })
  const { tables } = await moveFolder(config, { folder: fixture.folder, url }, () => {})
  return tables.filter(({ same }) => !same).map(({ name }) => name)
}

describe('what was moved', () => {
  let database: string
  let app: App
  beforeAll(async () => {
    database = await copyOfMoved()
    const env = { ...ENV, MAYFLY_STORE: postgres.urlOf(database) }
    app = await startApp({ env, ...WAIT_FOR_EXTRACTION })
  }, 60_000)
  afterAll(() => app?.stop())

  test('is something of everything that is kept, and told table by table', () => {
    const { told } = moved
    expect(told.stderr).toMatch(/^Copying 0 of /)
    expect(told.status).toBe(0)
    const lines = told.stdout.split('\n').slice(1, -3)
    expect(lines.length).toBeGreaterThan(15)
    for (const line of lines) expect(line).toMatch(/^(mail|shop)\.\w+ +[1-9][\d,]* +the same$/)
    expect(told.stdout).toMatch(
      /\nMoved: [\d,]+ rows, \d\d\.?\d* MB of mail, the same on both sides\./,
    )
  })

  test('is seen by everybody as before: lists and their tags, codes, bytes, orders, usage', async () => {
    expect(await answersOf(app, fixture)).toEqual(fixture.answers)
  })

  test('goes on: new mail comes after what a client has seen', async () => {
    const { email, token } = fixture.boxes.long
    const sinceId = fixture.answers.long.newest
    const check = () => request(`${app.url}/api/check-mail?token=${token}&since_id=${sinceId}`)
    expect((await check()).body['messages']).toEqual([])
    expect(await app.mail(email)).toBe(250)
    expect((await check()).body['messages']).toMatchObject([{ subject: 'Hello' }])
  })

  test('goes on for a key: it spends from where it was, and reads its mail and the pool', async () => {
    const headers = { apikey: fixture.key }
    const unchanged = { ...headers, 'if-none-match': fixture.emailsTag }
    expect((await request(`${app.url}/emails`, { headers: unchanged })).status).toBe(304)
    const emails = emailsOf(await request(`${app.url}/emails?limit=500`, { headers }))
    expect(emails.map(({ to }) => to)).toContain(fixture.boxes.keyed.email)
    const pool = emailsOf(await request(`${app.url}/emails?to=any@pool.test`, { headers }))
    expect(pool).toMatchObject([{ subject: 'Your code' }])
    const usage = await request(`${app.url}/usage`, { headers })
    expect(usage.body['used']).toBe(fixture.answers.used + 2)
  })

  test('goes on for an address whose owner ended it: nobody else gets it, and mail is refused', async () => {
    const body = new URLSearchParams({ prefix: 'ended', domain_id: '1' })
    const again = await request(`${app.url}/api/create-session`, { method: 'POST', body })
    expect(again.body).toMatchObject({ code: 'address_taken' })
    expect(await app.mail(fixture.boxes.ended.email)).toBe(550)
  })

  test('has the senders’ shares that its messages come to', async () => {
    const query = async (sql: string) => {
      const text = sql.replaceAll('{mail}', 'mail.').replaceAll('{there}', NOT_EXPIRED)
      return (await postgres.run(text, database)) as Record<string, unknown>[]
    }
    await audit(query)
    const shares = await query('select sender_network, mailbox from mail.sender_share order by 2')
    expect(shares).toEqual([
      { sender_network: '127.0.0.1', mailbox: '1' },
      { sender_network: '127.0.0.1', mailbox: '2' },
    ])
  })

  test('is below what is numbered from now on', async () => {
    const store = await openPostgresMail({ ...MAIL_OPTIONS, url: postgres.urlOf(database) })
    onTestFinished(() => store.close())
    const domain = { sessions: true, reader: true, ttlSeconds: undefined }
    const added = await store.addDomain({ ...domain, name: 'later.test' as Host })
    expect(added?.id).toBe(3)
    const [row] = await postgres.run(
      `select max(serial) as last, (select last_value * 1024 from mail.raw_block) as block
       from mail.raw_mail where client_ip = '127.0.0.1' and received_at < ${fixture.restsSince}`,
      database,
    )
    const { last, block } = row as { last: string; block: string }
    expect(Number(block)).toBeGreaterThan(Number(last))
  })
})

test('mail whose session was over before is swept with its day', async () => {
  const database = await copyOfMoved()
  const store = await openPostgresMail({ ...MAIL_OPTIONS, url: postgres.urlOf(database) })
  onTestFinished(() => store.close())
  const left = () =>
    postgres.run(
      `select distinct mailbox from mail.message where bucket <= ${Math.floor(Date.now() / 86_400_000)}`,
      database,
    )
  expect(await left()).not.toEqual([])
  const due = { cooldownMs: 86_400_000, poolMs: 3_600_000, operatorMs: 3_600_000 }
  const now = new Date(Date.now() + 2 * 86_400_000)
  while (await store.sweep({ now, ...due }));
  expect(await left()).toEqual([])
})

describe('a move that is killed in the middle', () => {
  test('keeps services out, goes on where it was, and doubles nothing', async () => {
    const database = await postgres.database()
    const url = postgres.urlOf(database)
    await (await openPostgresMail({ ...MAIL_OPTIONS, url })).close()
    const holder = await holdSecondBatch(database)
    const child = spawn(
      process.execPath,
      ['bin/mayfly.js', 'migrate', '--from', `sqlite:${fixture.folder}`, '--to', url],
      { cwd: fileURLToPath(new URL('..', import.meta.url)), stdio: 'ignore' },
    )
    const exit = once(child, 'exit')
    await vi.waitFor(
      async () =>
        expect(
          await postgres.run(
            `select 1 from pg_locks where locktype = 'advisory' and objid = 77 and not granted`,
          ),
        ).not.toEqual([]),
      { timeout: 50_000, interval: 20 },
    )
    child.kill('SIGKILL')
    await exit
    // What it had sent already is lost with it.
    await postgres.run(
      `select pg_terminate_backend(pid) from pg_locks
       where locktype = 'advisory' and objid = 77 and not granted`,
    )
    await holder.end()
    await expect(openPostgresMail({ ...MAIL_OPTIONS, url })).rejects.toThrow('half of a move')
    await postgres.run('drop trigger held on mail.raw_mail', database)
    const told = await migrate(fixture.folder, url)
    expect(told.status).toBe(0)
    const [, done] = /^Copying ([\d,]+) of /.exec(told.stderr) ?? []
    expect(Number(done?.replaceAll(',', ''))).toBeGreaterThan(10)
    await (await openPostgresMail({ ...MAIL_OPTIONS, url })).close()
  }, 90_000)
})

/** The mail that comes after the first 8 MB waits for somebody who never comes. */
async function holdSecondBatch(database: string): Promise<Client> {
  await postgres.run(
    `create function wait() returns trigger language plpgsql as $$
     begin if new.serial = ${LARGE_MAILS} then perform pg_advisory_xact_lock(77); end if; return new; end $$;
     create trigger held before insert on mail.raw_mail for each row execute function wait()`,
    database,
  )
  const holder = new Client({ connectionString: postgres.urlOf(database) })
  await holder.connect()
  await holder.query('select pg_advisory_lock(77)')
  return holder
}

describe('a copy that is not the same', () => {
  test('ends the command with the names of its tables, and status 1: one bit of one mail', async () => {
    const copy = await copyOfMoved()
    const flipped = 'set_byte(zstd, 20, get_byte(zstd, 20) # 1)'
    await postgres.run(`update mail.raw_mail set zstd = ${flipped} where serial = 7`, copy)
    const told = await migrate(fixture.folder, postgres.urlOf(copy))
    expect(told.status).toBe(1)
    expect(told.stdout).toMatch(/^mail\.raw_mail +[\d,]+ +DIFFERS$/m)
    expect(told.stderr).toContain('differs from the folder in mail.raw_mail, mail.message,')
  })

  const SPOILT = [
    [
      'two messages with their mails exchanged',
      'update mail.message set serial = 9 - serial where serial in (4, 5)',
      ['mail.message'],
    ],
    [
      'a mailbox that looks for its mail elsewhere',
      'update mail.session set bucket = 32766 where id = (select min(id) from mail.session)',
      ['mail.session', 'mail.message'],
    ],
    ['a box without its days', "update mail.shared_mailbox set buckets = '{}'", ['mail.message']],
    [
      'a request and an address more',
      "update shop.api_key set used = used + 1; insert into mail.address_ledger values ('x')",
      ['shop.api_key', 'mail.address_ledger'],
    ],
  ] as const

  for (const [name, sql, tables] of SPOILT) {
    test(`is found out: ${name}`, async () => {
      const copy = await copyOfMoved()
      await postgres.run(sql, copy)
      expect(await moveHere(postgres.urlOf(copy))).toEqual(tables)
    })
  }
})

describe('refused is', () => {
  test('a folder that is served', () => {
    expect(whileServed).toMatchObject({ status: 1, stdout: '' })
    expect(whileServed.stderr).toMatch(/^A mayfly serves .* Stop it first/)
  })

  test('a database that holds something else', async () => {
    const database = await postgres.database()
    const url = postgres.urlOf(database)
    const store = await openPostgresMail({ ...MAIL_OPTIONS, url })
    const domain = { sessions: true, reader: true, ttlSeconds: undefined }
    await store.addDomain({ ...domain, name: 'mine.test' as Host })
    await store.close()
    await expect(moveHere(url)).rejects.toThrow('it has rows in mail.mail_domain')
  })

  test('a database that holds half of another move, or all of it', async () => {
    const database = await copyOfMoved()
    const url = postgres.urlOf(database)
    expect(await moveHere(url)).toEqual([])
    await postgres.run(`update mail.move set source = 'another', finished_at = null`, database)
    await expect(moveHere(url)).rejects.toThrow('half of another move')
    await postgres.run(`update mail.move set finished_at = 1`, database)
    await expect(moveHere(url)).rejects.toThrow('in use already')
  })

  test('a server that is not there or does not know us, without its address', async () => {
    const away = 'postgres://mayfly:secret@127.0.0.1:9/none'
    await expect(moveHere(away)).rejects.toThrow(/^PostgreSQL cannot be reached\.$/)
    const unknown = postgres.urlOf('no_such_database').replace('mayfly@', 'mayfly:secret@')
    await expect(moveHere(unknown)).rejects.toThrow(
      'PostgreSQL cannot be used: database "no_such_database" does not exist',
    )
  })
})
