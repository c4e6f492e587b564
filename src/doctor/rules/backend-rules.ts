import { type CheckResult, failure, ok, warning } from '../../base/check-result.ts'
import type { Fault } from '../../base/fault.ts'

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
  /** Why nothing can be written; undefined if it can. */
  readOnly?: 'standby' | 'setting' | undefined
}

const DURABLE =
  'ALTER SYSTEM SET fsync = on; ALTER SYSTEM SET synchronous_commit = on; SELECT pg_reload_conf();'
const FAILOVER_DOCS = 'docs/scaling.md#failover'
const FAILOVER = `Start the standby. To continue without it, and what can be lost then: ${FAILOVER_DOCS}`
const OLDEST_POSTGRES = 150_000
const MAX_POSTGRES_OFFSET_MS = 2_000

export function evaluatePostgres(
  facts: PostgresFacts | { durabilityFault: string } | { fault: Fault },
): CheckResult {
  if ('fault' in facts) return failure(facts.fault.seen, facts.fault.fix)
  if ('durabilityFault' in facts) return failure(facts.durabilityFault, DURABLE)
  const { version, role, usedConnections, maxConnections, offsetMs } = facts
  const standbys = facts.standbys.map(({ name, state }) => state && `${name} (${state})`)
  const seen = `PostgreSQL ${Math.floor(version / 10_000)}, ${usedConnections} of ${maxConnections} connections, standby ${standbys.map((text) => text ?? '(hidden)').join(', ') || 'none'}`
  if (version < OLDEST_POSTGRES) return failure(seen, 'Upgrade to PostgreSQL 15 or newer')
  const primary = `Set the host in MAYFLY_STORE to the primary, or promote this server: ${FAILOVER_DOCS}`
  if (facts.readOnly === 'standby') return failure(`${seen}: a read-only standby`, primary)
  const writable = `ALTER ROLE ${role} SET default_transaction_read_only = off; and the same for the database and the server if it is set there: SHOW default_transaction_read_only;`
  if (facts.readOnly === 'setting') return failure(`${seen}: transactions are read-only`, writable)
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

/** PostgreSQL answers, but the store could not be opened. Most faults say themselves what to do. */
export function evaluateStoreFault(fault: string): CheckResult {
  const permit =
    'If the role lacks permissions, make it the owner of the schema. Otherwise correct MAYFLY_STORE'
  const recreate =
    "CREATE DATABASE mayfly OWNER mayfly ENCODING 'UTF8' TEMPLATE template0; and name it in MAYFLY_STORE"
  const other = 'Do as the message says, run the command again, or correct MAYFLY_STORE'
  if (/not in UTF8/.test(fault)) return failure(fault, recreate)
  return failure(fault, fault.startsWith('PostgreSQL refuses us') ? permit : other)
}

export interface RedisFacts {
  version: string
  usedBytes: number
  /** 0: no limit. */
  maxBytes: number
}

const FULL_SHARE = 0.9

/** `error` is the reply of the server, or why there was none. */
export function evaluateRedis(facts: RedisFacts | { error: string }): CheckResult {
  if ('error' in facts) return failure(`Redis: ${facts.error}`, redisFix(facts.error))
  const { version, usedBytes, maxBytes } = facts
  const seen = `Redis ${version}`
  const full = `${seen}: ${Math.floor(usedBytes / MB)} of ${Math.floor(maxBytes / MB)} MB used`
  return maxBytes > 0 && usedBytes > FULL_SHARE * maxBytes ? warning(full, MORE_MEMORY) : ok(seen)
}

const MB = 1024 * 1024
const MORE_MEMORY =
  'Raise maxmemory in redis.conf, or use a Redis of its own: Mayfly needs about 200 bytes per client'

function redisFix(error: string): string {
  if (/^NOAUTH|without any password|AUTH.*password/i.test(error))
    return 'It wants a password: MAYFLY_REDIS=redis://:PASSWORD@host:6379, or in a file named by MAYFLY_REDIS_FILE'
  if (/^WRONGPASS|invalid (?:username|password)/i.test(error))
    return 'Correct user name and password in MAYFLY_REDIS (redis://USER:PASSWORD@host:6379; write @, / and : of a password as %40, %2F and %3A)'
  if (/^NOPERM/.test(error))
    return 'Allow what is needed: ACL SETUSER mayfly on ~mayfly:* &mayfly:* +@read +@write +@pubsub +@scripting +@connection +info'
  if (/^READONLY/.test(error))
    return 'This is a replica: name the master in MAYFLY_REDIS, or promote this one: REPLICAOF NO ONE'
  if (/^(?:MOVED|ASK|CLUSTERDOWN|CROSSSLOT)/.test(error))
    return 'This is a node of a Redis Cluster: name a single Redis in MAYFLY_REDIS'
  if (/^OOM/.test(error)) return MORE_MEMORY
  if (/certificate|CERT_/i.test(error))
    return 'Start the service with NODE_EXTRA_CA_CERTS=/etc/mayfly/ca.pem (the CA of Redis), or install a certificate of a public CA'
  if (/ENOTFOUND|EAI_AGAIN/.test(error)) return 'Correct the host name in MAYFLY_REDIS'
  if (/^(?:ERR|MISCONF|LOADING|MASTERDOWN|BUSY)/.test(error))
    return 'See the log of Redis; the message is its own'
  if (/closed|ECONNRESET|EPIPE/.test(error))
    return 'If Redis expects TLS, write rediss:// in MAYFLY_REDIS; otherwise correct host and port there'
  return 'Start Redis, or correct MAYFLY_REDIS'
}

/** How many standbys a commit waits for: `a, b` for one, `ANY 2 (a, b, c)` and `FIRST 2 (a, b, c)` for two. */
function neededStandbys(names: string): number {
  if (names.trim() === '') return 0
  return Number(/^\s*(?:(?:any|first)\s+)?(\d+)\s*\(/i.exec(names)?.[1] ?? 1)
}
