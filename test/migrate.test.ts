import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Address, Host } from '../src/base/address.ts'
import { moveToPostgres } from '../src/store/move/move.ts'
import { openPostgresMail } from '../src/store/postgres/mail-store.ts'
import { openPostgresShop } from '../src/store/postgres/shop-store.ts'
import { type App, startApp, WAIT_FOR_EXTRACTION } from './kit/app/app.ts'
import { type CliResult, runMayfly } from './kit/app/cli.ts'
import {
  ENV,
  type Fixture,
  fillApp,
  LARGE_MAILS,
  responsesOf,
  SHOP_MAIL,
} from './kit/app/moved-app.ts'
import { MAIN, ROOT } from './kit/app/service-process.ts'
import { emailsOf } from './kit/http/api-client.ts'
import { request } from './kit/http/http-client.ts'
import { openPostgres, type Postgres } from './kit/store/postgres.ts'
import { MAIL_OPTIONS } from './kit/store/postgres-stores.ts'
import { audit } from './kit/store/shares-model.ts'
import { waitUntil } from './kit/wait-until.ts'

const DOMAIN = { sessions: true, reader: true, ttlSeconds: undefined }

let postgres: Postgres
let fixture: Fixture
let resultWhileServed: CliResult
let interrupted: Awaited<ReturnType<typeof killInTheMiddle>>
let moved: { database: string; result: CliResult }

beforeAll(async () => {
  postgres = await openPostgres()
  fixture = await fillApp(async (folder) => {
    resultWhileServed = await migrate(folder, postgres.urlOf('postgres'))
  })
  const database = await postgres.database()
  interrupted = await killInTheMiddle(database)
  moved = { database, result: await migrate(fixture.folder, postgres.urlOf(database)) }
}, 200_000)
afterAll(async () => {
  await postgres?.close()
  fixture?.remove()
})

async function copyOfMoved(): Promise<string> {
  copies += 1
  await postgres.run(`create database copy_${copies} template ${moved.database}`)
  return `copy_${copies}`
}
let copies = 0

const migrate = (folder: string, url: string) =>
  runMayfly(folder, 'migrate', '--from', `sqlite:${folder}`, '--to', url)

/** In this process; returns the tables that differ. */
async function moveHere(url: string): Promise<string[]> {
  const options = {
    folder: fixture.folder,
    now: new Date(),
    poolMs: 3_600_000,
    operatorMs: 3_600_000,
  }
  const { tables } = await moveToPostgres({ ...options, url, report() {} })
  return tables.filter(({ same }) => !same).map(({ name }) => name)
}

test('a move killed in the middle keeps services out, and starts over when run again', () => {
  expect(interrupted.sessions).not.toEqual([])
  // What it had sent is rolled back.
  expect(interrupted.mails).toEqual([])
  expect(interrupted.refusal).toMatch('unfinished move')
  expect(moved.result.status).toBe(0)
  expect(moved.result.stderr).toMatch(/^Copying 0 of /)
})

describe('after a move', () => {
  let database: string
  let app: App
  beforeAll(async () => {
    database = await copyOfMoved()
    const env = { ...ENV, MAYFLY_STORE: postgres.urlOf(database) }
    app = await startApp({ env, ...WAIT_FOR_EXTRACTION })
  }, 60_000)
  afterAll(() => app?.stop())

  test('every table has rows, and its checksum matches', () => {
    const { result } = moved
    expect(result.stderr).toMatch(/^Copying 0 of [\d,]+ rows/)
    expect(result.stderr).toMatch(/^Comparing 0 of [\d,]+ rows/m)
    expect(result.status).toBe(0)
    const lines = result.stdout.split('\n').slice(1, -3)
    expect(lines.length).toBeGreaterThan(15)
    for (const line of lines) expect(line).toMatch(/^(mail|shop)\.\w+ +[1-9][\d,]* +same$/)
    expect(result.stdout).toMatch(
      /\nMoved [\d,]+ rows, \d\d\.?\d* MB of mail\. All checksums match\./,
    )
  })

  test('every response is as before: lists, ETags, codes, raw mail, orders, usage', async () => {
    expect(await responsesOf(app, fixture)).toEqual(fixture.responses)
  })

  test('new mail has a higher id than what a client has seen', async () => {
    const { email, token } = fixture.boxes.long
    const sinceId = fixture.responses.long.newest
    const check = () => request(`${app.url}/api/check-mail?token=${token}&since_id=${sinceId}`)
    expect((await check()).body['messages']).toEqual([])
    expect(await app.mail(email)).toBe(250)
    expect((await check()).body['messages']).toMatchObject([{ subject: 'Hello' }])
  })

  test('a key keeps its usage, its ETag, its mail, the pool and its webhooks', async () => {
    const headers = { apikey: fixture.key }
    const unchanged = { ...headers, 'if-none-match': fixture.emailsTag }
    expect((await request(`${app.url}/emails`, { headers: unchanged })).status).toBe(304)
    const emails = emailsOf(await request(`${app.url}/emails?limit=500`, { headers }))
    expect(emails.map(({ to }) => to)).toContain(fixture.boxes.keyed.email)
    const pool = emailsOf(await request(`${app.url}/emails?to=any@pool.test`, { headers }))
    expect(pool).toMatchObject([{ subject: 'Your code' }])
    const usage = await request(`${app.url}/usage`, { headers })
    expect(usage.body['used']).toBe(fixture.responses.used + 2)
    const { body } = await request(`${app.url}/webhooks`, { headers })
    expect(body['webhooks']).toMatchObject([{ id: 'wh_1', state: 'disabled', reason: 'gone' }])
  })

  test('an ended address stays reserved, and its mail is refused', async () => {
    const body = new URLSearchParams({ prefix: 'ended', domain_id: '2' })
    const again = await request(`${app.url}/api/create-session`, { method: 'POST', body })
    expect(again.body).toMatchObject({ code: 'address_taken' })
    // Then only the ledger has it, under the same secret.
    await postgres.run(`delete from mail.session where address like 'ended@%'`, database)
    expect(await app.mail(fixture.boxes.ended.email)).toBe(550)
  })

  test('an address keeps its rules, its label and the number of messages it has received', async () => {
    const { email, token } = fixture.ruled
    const { body } = await request(`${app.url}/api/check-mail?token=${token}`)
    expect(body['rules']).toEqual({ only_from: ['shop.test'], max_messages: 2, refused: 0 })
    expect(body['label']).toBe('Lädchen')
    const codes = []
    for (const mail of [SHOP_MAIL.replace('shop', 'evil'), SHOP_MAIL, SHOP_MAIL]) {
      codes.push(await app.mail(email, mail))
    }
    expect(codes).toEqual([550, 250, 550])
  })

  test('the shares of senders add up to their messages', async () => {
    const query = async (sql: string) =>
      (await postgres.run(sql.replaceAll('{mail}', 'mail.'), database)) as Record<string, unknown>[]
    await audit(query)
    const shares = await query('select sender_network, mailbox from mail.sender_share order by 2')
    expect(shares).toEqual([
      { sender_network: '127.0.0.1', mailbox: '1' },
      { sender_network: '127.0.0.1', mailbox: '2' },
    ])
  })

  test('new ids and serials are above those that were moved', async () => {
    const store = await openPostgresMail({ ...MAIL_OPTIONS, url: postgres.urlOf(database) })
    onTestFinished(() => store.close())
    const added = await store.addDomain({ ...DOMAIN, name: 'later.test' as Host })
    expect(added?.id).toBe(4)
    const [row] = await postgres.run(
      `select max(serial) as last, (select last_value * 1024 from mail.raw_block) as block
       from mail.raw_mail where client_ip = '127.0.0.1' and received_at < ${fixture.restsSince}`,
      database,
    )
    const { last, block } = row as { last: string; block: string }
    expect(Number(block)).toBeGreaterThan(Number(last))
  })

  test('a domain of a key holder is still theirs, with its mail', async () => {
    const copy = await copyOfMoved()
    const store = await openPostgresMail({ ...MAIL_OPTIONS, url: postgres.urlOf(copy) })
    onTestFinished(() => store.close())
    const facts = await store.findRecipient('any@own.test' as Address)
    expect(facts).toMatchObject({ domain: { owner: 'key_other' }, own: { catchAll: 7 } })
    const scope = { keyId: 'key_other', pool: false, to: undefined, now: new Date() }
    const page = { sinceId: 0, beforeId: undefined, limit: 9 }
    const [message, ...others] = await store.listKeyMail(scope, page)
    expect([message?.subject, others]).toStrictEqual(['own', []])
    expect(await store.readRaw(message?.rawId ?? 0)).toBeTruthy()
    const due = { cooldownMs: 1, poolMs: 1, operatorMs: 1, ownMs: 86_400_000, mailLogMs: 1 }
    while (await store.sweep({ now: new Date(), ...due }));
    expect(await store.listKeyMail(scope, page)).toStrictEqual([])
    expect(await store.readRaw(message?.rawId ?? 0)).toBeUndefined()
  })

  test('mail of a session that had expired is swept with its partition', async () => {
    const copy = await copyOfMoved()
    const store = await openPostgresMail({ ...MAIL_OPTIONS, url: postgres.urlOf(copy) })
    onTestFinished(() => store.close())
    const left = () =>
      postgres.run(
        `select distinct bucket from mail.raw_mail where bucket <= ${Math.floor(Date.now() / 86_400_000)}`,
        copy,
      )
    expect(await left()).not.toEqual([])
    const hour = 3_600_000
    const due = {
      cooldownMs: 86_400_000,
      poolMs: hour,
      operatorMs: hour,
      ownMs: hour,
      mailLogMs: hour,
    }
    const now = new Date(Date.now() + 2 * 86_400_000)
    while (await store.sweep({ now, ...due }));
    expect(await left()).toEqual([])
  })
})

/** A database with the schema and no data. */
async function emptyDatabase(): Promise<{ database: string; url: string }> {
  const database = await postgres.database()
  const url = postgres.urlOf(database)
  await (await openPostgresMail({ ...MAIL_OPTIONS, url })).close()
  await (await openPostgresShop({ url })).close()
  return { database, url }
}

/** Kills a move into an empty database, and returns what it has left there. */
async function killInTheMiddle(database: string) {
  const url = postgres.urlOf(database)
  const child = spawn(
    process.execPath,
    [MAIN, 'migrate', '--from', `sqlite:${fixture.folder}`, '--to', url],
    { cwd: ROOT, stdio: 'ignore' },
  )
  const exit = once(child, 'exit')
  // A move begins with this table, and then creates the partitions of two months, before it copies any mail.
  const begun = "select 1 from pg_tables where schemaname = 'mail' and tablename = 'move'"
  await waitUntil(async () => (await postgres.run(begun, database)).length > 0)
  const holder = await blockSecondBatch(database)
  const blocked = `from pg_locks where locktype = 'advisory' and objid = 77 and not granted`
  await waitUntil(async () => (await postgres.run(`select 1 ${blocked}`)).length > 0)
  child.kill('SIGKILL')
  await exit
  await postgres.run(`select pg_terminate_backend(pid) ${blocked}`)
  await holder.end()
  const left = {
    sessions: await postgres.run('select 1 from mail.session limit 1', database),
    mails: await postgres.run('select 1 from mail.raw_mail limit 1', database),
    refusal: await openPostgresMail({ ...MAIL_OPTIONS, url }).catch(({ message }) => message),
  }
  await postgres.run('drop trigger blocked on mail.raw_mail', database)
  return left
}

/** After the first 8 MB of raw mail, the copy waits for a lock that is never released. */
async function blockSecondBatch(database: string): Promise<Client> {
  await postgres.run(
    `create function wait() returns trigger language plpgsql as $$
     begin if new.serial = ${LARGE_MAILS} then perform pg_advisory_xact_lock(77); end if; return new; end $$;
     create trigger blocked before insert on mail.raw_mail for each row execute function wait()`,
    database,
  )
  const holder = new Client({ connectionString: postgres.urlOf(database) })
  await holder.connect()
  await holder.query('select pg_advisory_lock(77)')
  return holder
}

/** Faults injected while a row is inserted. */
const MUTATIONS = {
  // One flipped bit in a mail.
  'mail.raw_mail':
    'if new.serial = 7 then new.zstd = set_byte(new.zstd, 20, get_byte(new.zstd, 20) # 1); end if;',
  // Two messages with their mails swapped.
  'mail.message':
    'if new.raw_id & 255 in (4, 5) then new.raw_id = new.raw_id + 9 - 2 * (new.raw_id & 255); end if;',
  'mail.session': `if new.address like 'ended@%' then new.cleared = true; end if;`,
  'mail.shared_mailbox': 'new.bytes = new.bytes + 1;',
  'shop.api_key': 'new.used = new.used + 1;',
  // A lost row.
  'mail.gmail_folder': `if new.folder = 'INBOX' then return null; end if;`,
}

test('every table with a wrong row is detected, and the database stays unfinished', async () => {
  const { database, url } = await emptyDatabase()
  for (const [number, [table, change]] of Object.entries(MUTATIONS).entries()) {
    await postgres.run(
      `create function mutate_${number}() returns trigger language plpgsql as $$
       begin ${change} return new; end $$;
       create trigger mutate before insert on ${table}
       for each row execute function mutate_${number}()`,
      database,
    )
  }
  // What the command prints then: src/cli/migrate.test.ts.
  expect((await moveHere(url)).sort()).toEqual(Object.keys(MUTATIONS).sort())
  await expect(openPostgresMail({ ...MAIL_OPTIONS, url })).rejects.toThrow('unfinished move')
})

describe('rejected', () => {
  test('a data directory that is being served', () => {
    expect(resultWhileServed).toMatchObject({ status: 1, stdout: '' })
    expect(resultWhileServed.stderr).toMatch(
      / is in use by a service or another move\. Stop it first/,
    )
  })

  test('a database with other tables', async () => {
    const { url } = await emptyDatabase()
    const store = await openPostgresMail({ ...MAIL_OPTIONS, url })
    await store.addDomain({ ...DOMAIN, name: 'mine.test' as Host })
    await store.close()
    await expect(moveHere(url)).rejects.toThrow('it has rows in mail.mail_domain')
  })

  test('a database with a completed move', async () => {
    await expect(moveHere(postgres.urlOf(moved.database))).rejects.toThrow(
      'This database is in use',
    )
  })

  test('an unreachable server or an unknown database; the error does not repeat the URL', async () => {
    const unreachable = 'postgres://mayfly:secret@127.0.0.1:9/none'
    await expect(moveHere(unreachable)).rejects.toThrow(/^PostgreSQL cannot be reached\.$/)
    const unknown = postgres.urlOf('no_such_database').replace('mayfly@', 'mayfly:secret@')
    await expect(moveHere(unknown)).rejects.toThrow(
      'PostgreSQL cannot be used: database "no_such_database" does not exist',
    )
  })
})
