import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Address } from '../../base/address.ts'
import { secretHash } from '../../base/id.ts'
import { lockFolder } from '../sqlite/files.ts'
import { openMigrated } from '../sqlite/migrate.ts'
import {
  ANN,
  backupFolders,
  changeFile,
  entriesIn,
  inFile,
  NOW,
} from '../sqlite/testing/backup-folders.ts'

// What a restore does with a mail.db that is already there.

const BOB = 'bob@pool.test' as Address
const { paths, backup, restore, start, addDomain, block, addEntry, fill, observed, reasonIn } =
  backupFolders()
let [data, empty] = ['', '']
beforeEach(() => {
  ;({ data, empty } = paths)
})

/** Of domains, accounts and blocks. */
const namesIn = (folder: string) =>
  inFile(folder, (db) =>
    db
      .prepare(
        `select name from mail_domain union all select email from gmail_account
         union all select entry from block_entry order by 1`,
      )
      .pluck()
      .all(),
  )

const OLD_SCHEMA = 13
/** The mail.db of a service of version 0.3 that has run. */
const makeOld = (folder: string, hash: string) => {
  lockFolder(folder)()
  const db = openMigrated(folder, 'mail', { upTo: OLD_SCHEMA })
  db.exec(`insert into mail_domain (name, sessions, reader) values ('pool.test', 1, 1);
    insert into session (id, address, created_at, expires_at) values (9, 'kept@pool.test', 0, 0);
    insert into address_ledger values ('${hash}')`)
  db.close()
}

describe('over a mail.db that the service has made again under the same secret', () => {
  test('the addresses, domains, accounts and blocks that it lacks are added', async () => {
    await fill()
    backup()
    const before = namesIn(data)
    rmSync(join(data, 'mail.db'))
    const hmac = await start()
    await addDomain('new.test')
    await block('newest.test')
    addEntry(hmac.of(BOB))
    expect(restore(data)).toMatchObject({ keptMail: true })
    expect(entriesIn(data)).toEqual([hmac.check, hmac.of(ANN), hmac.of(BOB)].sort())
    expect(namesIn(data)).toEqual([...before, 'new.test', 'newest.test'].sort())
    // A thread that reads on from the last change misses none.
    const [, , blocks, last] = await observed(data)
    expect(blocks).toMatchObject([{ number: last }, {}, { number: 1 }])
    await start()
    expect(await reasonIn(data)).toBe('lost')
  })

  test('the hashes of a backup that was made before the conversion are converted', async () => {
    const hmac = await start()
    inFile(data, (db) =>
      db.exec(
        `delete from address_ledger; insert into address_ledger values ('${secretHash(ANN)}')`,
      ),
    )
    backup()
    rmSync(join(data, 'mail.db'))
    await start()
    restore(data)
    await start()
    expect(entriesIn(data)).toEqual([hmac.check, hmac.of(ANN)].sort())
  })
})

test('of two backups one after the other, the second is there', async () => {
  await fill()
  backup()
  const hmac = await start()
  addEntry(hmac.of(BOB))
  await block('tuesday.test')
  const tuesday = join(paths.scratch, 'tuesday.db')
  backup(data, tuesday)
  restore()
  restore(empty, tuesday, new Date(NOW.getTime() + 1))
  expect(await observed(empty)).toEqual(await observed(data))
  expect(entriesIn(empty)).toEqual(entriesIn(data))
})

describe('over the mail.db of an earlier version', () => {
  const sessionsIn = (folder: string) =>
    inFile(folder, (db) => db.prepare('select id from session').pluck().all())

  test('a backup without a ledger makes it unknown', async () => {
    makeOld(empty, secretHash(BOB))
    const shop = join(paths.scratch, 'shop.db')
    inFile(paths.scratch, () => {}, 'shop')
    changeFile(shop, '')
    expect(restore(empty, shop)).toMatchObject({ keptMail: true })
    const hmac = await start(empty)
    expect(await reasonIn(empty)).toBe('lost')
    expect([sessionsIn(empty), entriesIn(empty)]).toEqual([[9], [hmac.check, hmac.of(BOB)].sort()])
  })

  test.each([
    ['as that version left it', () => {}],
    ['after a command has migrated it', () => openMigrated(empty, 'mail').close()],
    ['after an earlier restore', () => void restore(empty, undefined, new Date(0))],
  ])('it is kept, with its sessions, and has the addresses of both: %s', async (_name, prepare) => {
    await fill()
    backup()
    makeOld(empty, secretHash(BOB))
    prepare()
    expect(restore()).toMatchObject({ keptMail: true, previous: { mail: undefined } })
    const hmac = await start(empty)
    expect(await reasonIn(empty)).toBe('lost')
    expect(sessionsIn(empty)).toEqual([9])
    expect(entriesIn(empty)).toEqual([hmac.check, hmac.of(ANN), hmac.of(BOB)].sort())
  })

  test('a backup that was made before the first start counts every address', () => {
    makeOld(empty, secretHash(BOB))
    inFile(empty, () => {}, 'shop')
    expect(backup(empty)).toMatchObject({ addresses: 1 })
    expect(restore(empty)).toMatchObject({ addresses: 1, keptMail: true })
  })
})

// After a crash between the two, mail.db is there, and shop.db is not.
test.each([
  ['HMACs', () => fill()],
  ['hashes of version 0.3', () => makeOld(data, secretHash(ANN))],
  ['no address yet', () => addDomain('pool.test')],
])('a restored ledger with %s is unknown without its shop', async (_name, prepare) => {
  await prepare()
  inFile(data, () => {}, 'shop')
  backup()
  restore()
  rmSync(join(empty, 'shop.db'))
  await start(empty)
  expect(await reasonIn(empty)).toMatch(/^(lost|secret)$/)
})
