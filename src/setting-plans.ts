import { readFileSync } from 'node:fs'
import { PLANS, type Plan } from './core/plan.ts'

/** The plans of a JSON file, a list of objects; nothing given: ours. Throws what is wrong with it. */
export function plansFile(path: string): readonly Plan[] {
  if (path === '') return PLANS
  const list: unknown = JSON.parse(readFileSync(path, 'utf8'))
  if (!Array.isArray(list) || list.length === 0)
    throw new Error('the file must hold a list of plans')
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
  if (!isRecord(value)) throw new Error(`${where} is no object`)
  const stranger = Object.keys(value).find((name) => !FIELDS.includes(name))
  if (stranger) throw new Error(`${where} has a field ${stranger}; there are ${FIELDS.join(', ')}`)
  const read = fieldReader(where, value)
  const plan = {
    id: read.text('id', /^[a-z0-9][a-z0-9-]{0,39}$/),
    name: read.text('name', /^.{1,60}$/),
    priceCents: read.count('price_cents', 0),
    currency: read.text('currency', /^[a-z]{3}$/, 'usd'),
    requests: read.count('requests', 1),
    perDay: read.optional('per_day'),
    months: read.optional('months'),
    renews: read.flag('renews'),
    support: read.text('support', /^.{0,200}$/, ''),
  }
  if (plan.renews && plan.months === undefined)
    throw new Error(`${where} renews, but has no months`)
  return plan
}

function fieldReader(where: string, value: Record<string, unknown>) {
  function count(name: string, least: number): number {
    const number = value[name]
    if (typeof number === 'number' && Number.isSafeInteger(number) && number >= least) return number
    throw new Error(`${where}: ${name} must be a whole number from ${least} on`)
  }
  return {
    count,
    flag(name: string): boolean {
      const flag = value[name] ?? false
      if (typeof flag === 'boolean') return flag
      throw new Error(`${where}: ${name} must be true or false`)
    },
    optional: (name: string) =>
      value[name] === undefined || value[name] === null ? undefined : count(name, 1),
    text(name: string, form: RegExp, fallback?: string): string {
      const text = value[name] ?? fallback
      if (typeof text === 'string' && form.test(text)) return text
      throw new Error(`${where}: ${name} is missing or not as it must be`)
    },
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
