import { type CheckResult, failure, ok, warning } from '../../base/check-result.ts'

export interface PostgresFacts {
  /** `server_version_num`. */
  version: number
  /** As whom we are connected. */
  role: string
  usedConnections: number
  maxConnections: number
  /** `synchronous_standby_names`. */
  requiredStandbys: string
  /** Their state is null if the role may not see it. */
  standbys: readonly { name: string | null; state: string | null }[]
  /** Its clock minus ours. */
  offsetMs: number
}

const DURABLE =
  'ALTER SYSTEM SET fsync = on; ALTER SYSTEM SET synchronous_commit = on; SELECT pg_reload_conf();'
const FAILOVER =
  'Start the standby. To continue without it, and what can be lost then: docs/scaling.md#failover'
const OLDEST_POSTGRES = 150_000
const MAX_POSTGRES_OFFSET_MS = 2_000

export function evaluatePostgres(facts: PostgresFacts | { durabilityFault: string }): CheckResult {
  if ('durabilityFault' in facts) return failure(facts.durabilityFault, DURABLE)
  const { version, role, usedConnections, maxConnections, offsetMs } = facts
  const standbys = facts.standbys.map(({ name, state }) => state && `${name} (${state})`)
  const seen = `PostgreSQL ${Math.floor(version / 10_000)}, ${usedConnections} of ${maxConnections} connections, standby ${standbys.map((text) => text ?? '(hidden)').join(', ') || 'none'}`
  if (version < OLDEST_POSTGRES) return failure(seen, 'Upgrade to PostgreSQL 15 or newer')
  const needed = neededStandbys(facts.requiredStandbys)
  const hidden = facts.standbys.filter(({ state }) => state === null).length
  const synced = facts.standbys.filter(({ state }) => state && /^(sync|quorum)$/.test(state)).length
  const waits = `${seen}: commits wait for ${needed} of ${facts.requiredStandbys}`
  if (synced + hidden < needed) return failure(waits, FAILOVER)
  const grant = `GRANT pg_read_all_stats TO ${role};`
  if (synced < needed) return warning(`${seen}: ${role} may not see the state of standbys`, grant)
  const clocks = 'Synchronize both clocks: timedatectl set-ntp true'
  const offset = `its clock differs from this machine by ${Math.round(offsetMs / 1_000)} s`
  if (Math.abs(offsetMs) > MAX_POSTGRES_OFFSET_MS) return warning(offset, clocks)
  const more = `ALTER SYSTEM SET max_connections = ${2 * maxConnections}; then restart PostgreSQL`
  return usedConnections > maxConnections * 0.8 ? warning(seen, more) : ok(seen)
}

/** PostgreSQL answers, but the store could not be opened. Faults other than a lack of permissions say themselves what to do. */
export function evaluateStoreFault(fault: string): CheckResult {
  const permit =
    'If the role lacks permissions, make it the owner of the schema. Otherwise correct MAYFLY_STORE'
  const other = 'Do as the message says, run the command again, or correct MAYFLY_STORE'
  return failure(fault, fault.startsWith('PostgreSQL refuses us') ? permit : other)
}

/** How many standbys a commit waits for: `a, b` for one, `ANY 2 (a, b, c)` and `FIRST 2 (a, b, c)` for two. */
function neededStandbys(names: string): number {
  if (names.trim() === '') return 0
  return Number(/^\s*(?:(?:any|first)\s+)?(\d+)\s*\(/i.exec(names)?.[1] ?? 1)
}
