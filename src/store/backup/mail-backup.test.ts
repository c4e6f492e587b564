import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { beforeEach, describe, expect, test } from 'vitest'
import { head, newMail } from '../../../test/kit/store/fixture.ts'
import type { Address, Host } from '../../base/address.ts'
import { secretHash } from '../../base/id.ts'
import { decideRecipient, type Recipient } from '../../mail/rules/recipient.ts'
import { PERMANENT, POOL } from '../../mail/rules/session.ts'
import { openReadOnly } from '../sqlite/files.ts'
import {
  ANN,
  backupFolders,
  changeFile,
  entriesIn,
  inFile,
  NOW,
} from '../sqlite/testing/backup-folders.ts'
import type { Store } from '../store.ts'
import { BackupRefused } from './backup.ts'
import { tableNames } from './mail-backup.ts'

const FIXTURES = new URL('../../../test/fixtures/0.1.0/', import.meta.url)
const { paths, backup, restore, start, inMail, addDomain, block, fill, observed, reasonIn } =
  backupFolders()
let [data, file, empty] = ['', '', '']
beforeEach(() => {
  ;({ data, file, empty } = paths)
})

describe('a backup', () => {
  test('brings back domains, accounts, the block list and the ledger, on an empty disk', async () => {
    await fill()
    expect(backup()).toMatchObject({ keys: 0, blocks: 2, addresses: 1 })
    expect(restore()).toMatchObject({ blocks: 2, addresses: 1, keptMail: false })
    expect(await observed(empty)).toEqual(await observed(data))
    expect(entriesIn(empty)).toEqual(entriesIn(data))
    expect((await addDomain('next.test', empty))?.id).toBe((await addDomain('next.test'))?.id)
    expect(readdirSync(empty).sort()).toEqual(['lock.db', 'mail.db', 'shop.db'])
  })

  test('has neither addresses nor mail', async () => {
    await fill()
    backup()
    const bytes = readFileSync(file)
    for (const text of [ANN, 'Private subject']) expect(bytes.includes(text)).toBe(false)
    restore()
    expect(readFileSync(join(empty, 'mail.db')).includes(ANN)).toBe(false)
  })

  // Whoever adds a table decides. Mail, sessions and what belongs to them; what the service finds out again; counts and logs.
  const LEFT_OUT = [
    ...['message', 'raw_mail', 'raw_bytes', 'parsed_mail', 'shared_mailbox', 'pool_address'],
    ...['sender_share', 'key_view', 'gmail_folder', 'gmail_seen', 'gmail_deferred'],
    ...['ledger_state', 'check_run', 'series', 'tls_entry'],
    ...['mail_log', 'mail_log_address', 'mail_log_counter'],
  ]

  test('has every table of mail.db that is not left out on purpose', async () => {
    await fill()
    backup()
    const own = inFile(data, (db) => tableNames(db)).filter((name) => !/^sqlite_/.test(name))
    const saved = tableNames(openReadOnly(file))
    expect(own.filter((name) => !saved.includes(name)).sort()).toEqual(LEFT_OUT.sort())
  })

  test('leaves nothing of mail.db in the restored shop', async () => {
    await fill()
    const [entry = ''] = entriesIn(data).map(String)
    backup()
    restore()
    expect(readFileSync(join(empty, 'shop.db')).includes(entry)).toBe(false)
  })

  test('of a damaged mail.db is refused', async () => {
    await fill()
    writeFileSync(join(data, 'mail.db'), 'garbage '.repeat(2_000))
    expect(() => backup()).toThrow(/mail\.db is damaged/)
    expect(existsSync(file)).toBe(false)
  })
})

/** With the methods that a command does not need. */
const inStore = <T>(operation: (store: Store) => Promise<T>, folder?: string) =>
  inMail((store) => operation(store as unknown as Store), folder)

/** own.test is that of key k1, with the permanent address ann@own.test, and has some mail. */
async function fillOwnDomain() {
  await fill()
  const name = 'own.test' as Host
  const claim = { id: 'dom_1', keyId: 'k1', name, token: 't', createdAt: NOW }
  const session = {
    ...{ address: 'ann@own.test' as Address, tokenHash: 'h', keyId: 'k1', ownDomain: name },
    ...{ createdAt: NOW, expiresAt: PERMANENT, cooldownMs: 0, label: 'for good' },
  }
  await inStore(async (store) => {
    await store.addOwnDomain(claim, 1)
    await store.activateOwnDomain({ id: 'dom_1', keyId: 'k1', now: NOW })
    await store.createSession(session)
    const recipients = [await accepted(store, 'any@own.test'), await accepted(store, ANN_OWN)]
    const mail = newMail(recipients, { head: head('Private subject') })
    expect((await store.addMail(mail)).outcome).toBe('stored')
  })
}
const ANN_OWN = 'ann@own.test'

async function accepted(store: Pick<Store, 'findRecipient'>, text: string): Promise<Recipient> {
  const facts = await store.findRecipient(text as Address)
  const limits = {
    ...{ mailbox: { maxMessages: 9, maxBytes: 1e6 }, maxMailBytes: 1e6 },
    ...{ poolMaxBytes: 1e6, ownMaxBytes: 3 },
  }
  const found = decideRecipient(text as Address, facts, { limits, now: NOW, size: 0 })
  expect.assert('mailbox' in found)
  return { address: text as Address, ...found }
}

describe('a domain of a key holder', () => {
  test('is still theirs after a restore, with its permanent addresses, and empty', async () => {
    await fillOwnDomain()
    backup()
    expect(readFileSync(file).includes('Private subject')).toBe(false)
    restore()
    await start(empty)
    await inStore(async (store) => {
      expect(await store.findDomain('own.test' as Host)).toMatchObject({ owner: 'k1' })
      expect((await store.listDomains()).map(({ name }) => name)).not.toContain('own.test')
      // Another key may have taken it over since: not until its record has been found.
      expect(await store.listOwnDomains('k1')).toMatchObject([
        { state: 'suspended', reason: 'not_checked', checkedAt: undefined, name: 'own.test' },
      ])
      expect(await store.findDomain('own.test' as Host)).toMatchObject({ active: false })
      await store.changeOwnDomain('dom_1', { state: 'active', reason: null })
      const page = { keyId: 'k1', now: NOW, beforeId: undefined, limit: 9 }
      expect(await store.listKeySessions(page)).toMatchObject([
        { address: ANN_OWN, label: 'for good', count: 0, bytes: 0 },
      ])
      // It may have been replaced since the backup.
      expect(await store.findSession('h')).toBeUndefined()
      const recipients = [await accepted(store, 'any@own.test'), await accepted(store, ANN_OWN)]
      const mailboxes = recipients.map(({ mailbox }) => mailbox)
      expect(mailboxes).not.toContain(POOL)
      const scope = { keyId: 'k1', pool: false, to: undefined, now: NOW }
      const all = { sinceId: 0, beforeId: undefined, limit: 9 }
      expect(await store.listKeyMail(scope, all)).toStrictEqual([])
      await store.addMail(newMail(recipients, { head: head('after') }))
      expect((await store.listKeyMail(scope, all)).map(({ subject }) => subject)).toStrictEqual([
        ...['after', 'after'],
      ])
      expect(await store.listKeyMail({ ...scope, keyId: 'k2', pool: true }, all)).toStrictEqual([])
    }, empty)
  })

  test('that its holder has given up since the backup does not come back into a mail.db that is kept', async () => {
    await fillOwnDomain()
    backup()
    await inStore((store) => store.deleteOwnDomain('dom_1', 'k1', NOW))
    expect(restore(data)).toMatchObject({ keptMail: true })
    await inStore(async (store) => {
      expect(await store.findDomain('own.test' as Host)).toBeUndefined()
      expect(await store.listOwnDomains('k1')).toStrictEqual([])
    })
  })
})

describe('after a restore', () => {
  test('the ledger is unknown, because sessions since the backup are missing, and keeps its entries', async () => {
    await fill()
    backup()
    restore()
    const hmac = await start(empty)
    expect(await reasonIn(empty)).toBe('lost')
    expect(entriesIn(empty)).toContain(hmac.of(ANN))
  })

  test('a newer mail.db of the same installation is as before', async () => {
    await fill()
    backup()
    await block('newest.test')
    const before = await observed(data)
    expect(restore(data)).toMatchObject({ keptMail: true, previous: { mail: undefined } })
    expect(await observed(data)).toEqual(before)
    await start()
    expect(await reasonIn(data)).toBe('')
  })

  test.each([
    ['of another installation', async () => void (await start(empty))],
    ['that a command has made', async () => void (await addDomain('mine.test', empty))],
    [
      'that is damaged',
      async () => {
        await start(empty)
        writeFileSync(join(empty, 'mail.db'), 'garbage '.repeat(2_000))
      },
    ],
  ])('a mail.db %s is replaced, and kept', async (_name, prepare) => {
    await fill()
    backup()
    await prepare()
    const before = readFileSync(join(empty, 'mail.db'))
    const { previous, keptMail } = restore()
    expect(keptMail).toBe(false)
    const kept = readFileSync(previous.mail ?? '')
    expect(kept.subarray(100).equals(before.subarray(100))).toBe(true)
    expect(await observed(empty)).toEqual(await observed(data))
    await start(empty)
    expect(await reasonIn(empty)).toBe('lost')
  })

  test('of a lost mail.db, the newer shop can be restored again, and mail.db stays', async () => {
    await fill()
    backup()
    inFile(data, (db) => db.exec(`insert into reconciled values ('newer', 1)`), 'shop')
    const before = [await observed(data), entriesIn(data)]
    rmSync(join(data, 'mail.db'))
    const { previous } = restore(data)
    restore(data, previous.shop, new Date(NOW.getTime() + 1))
    expect([await observed(data), entriesIn(data)]).toEqual(before)
    expect(inFile(data, (db) => db.prepare('select 1 from reconciled').all(), 'shop')).toHaveLength(
      1,
    )
    await start()
    expect(await reasonIn(data)).toBe('lost')
  })

  test('nothing has changed if mail.db is in use by another command', async () => {
    await fill()
    backup()
    await start(empty)
    const names = () => readdirSync(empty).filter((name) => name !== 'lock.db')
    const before = names()
    await inMail(async () => {
      expect(() => restore()).toThrow(/mail\.db is in use by another command/)
    }, empty)
    expect(names()).toEqual(before)
  })
})

describe('data of version 0.1.0', () => {
  const unpack = (name: string, folder: string) =>
    writeFileSync(join(folder, name), gunzipSync(readFileSync(new URL(`${name}.gz`, FIXTURES))))
  const { sqlite } = JSON.parse(readFileSync(new URL('expected.json', FIXTURES), 'utf8'))
  const former: Address = sqlite.credentials.former.email

  test('backed up before its first start, is converted after the restore', async () => {
    // Creates the folder.
    await start()
    for (const name of readdirSync(data)) rmSync(join(data, name))
    for (const name of ['mail.db', 'shop.db']) unpack(name, data)
    expect(backup().addresses).toBeGreaterThan(5)
    restore()
    expect(entriesIn(empty)).toContain(secretHash(former))
    const hmac = await start(empty)
    expect(entriesIn(empty)).toContain(hmac.of(former))
    expect(entriesIn(empty)).not.toContain(secretHash(former))
    expect(await reasonIn(empty)).toBe('lost')
  })

  test('a backup of then has no ledger, which is unknown', async () => {
    unpack('shop.db', paths.scratch)
    copyFileSync(join(paths.scratch, 'shop.db'), file)
    expect(restore()).toMatchObject({ addresses: 0, keptMail: undefined })
    await start(empty)
    expect(await reasonIn(empty)).toBe('lost')
  })

  test('a backup of then without a secret does not pass for a new installation', async () => {
    unpack('shop.db', paths.scratch)
    copyFileSync(join(paths.scratch, 'shop.db'), file)
    changeFile(file, 'delete from installation; delete from usage_day')
    restore()
    await start(empty)
    expect(await reasonIn(empty)).toBe('lost')
  })
})

test.each([
  ['without one of its columns', 'alter table mail_domain drop column reader'],
  ['with a row that its schema does not permit', `update mail_domain set name = null`],
  ['of a newer version', 'update mail_backup set version = 99'],
  ['with another table', 'create table mine (a)'],
])('a backup of mail.db %s is refused, and nothing changes', async (_name, sql) => {
  await fill()
  backup()
  changeFile(file, sql)
  expect(() => restore()).toThrow(BackupRefused)
  expect(readdirSync(empty)).toEqual(['lock.db'])
})
