import { type CheckResult, failure, ok, warning } from './result.ts'

export interface PostgresFacts {
  /** `server_version_num`. */
  version: number
  /** As whom we are connected. */
  role: string
  durabilityFault: string | undefined
  usedConnections: number
  maxConnections: number
  /** `synchronous_standby_names`. */
  requiredStandbys: string
  /** Their state is null if the role may not see it. */
  standbys: readonly { name: string | null; state: string | null }[]
  /** Its clock minus ours. */
  offsetMs: number
}

const OLDEST_POSTGRES = 150_000
const MAX_POSTGRES_OFFSET_MS = 2_000

export function evaluatePostgres(facts: PostgresFacts): CheckResult {
  const { version, durabilityFault, usedConnections, maxConnections, standbys, offsetMs } = facts
  const major = Math.floor(version / 10_000)
  const replicas = standbys
    .map(({ name, state }) => (state === null ? '(hidden)' : `${name} (${state})`))
    .join(', ')
  const seen = `PostgreSQL ${major}, ${usedConnections} of ${maxConnections} connections, ${replicas === '' ? 'no standby' : `standby ${replicas}`}`
  if (version < OLDEST_POSTGRES) return failure(seen, 'Upgrade to PostgreSQL 15 or newer')
  if (durabilityFault !== undefined) {
    return failure(
      durabilityFault,
      'ALTER SYSTEM SET fsync = on; ALTER SYSTEM SET synchronous_commit = on; SELECT pg_reload_conf();',
    )
  }
  const needed = neededStandbys(facts.requiredStandbys)
  const hidden = standbys.filter(({ state }) => state === null).length
  const synced = standbys.filter(({ state }) => state === 'sync' || state === 'quorum').length
  if (synced + hidden < needed) {
    return failure(
      `${seen}: synchronous_standby_names (${facts.requiredStandbys}) requires ${needed}, so commits wait for it`,
      'Start the standby. To continue without it, and what can be lost then: docs/scaling.md#failover',
    )
  }
  if (synced < needed) {
    return warning(
      `${seen}: the role ${facts.role} may not see whether it is synchronous`,
      `GRANT pg_read_all_stats TO ${facts.role};`,
    )
  }
  if (Math.abs(offsetMs) > MAX_POSTGRES_OFFSET_MS) {
    return warning(
      `its clock differs from this machine by ${Math.round(offsetMs / 1_000)} s`,
      'Synchronize both clocks: timedatectl set-ntp true',
    )
  }
  if (usedConnections > maxConnections * 0.8) {
    return warning(
      seen,
      `ALTER SYSTEM SET max_connections = ${2 * maxConnections}; then restart PostgreSQL`,
    )
  }
  return ok(seen)
}

/** PostgreSQL answers, but the store could not be opened. Faults other than these say themselves what to do. */
export function evaluateStoreFault(fault: string): CheckResult {
  if (fault.startsWith('PostgreSQL cannot be reached')) {
    return failure(fault, 'It answers now: run the command again')
  }
  return failure(
    fault,
    fault.startsWith('PostgreSQL refuses us')
      ? 'If the role lacks permissions, make it the owner of the schema. Otherwise correct MAYFLY_STORE'
      : 'Do as the message says; if MAYFLY_STORE names the wrong database, correct it',
  )
}

/** How many standbys a commit waits for: `a, b` for one, `ANY 2 (a, b, c)` and `FIRST 2 (a, b, c)` for two. */
function neededStandbys(names: string): number {
  if (names.trim() === '') return 0
  return Number(/^\s*(?:(?:any|first)\s+)?(\d+)\s*\(/i.exec(names)?.[1] ?? 1)
}

export interface PaymentFacts {
  provider: 'manual' | 'stripe' | 'fake'
  /** Of the Stripe key. */
  isTestMode: boolean
  baseUrl: string
  /** The webhook endpoints of the Stripe account, or why they could not be listed. */
  endpoints: readonly { url: string; enabled: boolean }[] | { error: string } | undefined
}

export function evaluatePayments(facts: PaymentFacts): CheckResult {
  const { provider, isTestMode, baseUrl, endpoints } = facts
  if (provider === 'manual') return ok('manual: you issue the keys')
  if (provider === 'fake') {
    return warning('fake: anyone can get a key for free', 'Set MAYFLY_PAYMENTS=manual or stripe')
  }
  const url = `${baseUrl}/api/stripe/webhook`
  const create = `Create a webhook endpoint for ${url} in the Stripe dashboard (docs/stripe.md) and set MAYFLY_STRIPE_WEBHOOK_SECRET`
  if (endpoints && 'error' in endpoints && endpoints.error === 'StripeAuthenticationError') {
    return failure('Stripe rejects the key', 'Set MAYFLY_STRIPE_SECRET_KEY to a valid key')
  }
  if (endpoints === undefined || 'error' in endpoints) {
    return warning(
      `Stripe: the webhook endpoints cannot be listed (${endpoints?.error ?? 'not tried'})`,
      `Check the key, and that there is an endpoint for ${url}`,
    )
  }
  const ours = endpoints.find((endpoint) => endpoint.url === url)
  if (!ours) return failure(`Stripe has no webhook endpoint for ${url}`, create)
  if (!ours.enabled)
    return failure(`the webhook endpoint ${url} is disabled`, 'Enable it in the Stripe dashboard')
  if (isTestMode) {
    return warning(
      'Stripe in test mode: payments are not real',
      'For real payments set MAYFLY_STRIPE_SECRET_KEY to the live key',
    )
  }
  return ok(`Stripe, webhook ${url}`)
}
