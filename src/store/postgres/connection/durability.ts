import { Client, type ClientBase, type ClientConfig } from 'pg'

// With fsync or synchronous_commit off PostgreSQL acknowledges commits that a crash undoes. Both can change at any time: by a
// reload, by ALTER ROLE or ALTER DATABASE for sessions that begin later, by a failover to a server with other settings.
// full_page_writes is the operator's: it may be off on a file system that never tears a page.

/** The settings of a session, as columns. */
export const DURABILITY = `current_setting('fsync') as fsync,
  current_setting('synchronous_commit') as synchronous_commit`

export interface DurabilityRow {
  fsync: string
  synchronous_commit: string
}

/** Why commits of this session could be lost, undefined if they cannot. */
export function durabilityFault(row: DurabilityRow | undefined): string | undefined {
  if (row?.fsync === 'off') return 'fsync is off: acknowledged mail could be lost'
  if (row?.synchronous_commit === 'off') {
    return 'synchronous_commit is off: acknowledged mail could be lost'
  }
  return undefined
}

/**
 * Commits, or fails with 22012 (division by zero) if the commit could be lost. One message, so that the server reads no
 * changed settings in between, and no round trip more than COMMIT alone.
 */
export const COMMIT_DURABLY = `select 1 / (current_setting('fsync') <> 'off'
  and current_setting('synchronous_commit') <> 'off')::integer; commit`

/** A commit that is acknowledged here could be lost. */
export class NotDurable extends Error {}

const RECHECK_MS = 30_000

/** Follows what settings new sessions get. Those of the sessions in use are checked by each commit. */
export function watchDurability(config: ClientConfig) {
  let fault: string | undefined
  let checkedAt = performance.now()
  let checking: Promise<void> | undefined

  /** Fails with NotDurable. */
  async function check(client: ClientBase): Promise<void> {
    const { rows } = await client.query<DurabilityRow>(`select ${DURABILITY}`)
    fault = durabilityFault(rows[0])
    checkedAt = performance.now()
    if (fault !== undefined) throw new NotDurable(fault)
  }

  async function checkNewSession(): Promise<void> {
    checkedAt = performance.now()
    const client = new Client(config)
    client.on('error', () => {})
    try {
      await client.connect()
      await check(client)
    } catch {
      // Found off, or not reached: what was found last holds.
    } finally {
      await client.end().catch(() => {})
    }
  }

  return {
    check,
    /** After a commit that was refused. */
    failed(): NotDurable {
      fault = 'fsync or synchronous_commit is off: acknowledged mail could be lost'
      return new NotDurable(fault)
    },
    /** What was found last. It is looked for again in the background: while it is off at each call, else now and then. */
    fault(): string | undefined {
      const isDue = fault !== undefined || performance.now() - checkedAt > RECHECK_MS
      if (isDue && !checking) {
        checking = checkNewSession().finally(() => {
          checking = undefined
        })
      }
      return fault
    },
    /** Resolves when no check is under way. */
    idle: async (): Promise<void> => await checking,
  }
}

// Limits: behind PgBouncer a new session may be an old one of the server; then only commits and the look at each obstacle tell.
