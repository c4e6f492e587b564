import type { XStatic } from 'typebox/schema'
import { COUNT, FLAG, readList } from '../base/settings/list-file.ts'
import type { SettingReader } from '../base/settings/settings.ts'
import { choice, lifetime, origins, size } from '../base/settings/values.ts'
import { PLANS, type Plan } from '../shared/plan.ts'

const PLAN = {
  type: 'object',
  properties: {
    id: { type: 'string', pattern: '^[a-z0-9][a-z0-9-]{0,39}$' },
    name: { type: 'string', pattern: '^.{1,60}$' },
    price_cents: { ...COUNT, minimum: 0 },
    currency: { type: 'string', pattern: '^[a-z]{3}$' },
    requests: COUNT,
    per_day: COUNT,
    // A hundred years: far from where dates end.
    months: { type: 'integer', minimum: 1, maximum: 1_200 },
    domains: { ...COUNT, minimum: 0 },
    renews: FLAG,
    support: { type: 'string', pattern: '^.{0,200}$' },
  },
  required: ['id', 'name', 'price_cents', 'requests'],
  additionalProperties: false,
} as const

/** The plans of a JSON file; the default plans if no file is configured. */
export function plansFile(path: string): readonly Plan[] {
  if (path === '') return PLANS
  const plans = readList(path, 'plan', PLAN).map(toPlan)
  if (plans.length === 0) throw new Error('the file must contain a JSON list of plans')
  const duplicate = plans.find(({ id }, index) => plans.findIndex((one) => one.id === id) !== index)
  if (duplicate) throw new Error(`duplicate plan ${duplicate.id}`)
  return plans
}

function toPlan(entry: XStatic<typeof PLAN>, index: number): Plan {
  const { id, name, price_cents, currency = 'usd', requests, per_day, months } = entry
  const { domains = 0, renews = false, support = '' } = entry
  if (renews && months === undefined) {
    throw new Error(`plan ${index + 1}: renews needs months`)
  }
  const limits = { requests, perDay: per_day, months, domains }
  return { id, name, priceCents: price_cents, currency, ...limits, renews, support }
}

/** What a shop replaces. */
export const NO_SHOP = {
  /** Whether plans are sold online. Otherwise the operator issues keys. */
  shopOpen: false as boolean,
  /** Whether payments are a test: only then there are test keys. */
  testKeys: false as boolean,
}

/** The pool, what the keyed API may read of it, and the plans. */
export function keyedApiConfig({ setting }: SettingReader) {
  return {
    pool: {
      ttlMs: 1000 * setting('MAYFLY_POOL_TTL', lifetime, '24h', 'lifetime of pool mail'),
      maxBytes: setting(
        'MAYFLY_POOL_BYTES',
        size('0'),
        '1GB',
        'maximum size of the pool, as stored',
      ),
    },
    poolAccess: setting(
      'MAYFLY_READER_POOL',
      choice('open', 'by-address', 'off'),
      'open',
      'pool mail visible to keys: open (all), by-address (only with an exact `to`), off (none, and mail for it is refused)',
    ),
    keyedOrigins: setting(
      'MAYFLY_READER_ORIGINS',
      origins,
      '',
      'origins of web pages that may call /emails and /usage, or *; empty: none',
    ),
    plans: setting(
      'MAYFLY_PLANS_FILE',
      plansFile,
      '',
      'JSON file with your plans; empty: Starter and Business',
    ),
  }
}
