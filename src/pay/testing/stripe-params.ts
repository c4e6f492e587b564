import type { Ledger } from './stripe-ledger.ts'
import type { Price } from './stripe-shapes.ts'

/** A refusal in Stripe's own shape. */
export interface ApiRefusal {
  status: number
  error: { type: string; message: string; code?: string; param?: string }
}

/** Thrown, so that any depth of the fake can refuse; the server writes it out. */
export class Refusal extends Error {
  readonly answer: ApiRefusal
  constructor(answer: ApiRefusal) {
    super(answer.error.message)
    this.answer = answer
  }
}

export function refuse(
  status: number,
  message: string,
  more: { type?: string; code?: string; param?: string } = {},
): Refusal {
  return new Refusal({ status, error: { type: 'invalid_request_error', message, ...more } })
}

/** Form-encoded parameters: `line_items[0][price]`, `metadata[order_id]`, `expand[0]`. */
export interface Params {
  text: string
  has(name: string): boolean
  get(name: string): string | undefined
  needed(name: string): string
  list(name: string): string[]
  record(name: string): Record<string, string>
  /** Refuses what Stripe would not know either. */
  only(names: readonly string[]): void
}

export function readParams(text: string): Params {
  const entries = [...new URLSearchParams(text)]
  const get = (name: string) => entries.find(([key]) => key === name)?.[1]
  const under = (name: string) =>
    entries.filter(([key]) => key.startsWith(`${name}[`) && key.endsWith(']'))
  return {
    text,
    has: (name) => entries.some(([key]) => key === name || key.startsWith(`${name}[`)),
    get,
    needed(name) {
      const value = get(name)
      if (value) return value
      throw refuse(400, `Missing required param: ${name}.`, { code: 'parameter_missing' })
    },
    list: (name) => under(name).map(([, value]) => value),
    record: (name) =>
      Object.fromEntries(
        under(name).map(([key, value]) => [key.slice(name.length + 1, -1), value]),
      ),
    only(names) {
      for (const [key] of entries) {
        const [name = ''] = key.split('[')
        if (names.includes(name)) continue
        throw refuse(400, `Received unknown parameter: ${name}`, { code: 'parameter_unknown' })
      }
    },
  }
}

/** The one thing that the checkout sells, with Stripe's own refusals of what does not fit. */
export function priceOf(ledger: Ledger, params: Params, mode: string): Price {
  const price = params.has('line_items[0][price]')
    ? configured(ledger, params.needed('line_items[0][price]'))
    : inline(ledger, params)
  if (params.needed('line_items[0][quantity]') !== '1') throw refuse(400, 'One thing at a time.')
  if (mode === 'subscription' && price.months === undefined) {
    throw refuse(400, 'You must provide at least one recurring price in `subscription` mode.')
  }
  if (mode === 'payment' && price.months !== undefined) {
    throw refuse(400, 'You specified `payment` mode but passed a recurring price.')
  }
  return price
}

function configured(ledger: Ledger, id: string): Price {
  const price = ledger.prices.get(id)
  if (price) return price
  throw refuse(400, `No such price: '${id}'`, { code: 'resource_missing' })
}

const MOST_YEARS = 3

function inline(ledger: Ledger, params: Params): Price {
  const part = 'line_items[0][price_data]'
  params.needed(`${part}[product_data][name]`)
  const unitAmount = Number(params.needed(`${part}[unit_amount]`))
  if (!Number.isInteger(unitAmount)) throw refuse(400, `Invalid integer: ${unitAmount}`)
  const interval = params.get(`${part}[recurring][interval]`)
  const count = Number(params.get(`${part}[recurring][interval_count]`) ?? 1)
  const months = interval === undefined ? undefined : count * (interval === 'year' ? 12 : 1)
  if (months !== undefined && months > MOST_YEARS * 12) {
    throw refuse(400, 'The maximum interval is three years.')
  }
  const currency = params.needed(`${part}[currency]`)
  return { id: ledger.makeId('price'), currency, unitAmount, months }
}
