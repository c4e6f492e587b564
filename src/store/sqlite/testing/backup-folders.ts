import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import { tempFolder } from '../../../../test/kit/store/stores.ts'
import { type Address, type Host, parseHost } from '../../../base/address.ts'
import type { BlockEntry } from '../../../blocks/rules.ts'
import { openLedgerHmac } from '../../../mail/rules/ledger.ts'
import { readConfig } from '../../../runtime/config.ts'
import { openLedger } from '../../../runtime/ledger.ts'
import { openMailStoreForCli, openShopStoreForCli } from '../../../runtime/stores.ts'
import { writeBackup } from '../../backup/backup.ts'
import { restoreBackup } from '../../backup/restore.ts'
import { openWritable } from '../files.ts'
import { openMigrated } from '../migrate.ts'

export const NOW = new Date('2026-03-01T12:00:00Z')
export const ANN = 'ann@pool.test' as Address
const quiet = () => {}
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }

type Mail = Awaited<ReturnType<typeof openMailStoreForCli>>

/** A data folder to back up, the file of the backup, and an empty folder to restore it to, for each test. */
export function backupFolders() {
  const paths = { scratch: '', data: '', file: '', empty: '' }
  let scratch: ReturnType<typeof tempFolder>
  beforeEach(() => {
    scratch = tempFolder()
    paths.scratch = scratch.path
    for (const name of ['data', 'file', 'empty'] as const) paths[name] = join(scratch.path, name)
  })
  afterEach(() => scratch.remove())

  const backup = (folder = paths.data, file = paths.file) =>
    writeBackup(folder, file, { force: false, tell: quiet })
  const restore = (folder = paths.empty, from = paths.file, now = NOW) =>
    restoreBackup(folder, from, { now, tell: quiet })
  return { paths, backup, restore, ...installations(paths) }
}

function installations(paths: { data: string }) {
  /** As the service does it. Returns the HMACs of the ledger. */
  async function start(folder = paths.data) {
    const shop = await openShopStoreForCli(configOf(folder))
    const key = await openLedger(configOf(folder), { shop, now: NOW, log }).finally(shop.close)
    return openLedgerHmac(key)
  }

  async function inMail<T>(
    operation: (store: Mail) => Promise<T>,
    folder = paths.data,
  ): Promise<T> {
    const store = await openMailStoreForCli(configOf(folder))
    return await operation(store).finally(store.close)
  }

  const addDomain = (name: string, folder = paths.data) => {
    const domain = { sessions: true, reader: true, ttlSeconds: 60 }
    return inMail((store) => store.addDomain({ ...domain, name: parseHost(name) as Host }), folder)
  }
  const block = (entry: string) =>
    inMail((store) =>
      store.addBlocks({
        entries: [entry as BlockEntry],
        note: 'n',
        expiresAt: undefined,
        now: NOW,
      }),
    )
  const addEntry = (entry: string) =>
    inFile(paths.data, (db) => db.prepare('insert into address_ledger values (?)').run(entry))

  /** An installation in which everything that a backup has is there, and some that it has not. */
  async function fill(): Promise<void> {
    const hmac = await start()
    for (const name of ['gone.test', 'pool.test']) await addDomain(name)
    await inMail((store) => store.changeDomain('gone.test' as Host, { removed: true }))
    await inMail((store) => store.addAccount('joe@gmail.com' as Address))
    for (const entry of ['bad.test', 'worse.test']) await block(entry)
    addEntry(hmac.of(ANN))
    inFile(paths.data, (db) =>
      db.exec(`insert into session (id, address, created_at, expires_at) values (7, '${ANN}', 0, 0);
        insert into message (mailbox, id, raw_id, recipient, sender_name, sender_email, subject,
          received_at, size) values (1, 1, 1, '${ANN}', '', '', 'Private subject', 0, 0)`),
    )
  }

  const observed = (folder: string) =>
    inMail(
      async (store) => [
        await store.listDomains(),
        await store.listAccounts(NOW),
        await store.listBlocks({ now: NOW, limit: 9 }),
        await store.lastBlockChange(),
      ],
      folder,
    )
  const reasonIn = async (folder: string) =>
    (await inMail((store) => store.readLedger(), folder))?.reason
  return { start, inMail, addDomain, block, addEntry, fill, observed, reasonIn }
}

const configOf = (folder: string) => readConfig({ env: { MAYFLY_DATA: folder }, file: {} }).config

export function inFile<T>(
  folder: string,
  operation: (db: ReturnType<typeof openMigrated>) => T,
  kind: 'mail' | 'shop' = 'mail',
): T {
  const db = openMigrated(folder, kind)
  try {
    return operation(db)
  } finally {
    db.close()
  }
}

export const entriesIn = (folder: string) =>
  inFile(folder, (db) => db.prepare('select hmac from address_ledger order by 1').pluck().all())

/** Changes a file, and leaves no WAL beside it. */
export function changeFile(path: string, sql: string): void {
  const db = openWritable(path)
  db.exec(sql)
  db.pragma('journal_mode = DELETE')
  db.close()
}
