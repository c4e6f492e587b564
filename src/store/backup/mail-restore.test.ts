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

/** Names of domains, accounts and blocks. */
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
const SESSION = `insert into session (id, address, created_at, expires_at) values (9, 'kept@pool.test', 0, 0)`
const POOL_MAIL = `insert into message (mailbox, id, raw_id, recipient, sender_name, sender_email,
  subject, received_at, size) values (1, 9, 1, 'kept@pool.test', '', '', '', 0, 0)`
/** The mail.db of a service of version 0.3 that has run. */
const makeOld = (folder: string, hash: string, contents = SESSION) => {
  lockFolder(folder)()
  const db = openMigrated(folder, 'mail', { upTo: OLD_SCHEMA })
  db.exec(`insert into mail_domain (name, sessions, reader) values ('pool.test', 1, 1);
    insert into address_ledger values ('${hash}'); ${contents}`)
  db.close()
}
const idsIn = (folder: string) =>
  inFile(folder, (db) =>
    db.prepare('select id from session union all select id from message').pluck().all(),
  )
const LATER = new Date(NOW.getTime() + 1)

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
  restore(empty, tuesday, LATER)
  expect(await observed(empty)).toEqual(await observed(data))
  expect(entriesIn(empty)).toEqual(entriesIn(data))
})

describe('over the mail.db of an earlier version', () => {
  test('a backup without a ledger makes it unknown', async () => {
    makeOld(empty, secretHash(BOB))
    const shop = join(paths.scratch, 'shop.db')
    inFile(paths.scratch, () => {}, 'shop')
    changeFile(shop, '')
    expect(restore(empty, shop)).toMatchObject({ keptMail: true })
    const hmac = await start(empty)
    expect(await reasonIn(empty)).toBe('lost')
    expect([idsIn(empty), entriesIn(empty)]).toEqual([[9], [hmac.check, hmac.of(BOB)].sort()])
  })

  const restoreEarlier = () => void restore(empty, undefined, new Date(0))
  test.each([
    ['its sessions, as that version left it', SESSION, () => {}],
    ['its sessions, after a command', SESSION, () => openMigrated(empty, 'mail').close()],
    ['its sessions, after an earlier restore', SESSION, restoreEarlier],
    ['only mail of the pool, after an earlier restore', POOL_MAIL, restoreEarlier],
  ])('it is kept, with %s, and has the addresses of both', async (_name, contents, prepare) => {
    await fill()
    backup()
    makeOld(empty, secretHash(BOB), contents)
    prepare()
    expect(restore()).toMatchObject({ keptMail: true, previous: { mail: undefined } })
    const hmac = await start(empty)
    expect(await reasonIn(empty)).toBe('lost')
    expect(idsIn(empty)).toEqual([9])
    expect(entriesIn(empty)).toEqual([hmac.check, hmac.of(ANN), hmac.of(BOB)].sort())
  })

  test('it is kept, also after a restore under another secret', async () => {
    await addDomain('pool.test')
    inFile(data, () => {}, 'shop')
    backup()
    makeOld(empty, secretHash(BOB), POOL_MAIL)
    // The backup has no secret: each restore makes one.
    restore()
    expect(restore(empty, undefined, LATER)).toMatchObject({ keptMail: true })
    const hmac = await start(empty)
    expect(idsIn(empty)).toEqual([9])
    expect(entriesIn(empty)).toContain(hmac.of(BOB))
  })

  test('a backup that was made before the first start counts every address', () => {
    makeOld(empty, secretHash(BOB))
    inFile(empty, () => {}, 'shop')
    expect(backup(empty)).toMatchObject({ addresses: 1 })
    expect(restore(empty)).toMatchObject({ addresses: 1, keptMail: true })
  })
})

describe('the mail of another installation is set aside', () => {
  test.each([
    ['its backup', ['file']],
    ['the shop of the other', ['shop']],
    ['both', ['file', 'shop']],
  ])('also after the restore of %s', async (_name, earlier) => {
    await fill()
    backup()
    await start(empty)
    const [other, shop] = [join(paths.scratch, 'other.db'), join(empty, 'shop.db')]
    backup(empty, other)
    changeFile(shop, '')
    for (const [day, from] of earlier.entries()) {
      const path = from === 'shop' ? shop : undefined
      expect(restore(data, path, new Date(day))).toMatchObject({ keptMail: true })
    }
    expect(restore(data, other)).toMatchObject({ keptMail: false })
    expect([idsIn(data), entriesIn(data)]).toEqual([[], entriesIn(empty)])
  })
})

test('the mail of another installation stays with a shop alone, and its ledger is unknown', async () => {
  await fill()
  await start(empty)
  const shop = join(empty, 'shop.db')
  changeFile(shop, '')
  expect(restore(data, shop)).toMatchObject({ keptMail: true })
  const hmac = await start()
  expect(await reasonIn(data)).toBe('secret')
  expect(entriesIn(data)).toEqual([hmac.check, hmac.of(ANN)].sort())
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
