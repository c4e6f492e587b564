import { readFileSync } from 'node:fs'
import { PLANS, type Plan } from '../core/plan.ts'
import { listIn, recordReader } from './records.ts'

/** The plans of a JSON file, a list of objects; nothing given: ours. Throws what is wrong with it. */
export function plansFile(path: string): readonly Plan[] {
  if (path === '') return PLANS
  const list = listIn(readFileSync(path, 'utf8')) ?? []
  if (list.length === 0) throw new Error('the file must hold a JSON list of plans')
  const plans = list.map(planOf)
  const twice = plans.find(({ id }, at) => plans.findIndex((plan) => plan.id === id) !== at)
  if (twice) throw new Error(`two plans are called ${twice.id}`)
  return plans
}

/** `starter=price_1,business=price_2` */
export function stripePrices(given: string): Readonly<Record<string, string>> {
  const pairs = given === '' ? [] : given.split(',').map((part) => part.trim().split('='))
  const bad = pairs.find(([plan = '', price = '', ...rest]) => !plan || !price || rest.length > 0)
  if (bad) throw new Error('write plan=price, and a comma between two of them')
  return Object.fromEntries(pairs)
}

// Longer than anybody lives, and far from where dates end.
const MOST_MONTHS = 1_200

const FIELDS = [
  'id',
  'name',
  'price_cents',
  'currency',
  'requests',
  'per_day',
  'months',
  'renews',
  'support',
]

function planOf(value: unknown, at: number): Plan {
  const where = `plan ${at + 1}`
  const read = recordReader(where, value, FIELDS)
  const plan = {
    id: read.text('id', { form: /^[a-z0-9][a-z0-9-]{0,39}$/ }),
    name: read.text('name', { form: /^.{1,60}$/ }),
    priceCents: read.count('price_cents', 0),
    currency: read.text('currency', { form: /^[a-z]{3}$/, fallback: 'usd' }),
    requests: read.count('requests', 1),
    perDay: read.optional('per_day', 1),
    months: read.optional('months', 1, MOST_MONTHS),
    renews: read.flag('renews', false),
    support: read.text('support', { form: /^.{0,200}$/, fallback: '' }),
  }
  if (plan.renews && plan.months === undefined) {
    throw new Error(`${where} renews, but has no months`)
  }
  return plan
}
