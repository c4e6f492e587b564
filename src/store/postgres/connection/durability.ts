import { Client, type ClientBase, type ClientConfig } from 'pg'

// With fsync or synchronous_commit off, PostgreSQL acknowledges commits that a crash undoes. Both can change at any time: by a
// reload, by ALTER ROLE or ALTER DATABASE for new sessions, by a failover to a server with other settings. full_page_writes is
// left to the operator: it may be off on a file system with atomic page writes.

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
 * Commits, or fails with 22012 (division by zero) if the commit could be lost. It is one message, so that the server does not
 * reload settings in between and it costs no extra round trip.
 */
export const COMMIT_DURABLY = `select 1 / (current_setting('fsync') <> 'off'
  and current_setting('synchronous_commit') <> 'off')::integer; commit`

/** An acknowledged commit could be lost. */
export class NotDurable extends Error {}

const RECHECK_MS = 30_000

/**
 * Watches the settings of new sessions. In sessions in use, each transaction checks them when it commits; a statement outside a
 * transaction relies on the check of its connection.
 */
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
      // Off, or unreachable: the last result holds.
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
    /** The last result. It is refreshed in the background: at each call after a fault, otherwise every 30 s. */
    fault(): string | undefined {
      const isDue = fault !== undefined || performance.now() - checkedAt > RECHECK_MS
      if (isDue && !checking) {
        checking = checkNewSession().finally(() => {
          checking = undefined
        })
      }
      return fault
    },
    /** Resolves when no check is running. */
    idle: async (): Promise<void> => await checking,
  }
}

// Limits: behind PgBouncer a new session may be an old one of the server; then only commits and the store's fault check detect it.
