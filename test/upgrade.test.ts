import assert from 'node:assert/strict'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseAddress } from '../src/base/address.ts'
import { secretHash } from '../src/base/id.ts'
import { accountMailDeps } from '../src/gmail/fetch-mail.ts'
import { HMAC_LENGTH } from '../src/mail/rules/ledger.ts'
import { POOL } from '../src/mail/rules/session.ts'
import { openMailStoreForCli } from '../src/runtime/stores.ts'
import { audit } from '../src/store/contract/shares-model.ts'
import { NOT_EXPIRED } from '../src/store/postgres/mail/shared-mailboxes.ts'
import { openReadOnly } from '../src/store/sqlite/files.ts'
import { ACCOUNT, type Credentials, fetchedMail } from './fixtures/fill.ts'
import { observe, openFilled } from './fixtures/observe.ts'
import { checkMail } from './support/api-client.ts'
import { type App, MAIL } from './support/app.ts'
import { engine, restoreDatabase } from './support/engine.ts'
import { post, request } from './support/http-client.ts'
import { claim } from './support/shop-client.ts'
import { tempFolder } from './support/stores.ts'
import { waitUntil } from './support/wait-until.ts'

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
    assert.notDeepEqual(await rows('select * from {mail}sender_share'), [])
    const wrong =
      engine === 'postgres'
        ? `select 1 from mail.message join mail.raw_mail using (bucket, serial)
           where stored is distinct from case when mailbox <= 2 then octet_length(zstd) end`
        : `select 1 from message join raw_bytes using (raw_id)
           where stored is not case when mailbox <= 2 then length(zstd) end`
    assert.deepEqual(await rows(wrong), [])
  })

  if (engine === 'postgres') {
    test('every partition compresses mail', async () => {
      const rows = await postgresRows(store)(
        `select distinct attstorage, attcompression from pg_attribute
         where attname = 'zstd' and attrelid::regclass::text like 'mail.raw_mail%'`,
      )
      assert.deepEqual(rows, [{ attstorage: 'x', attcompression: 'l' }])
    })
  }

  test('an address in use or cooling down is not issued', async () => {
    for (const prefix of ['keyed', 'cooling', 'empty']) {
      const { status, body } = await create(prefix, '2')
      assert.deepEqual([status, body['code']], [409, 'address_taken'], prefix)
    }
    assert.deepEqual(await checkStatus(credentials.cooling.token), [401, 'session_expired'])
    assert.deepEqual(await checkStatus(credentials.former.token), [401, 'invalid_token'])
  })

  test('mail for an address that ever belonged to a session never goes to the pool', async () => {
    for (const { email } of [credentials.cooling, credentials.former]) {
      assert.equal(await app.mail(email), 550, email)
    }
  })

  test('the ledger has an HMAC for each hash of before, and lacks nothing', async () => {
    const rows = engine === 'postgres' ? postgresRows(store) : sqliteRows(folder.path)
    const before = unpacked(engine === 'postgres' ? 'postgres.sql' : 'mail.db')
    const entries = (await rows('select hmac from {mail}address_ledger')).map((row) => row['hmac'])
    const { email } = credentials.former
    assert.ok(before.includes(secretHash(email)))
    for (const entry of entries) assert.ok(!before.includes(String(entry)))
    assert.ok(entries.every((entry) => String(entry).length === HMAC_LENGTH))
    const state = await withStore((mail) => mail.readLedger())
    assert.deepEqual(state, { unknownUntil: undefined, reason: '', pruned: false })
  })

  test('mail fetched before the upgrade is not fetched again', async () => {
    await withStore(async (mail) => {
      const accounts = await mail.listAccounts(app.now())
      const id = accounts.find(({ email }) => email === ACCOUNT)?.id ?? 0
      const bus = { wake() {}, subscribe: () => () => {} }
      const deps = { store: mail, bus, now: app.now, findMailBlock: () => undefined }
      const account = accountMailDeps(deps, id)
      const alias = parseAddress(sessions.alias.email)
      const [found] = await account.findAliases(alias ? [alias] : [])
      assert.ok(found)
      assert.equal(await account.receive(fetchedMail(found.mailbox, openAt)), 'known')
    })
    assert.equal((await checkMail(app.url, sessions.alias.token)).length, 1)
  })

  test('a paid order that was not claimed yields its key', async () => {
    const { status, body } = await claim(app.url, orders.unclaimed)
    assert.equal(status, 200)
    const headers = { apikey: String(body['key']) }
    assert.equal((await request(`${app.url}/emails`, { headers })).status, 200)
  })

  test('old and new sessions receive mail, and so does the pool', async () => {
    const made = await create('newcomer', '2')
    assert.equal(made.status, 200)
    const { parsed, keyed, far, removedDomain } = sessions
    const known = [parsed, keyed, far, removedDomain]
    const before = await Promise.all(known.map(({ token }) => checkMail(app.url, token)))
    const to = [...known.map(({ email }) => email), String(made.body['email']), 'fresh@pool.test']
    assert.equal(await app.mail(to, MAIL), 250)
    for (const [at, { token }] of known.entries()) {
      const [newest, ...others] = await checkMail(app.url, token)
      assert.equal(newest?.subject, 'Hello')
      assert.deepEqual(others, before[at])
      assert.ok(newest.id > (others[0]?.id ?? 0))
    }
    assert.equal((await checkMail(app.url, String(made.body['token']))).length, 1)
    const headers = { apikey: keys['starter'] ?? '' }
    const pooled = await request(`${app.url}/emails?to=fresh@pool.test`, { headers })
    assert.match(pooled.text, /Hello/)
  })

  test('old sessions have no rules; new ones may have', async () => {
    const { body } = await request(`${app.url}/api/check-mail?token=${sessions['parsed']?.token}`)
    assert.deepEqual([body['status'], 'rules' in body, 'full' in body], ['success', false, false])
    const made = await post(`${app.url}/api/create-session`, { domain_id: '2', max_messages: '1' })
    const to = String(made.body['email'])
    assert.deepEqual([await app.mail(to, MAIL), await app.mail(to, MAIL)], [250, 550])
  })

  test('a live session is extended with its mail; one in its cool-down is revived, empty', async () => {
    const extend = (token: string) => post(`${app.url}/api/extend-session`, { token })
    const mails = await checkMail(app.url, sessions.unparsed.token)
    const extended = await extend(sessions.unparsed.token)
    assert.equal(extended.status, 200)
    const lifeMs = Date.parse(String(extended.body['expires_at_iso'])) - app.now().getTime()
    assert.ok(lifeMs > 86_390_000 && lifeMs <= 86_400_000, `${lifeMs} ms`)
    assert.deepEqual(await checkMail(app.url, sessions.unparsed.token), mails)
    assert.equal((await extend(credentials.cooling.token)).status, 200)
    assert.deepEqual(await checkMail(app.url, credentials.cooling.token), [])
  })

  test('after a restart two days later expired data is swept, and the rest is there', async () => {
    const poolMails = () => withStore(async (mail) => (await mail.readSharedMailbox(POOL)).count)
    assert.ok((await poolMails()) > 0)
    await app.stop()
    const later = new Date(openAt.getTime() + 2 * 86_400_000)
    app = await openFilled({ store, folder: { ...folder, remove() {} }, at: later })
    await waitUntil(async () => (await poolMails()) === 0)
    for (const { token } of [sessions.parsed, sessions.keyed, sessions.hour]) {
      assert.deepEqual(await checkStatus(token), [401, 'session_expired'])
    }
    for (const { token } of [sessions.long, sessions.extended]) {
      assert.ok((await checkMail(app.url, token)).length > 0)
    }
    if (engine === 'postgres') {
      const past = `select relname from pg_class where relkind = 'r'
        and relname ~ '^(message|raw_mail)_[0-9]+$'
        and substring(relname from '[0-9]+$')::integer < ${Math.floor(later.getTime() / 86_400_000) - 1}`
      await waitUntil(async () => (await postgresRows(store)(past)).length === 0)
    }
    const oldSecret = { headers: { apikey: keys['rolled'] ?? '' } }
    assert.equal((await request(`${app.url}/usage`, oldSecret)).status, 401)
    const newSecret = { headers: { apikey: keys['rolledNew'] ?? '' } }
    assert.equal((await request(`${app.url}/usage`, newSecret)).status, 200)
  })
})

type Rows = Record<string, unknown>[]

function sqliteRows(folder: string) {
  return async (sql: string): Promise<Rows> => {
    const db = openReadOnly(join(folder, 'mail.db'))
    const text = sql.replaceAll('{mail}', '').replaceAll('{there}', 'true')
    const rows = db.prepare<[], Record<string, unknown>>(text).all()
    db.close()
    return rows
  }
}

function postgresRows(url: string) {
  return async (sql: string): Promise<Rows> => {
    const client = new Client({ connectionString: url })
    await client.connect()
    const text = sql.replaceAll('{mail}', 'mail.').replaceAll('{there}', NOT_EXPIRED)
    return (await client.query<Record<string, unknown>>(text).finally(() => client.end())).rows
  }
}

function expectedOf(expected: Expected) {
  const one = expected[engine]
  assert.ok(one, `nothing is expected of ${engine}`)
  return one
}
