import { openCheckout } from './stripe-actions.ts'
import type { Price, StripeKind, StripeState } from './stripe-state.ts'

/** An error in Stripe's format. */
export class ApiError extends Error {
  readonly status: number
  readonly error: { type: string; message: string; code?: string }
  constructor(status: number, message: string, more: { type?: string; code?: string } = {}) {
    super(message)
    this.status = status
    this.error = { type: 'invalid_request_error', message, ...more }
  }
}

const KINDS: Record<string, StripeKind> = {
  'checkout/sessions': 'checkout.session',
  payment_intents: 'payment_intent',
  charges: 'charge',
  disputes: 'dispute',
  subscriptions: 'subscription',
  invoices: 'invoice',
  invoice_payments: 'invoice_payment',
}

export function callApi(state: StripeState, method: string, path: string, params: URLSearchParams) {
  if (method === 'POST' && path === '/v1/checkout/sessions') return createSession(state, params)
  if (path === '/v1/events') return page(matchingEvents(state, params), params)
  const [, collection = '', , id] = /^\/v1\/(checkout\/sessions|\w+)(\/([^/]+))?$/.exec(path) ?? []
  const kind = KINDS[collection]
  if (method !== 'GET' || !kind) throw new ApiError(404, `Unrecognized request URL: ${path}`)
  const expand = valuesOf(params, 'expand')
  if (id === undefined) {
    const { data, ...list } = page(matching(state, kind, params), params)
    const inner = expand.map((field) => field.replace(/^data\./, ''))
    return { ...list, data: data.map((object) => expanded(state, object, inner)) }
  }
  const found = state.objects.get(id)
  if (found?.object === kind) return expanded(state, found, expand)
  throw new ApiError(404, `No such ${kind}: '${id}'`, { code: 'resource_missing' })
}

function createSession(state: StripeState, params: URLSearchParams) {
  const email = params.get('customer_email')
  if (email !== null && !/^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(email)) {
    throw new ApiError(400, `Invalid email address: ${email}`, { code: 'email_invalid' })
  }
  const mode = params.get('mode') === 'subscription' ? 'subscription' : 'payment'
  const price = priceOf(state, params)
  if ((mode === 'subscription') !== (price.months !== undefined)) {
    throw new ApiError(400, `This price cannot be sold in \`${mode}\` mode.`)
  }
  const child = mode === 'subscription' ? 'subscription_data' : 'payment_intent_data'
  return openCheckout(state, {
    price,
    mode,
    orderId: params.get('client_reference_id'),
    metadata: recordOf(params, 'metadata'),
    childMetadata: recordOf(params, `${child}[metadata]`),
  })
}

function priceOf(state: StripeState, params: URLSearchParams): Price {
  const configured = params.get('line_items[0][price]')
  if (configured !== null) {
    const price = state.prices.get(configured)
    if (price) return price
    throw new ApiError(400, `No such price: '${configured}'`, { code: 'resource_missing' })
  }
  const inline = (name: string) => params.get(`line_items[0][price_data]${name}`)
  const interval = inline('[recurring][interval]')
  const count = Number(inline('[recurring][interval_count]'))
  return {
    id: 'inline',
    currency: inline('[currency]') ?? '',
    unitAmount: Number(inline('[unit_amount]')),
    months: interval === null ? undefined : count * (interval === 'year' ? 12 : 1),
  }
}

function recordOf(params: URLSearchParams, name: string): Record<string, string> {
  const own = [...params].filter(([key]) => key.startsWith(`${name}[`))
  return Object.fromEntries(own.map(([key, value]) => [key.slice(name.length + 1, -1), value]))
}

function valuesOf(params: URLSearchParams, name: string): string[] {
  return Object.values(recordOf(params, name))
}

const NO_FILTER = /^(?:limit|starting_after|expand\[\d+\])$/

/** Every other parameter of a list is a filter: the name of a field, or its path in brackets. */
function matching(state: StripeState, kind: StripeKind, params: URLSearchParams) {
  const filters = [...params].filter(([name]) => !NO_FILTER.test(name))
  return state.list(kind).filter((object) =>
    filters.every(([name, wanted]) => {
      const path = kind === 'invoice' ? `parent[subscription_details][${name}]` : name
      return (
        path.match(/\w+/g)?.reduce<unknown>((at, step) => (at as Fields)[step], object) === wanted
      )
    }),
  )
}

function matchingEvents({ events }: StripeState, params: URLSearchParams) {
  const types = valuesOf(params, 'types')
  const from = Number(params.get('created[gte]'))
  const before = Number(params.get('created[lt]'))
  return events
    .filter(({ type, created }) => types.includes(type) && created >= from && created < before)
    .reverse()
}

function page<Item extends { id: string }>(items: Item[], params: URLSearchParams) {
  const limit = Number(params.get('limit') ?? 10)
  if (limit > 100) throw new ApiError(400, `Invalid integer: ${limit}`)
  const after = params.get('starting_after')
  const start = after === null ? 0 : items.findIndex(({ id }) => id === after) + 1
  const data = items.slice(start, start + limit)
  return { object: 'list', has_more: items.length > start + limit, url: '/', data }
}

type Fields = Record<string, unknown>

/** A copy in which the ids at these paths are replaced by their objects. */
function expanded(state: StripeState, object: object, paths: readonly string[]): object {
  const copy = structuredClone(object)
  for (const path of paths) {
    let node = copy as Fields
    for (const step of path.split('.')) {
      if (node['object'] === 'invoice') node['payments'] = paymentsOf(state, node['id'])
      if (!(step in node)) throw new ApiError(400, `This property cannot be expanded (${path}).`)
      const value = node[step]
      if (typeof value === 'string') node[step] = structuredClone(state.objects.get(value))
      if (!node[step]) break
      node = node[step] as Fields
    }
  }
  return copy
}

function paymentsOf(state: StripeState, invoiceId: unknown) {
  const data = state.list('invoice_payment').filter(({ invoice }) => invoice === invoiceId)
  return { object: 'list', data: structuredClone(data) }
}
