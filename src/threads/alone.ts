import { mkdirSync } from 'node:fs'
import type { Config } from '../config.ts'
import { groupCommit, type Write } from '../store/sqlite/group-commit.ts'
import { allMailWrites, type MailWrites, openSqliteMail } from '../store/sqlite/mail-store.ts'
import { openMigrated } from '../store/sqlite/migrate.ts'
import { makeVersions, openVersions } from '../store/sqlite/versions.ts'
import type { MailStore } from '../store/store.ts'
import { receiveLimits } from './setup.ts'

/**
 * The mail store of a command that runs beside the service: it writes in short transactions of its own. Only domains
 * may be written so: the service's threads look at them anew each time, but trust their own writer about sessions.
 */
export function openMailAlone(config: Config): MailStore {
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
