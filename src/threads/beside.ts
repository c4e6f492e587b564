import { mkdirSync } from 'node:fs'
import type { Config } from '../config.ts'
import { groupCommit, type Write } from '../store/sqlite/group-commit.ts'
import { allMailWrites, type MailWrites, openSqliteMail } from '../store/sqlite/mail-store.ts'
import { openMigrated } from '../store/sqlite/migrate.ts'
import { makeVersions, openVersions } from '../store/sqlite/versions.ts'
import type { MailStore } from '../store/store.ts'
import { receiveLimits } from './setup.ts'

/** What the service's threads look at anew each time. About sessions and messages they trust their own writer alone. */
export type StoreBeside = Omit<
  MailStore,
  | 'createSession'
  | 'findSession'
  | 'extendSession'
  | 'reviveSession'
  | 'endSession'
  | 'addMail'
  | 'deleteMessage'
  | 'sweep'
>

/** The mail store of a command that runs beside the service: it writes in short transactions of its own. */
export function openMailBeside(config: Config): StoreBeside {
  const { data: folder, minFreeBytes } = config
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const db = openMigrated(folder, 'mail')
  const versions = openVersions(makeVersions())
  const commit = groupCommit(
    db,
    allMailWrites(db, receiveLimits(config), Math.random),
    versions.add,
  )

  const write = async (name: string, value: unknown) => {
    const [outcome] = commit([{ name, value }])
    if (!outcome || 'error' in outcome) throw outcome?.error
    return outcome.result
  }
  const store = openSqliteMail({
    folder,
    minFreeBytes,
    write: write as Write<MailWrites>,
    versions,
  })
  return {
    ...store,
    async close() {
      await store.close()
      db.close()
    },
  }
}
