import { renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { openPostgres } from './postgres.ts'
import { scratchFolder } from './scratch.ts'

const STANDBY = 'standby'

/**
 * A PostgreSQL and a streaming replica of it behind one address that stays the same, as a virtual IP does: a link to the
 * folder with the socket of whichever is the primary.
 */
export async function openReplicated() {
  const folder = scratchFolder()
  const address = join(folder.path, 'primary')
  const primary = await openPostgres()
  const database = await primary.database()
  const standby = await openPostgres({ replica: { of: primary, name: STANDBY } })
  const point = (path: string) => {
    symlinkSync(path, `${address}.new`)
    renameSync(`${address}.new`, address)
  }
  point(primary.path)

  const attached = async (state: string) =>
    (await primary.run(`select 1 from pg_stat_replication where sync_state = '${state}'`)).length >
    0

  return {
    store: `postgres://mayfly@localhost/${database}?host=${encodeURIComponent(address)}`,
    /** From here on a commit is one only when the replica has it on disk too. */
    async synchronous(): Promise<void> {
      await primary.run(`alter system set synchronous_standby_names = '${STANDBY}'`)
      await primary.run('select pg_reload_conf()')
      while (!(await attached('sync'))) await new Promise(setImmediate)
    },
    /** Lets the replica hear everything so far, and nothing from here on. */
    async cutOff(): Promise<void> {
      const [row] = await primary.run('select pg_current_wal_lsn() as place')
      const { place } = row as { place: string }
      const heard = `select 1 where pg_last_wal_replay_lsn() >= '${place}'`
      while ((await standby.run(heard)).length === 0) await new Promise(setImmediate)
      await standby.run("alter system set primary_conninfo = ''")
      await standby.run('select pg_reload_conf()')
      while (await attached('async')) await new Promise(setImmediate)
    },
    /** The primary dies, the replica takes its place and its address. */
    async failOver(signal: NodeJS.Signals): Promise<void> {
      await primary.stop(signal)
      await standby.run('select pg_promote()')
      point(standby.path)
    },
    async close() {
      await standby.close()
      await primary.close()
      folder.remove()
    },
  }
}
