import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Address } from '../../base/address.ts'
import { secretHash } from '../../base/id.ts'
import { openReadOnly } from '../sqlite/files.ts'
import {
  ANN,
  backupFolders,
  changeFile,
  entriesIn,
  inFile,
  NOW,
} from '../sqlite/testing/backup-folders.ts'
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
    ...['mail_log', 'mail_log_address', 'mail_log_counter', 'mail_log_forgotten'],
    ...['door_account', 'door_token', 'door_seen'],
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

describe('after a restore', () => {
  test('the ledger is unknown, because sessions since the backup are missing, and keeps its entries', async () => {
    await fill()
    backup()
    restore()
    const hmac = await start(empty)
    expect(await reasonIn(empty)).toBe('lost')
    expect(entriesIn(empty)).toContain(hmac.of(ANN))
  })

  test('addresses that are never assigned again stay so, in a mail.db that is kept, too', async () => {
    const hmac = await start()
    const keep = (entry: string) =>
      inFile(data, (db) => db.prepare('insert into kept_address values (?)').run(entry))
    const kept = (folder: string) =>
      inFile(folder, (db) => db.prepare('select hmac from kept_address order by 1').pluck().all())
    keep(hmac.of(ANN))
    backup()
    restore()
    expect(kept(empty)).toEqual([hmac.of(ANN)])
    rmSync(join(data, 'mail.db'))
    await start()
    keep('another')
    expect(restore(data)).toMatchObject({ keptMail: true })
    expect(kept(data)).toEqual([hmac.of(ANN), 'another'].sort())
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
