import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Address, parseAddress } from '../src/base/address.ts'
import { secretHash } from '../src/base/id.ts'
import { accountMailDeps } from '../src/gmail/fetch-mail.ts'
import { NO_MAIL_LOG } from '../src/mail/log/mail-log.ts'
import { HMAC_LENGTH } from '../src/mail/rules/ledger.ts'
import { POOL } from '../src/mail/rules/session.ts'
import { openMailStoreForCli } from '../src/runtime/stores.ts'
import { openReadOnly } from '../src/store/sqlite/files.ts'
import { ACCOUNT, type Credentials, fetchedMail } from './fixtures/fill.ts'
import { observe, openFilled } from './fixtures/observe.ts'
import { type App, MAIL } from './kit/app/app.ts'
import { checkMail } from './kit/http/api-client.ts'
import { post, request } from './kit/http/http-client.ts'
import { claim } from './kit/shop/shop-client.ts'
import { engine, restoreDatabase } from './kit/store/engine.ts'
import { audit } from './kit/store/shares-model.ts'
import { tempFolder } from './kit/store/stores.ts'
import { waitUntil } from './kit/wait-until.ts'

// Data of every previous version (test/fixtures) opens with this program, and none of it is lost. A schema newer than the
// program is rejected: see start-and-stop.test.ts and src/store/postgres/connection/server-requirements.service.test.ts.

const FIXTURES = new URL('./fixtures/', import.meta.url).pathname
const VERSIONS = globSync('*/expected.json', { cwd: FIXTURES }).map((file) => file.split('/')[0])

type Expected = Record<string, { credentials: Credentials; observed: object }>

describe.each(VERSIONS)('data of version %s', (version = '') => {
  const file = (name: string) => readFileSync(join(FIXTURES, version, name))
  const unpacked = (name: string) => gunzipSync(file(`${name}.gz`))
  const { credentials, observed } = expectedOf(JSON.parse(file('expected.json').toString()))
  const { sessions, keys, orders } = credentials
  const openAt = new Date(credentials.openAt)
  const folder = tempFolder()
  let store: string
  let app: App

  beforeAll(async () => {
    store =
      engine === 'postgres' ? await restoreDatabase(unpacked('postgres.sql').toString()) : 'sqlite:'
    if (engine === 'sqlite') {
      for (const name of ['mail.db', 'shop.db']) {
        writeFileSync(join(folder.path, name), unpacked(name))
      }
    }
    app = await openFilled({ store, folder: { ...folder, remove() {} }, at: openAt })
  })
  afterAll(async () => {
    await app.stop()
    folder.remove()
  })

  const checkStatus = async (token: string) => {
    const { status, body } = await request(`${app.url}/api/check-mail?token=${token}`)
    return [status, body['code']]
  }
  const create = (prefix: string, domain: string) =>
    post(`${app.url}/api/create-session`, { prefix, domain_id: domain })
  const withStore = async <T>(
    use: (mail: Awaited<ReturnType<typeof openMailStoreForCli>>) => Promise<T>,
  ): Promise<T> => {
    const mail = await openMailStoreForCli(app.config)
    return await use(mail).finally(() => mail.close())
  }

  test('every holder of a token, a key or an order sees their own data', async () => {
    expect(await observe(app, credentials)).toMatchObject(observed)
  })

  test('the counters of shared mailboxes and senders match their stored mail', async () => {
    const rows = engine === 'postgres' ? postgresRows(store) : sqliteRows(folder.path)
    await audit(rows)
    expect(await rows('select * from {mail}sender_share')).not.toStrictEqual([])
    const wrong =
      engine === 'postgres'
        ? `select 1 from mail.message join mail.raw_mail on raw_id = (bucket::bigint << 38) + serial
           where stored is distinct from case when mailbox <= 2 then octet_length(zstd) end`
        : `select 1 from message join raw_bytes using (raw_id)
           where stored is not case when mailbox <= 2 then length(zstd) end`
    expect(await rows(wrong)).toStrictEqual([])
  })

  if (engine === 'postgres') {
    test('every partition compresses mail', async () => {
      const rows = await postgresRows(store)(
        `select distinct attstorage, attcompression from pg_attribute
         where attname = 'zstd' and attrelid::regclass::text like 'mail.raw_mail%'`,
      )
      expect(rows).toStrictEqual([{ attstorage: 'x', attcompression: 'l' }])
    })
  }

  test('an address in use or cooling down is not issued', async () => {
    for (const prefix of ['keyed', 'cooling', 'empty']) {
      const { status, body } = await create(prefix, '2')
      expect([status, body['code']], prefix).toStrictEqual([409, 'address_taken'])
    }
    expect(await checkStatus(credentials.cooling.token)).toStrictEqual([401, 'session_expired'])
    expect(await checkStatus(credentials.former.token)).toStrictEqual([401, 'invalid_token'])
  })

  test('mail for an address that ever belonged to a session never goes to the pool', async () => {
    for (const { email } of [credentials.cooling, credentials.former]) {
      expect.assert((await app.mail(email)) === 550, email)
    }
  })

  test('the ledger has an HMAC for each hash of before, and lacks nothing', async () => {
    const rows = engine === 'postgres' ? postgresRows(store) : sqliteRows(folder.path)
    const before = unpacked(engine === 'postgres' ? 'postgres.sql' : 'mail.db')
    const entries = (await rows('select hmac from {mail}address_ledger')).map((row) => row['hmac'])
    const { email } = credentials.former
    expect.assert(before.includes(secretHash(email)))
    for (const entry of entries) expect.assert(!before.includes(String(entry)))
    expect.assert(entries.every((entry) => String(entry).length === HMAC_LENGTH))
    const state = await withStore((mail) => mail.readLedger())
    expect(state).toStrictEqual({ unknownUntil: undefined, reason: '', pruned: false })
  })

  test('mail fetched before the upgrade is not fetched again', async () => {
    await withStore(async (mail) => {
      const accounts = await mail.listAccounts(app.now())
      const id = accounts.find(({ email }) => email === ACCOUNT)?.id ?? 0
      const bus = { wake() {}, subscribe: () => () => {} }
      const findMailBlock = () => undefined
      const deps = { store: mail, bus, now: app.now, mailLog: NO_MAIL_LOG, findMailBlock }
      const account = accountMailDeps(deps, { id, email: ACCOUNT as Address })
      const alias = parseAddress(sessions.alias.email)
      const [found] = await account.findAliases(alias ? [alias] : [])
      expect.assert(found)
      expect.assert((await account.receive(fetchedMail(found.mailbox, openAt))) === 'known')
    })
    expect((await checkMail(app.url, sessions.alias.token)).length).toBe(1)
  })

  test('a paid order that was not claimed yields its key', async () => {
    const { status, body } = await claim(app.url, orders.unclaimed)
    expect(status).toBe(200)
    const headers = { apikey: String(body['key']) }
    expect((await request(`${app.url}/emails`, { headers })).status).toBe(200)
  })

  test('old and new sessions receive mail, and so does the pool', async () => {
    const made = await create('newcomer', '2')
    expect(made.status).toBe(200)
    const { parsed, keyed, far, removedDomain } = sessions
    const known = [parsed, keyed, far, removedDomain]
    const before = await Promise.all(known.map(({ token }) => checkMail(app.url, token)))
    const to = [...known.map(({ email }) => email), String(made.body['email']), 'fresh@pool.test']
    expect(await app.mail(to, MAIL)).toBe(250)
    for (const [at, { token }] of known.entries()) {
      const [newest, ...others] = await checkMail(app.url, token)
      expect.assert(newest?.subject === 'Hello')
      expect(others).toStrictEqual(before[at])
      expect.assert(newest.id > (others[0]?.id ?? 0))
    }
    expect((await checkMail(app.url, String(made.body['token']))).length).toBe(1)
    const headers = { apikey: keys['starter'] ?? '' }
    const pooled = await request(`${app.url}/emails?to=fresh@pool.test`, { headers })
    expect(pooled.text).toMatch(/Hello/)
  })

  test('old sessions have no rules; new ones may have', async () => {
    const { body } = await request(`${app.url}/api/check-mail?token=${sessions['parsed']?.token}`)
    expect([body['status'], 'rules' in body, 'full' in body]).toStrictEqual([
      'success',
      false,
      false,
    ])
    const made = await post(`${app.url}/api/create-session`, { domain_id: '2', max_messages: '1' })
    const to = String(made.body['email'])
    expect([await app.mail(to, MAIL), await app.mail(to, MAIL)]).toStrictEqual([250, 550])
  })

  test('a live session is extended with its mail; one in its cool-down is revived, empty', async () => {
    const extend = (token: string) => post(`${app.url}/api/extend-session`, { token })
    const mails = await checkMail(app.url, sessions.unparsed.token)
    const extended = await extend(sessions.unparsed.token)
    expect(extended.status).toBe(200)
    const lifeMs = Date.parse(String(extended.body['expires_at_iso'])) - app.now().getTime()
    expect.assert(lifeMs > 86_390_000 && lifeMs <= 86_400_000, `${lifeMs} ms`)
    expect(await checkMail(app.url, sessions.unparsed.token)).toStrictEqual(mails)
    expect((await extend(credentials.cooling.token)).status).toBe(200)
    expect(await checkMail(app.url, credentials.cooling.token)).toStrictEqual([])
  })

  test('after a restart two days later expired data is swept, and the rest is there', async () => {
    const poolMails = () => withStore(async (mail) => (await mail.readSharedMailbox(POOL)).count)
    expect.assert((await poolMails()) > 0)
    await app.stop()
    const later = new Date(openAt.getTime() + 2 * 86_400_000)
    app = await openFilled({ store, folder: { ...folder, remove() {} }, at: later })
    await waitUntil(async () => (await poolMails()) === 0)
    for (const { token } of [sessions.parsed, sessions.keyed, sessions.hour]) {
      expect(await checkStatus(token)).toStrictEqual([401, 'session_expired'])
    }
    for (const { token } of [sessions.long, sessions.extended]) {
      expect.assert((await checkMail(app.url, token)).length > 0)
    }
    if (engine === 'postgres') {
      const past = `select relname from pg_class where relkind = 'r'
        and relname ~ '^(message|raw_mail)_[0-9]+$'
        and substring(relname from '[0-9]+$')::integer < ${Math.floor(later.getTime() / 86_400_000) - 1}`
      await waitUntil(async () => (await postgresRows(store)(past)).length === 0)
    }
    const oldSecret = { headers: { apikey: keys['rolled'] ?? '' } }
    expect((await request(`${app.url}/usage`, oldSecret)).status).toBe(401)
    const newSecret = { headers: { apikey: keys['rolledNew'] ?? '' } }
    expect((await request(`${app.url}/usage`, newSecret)).status).toBe(200)
  })
})

type Rows = Record<string, unknown>[]

function sqliteRows(folder: string) {
  return async (sql: string): Promise<Rows> => {
    const db = openReadOnly(join(folder, 'mail.db'))
    const text = sql.replaceAll('{mail}', '')
    const rows = db.prepare<[], Record<string, unknown>>(text).all()
    db.close()
    return rows
  }
}

function postgresRows(url: string) {
  return async (sql: string): Promise<Rows> => {
    const client = new Client({ connectionString: url })
    await client.connect()
    const text = sql.replaceAll('{mail}', 'mail.')
    return (await client.query<Record<string, unknown>>(text).finally(() => client.end())).rows
  }
}

function expectedOf(expected: Expected) {
  const one = expected[engine]
  expect.assert(one, `nothing is expected of ${engine}`)
  return one
}
