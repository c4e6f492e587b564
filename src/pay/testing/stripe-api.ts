import { expireCheckout, openCheckout } from './stripe-checkouts.ts'
import { expand } from './stripe-expand.ts'
import type { Ledger } from './stripe-ledger.ts'
import { type Params, priceOf, refuse } from './stripe-params.ts'
import type { StripeEvent, StripeKind, StripeObject } from './stripe-shapes.ts'

export interface ApiRequest {
  method: string
  path: string
  params: Params
}

const ONE: Record<string, StripeKind> = {
  'checkout/sessions': 'checkout.session',
  payment_intents: 'payment_intent',
  charges: 'charge',
  refunds: 'refund',
  disputes: 'dispute',
  subscriptions: 'subscription',
  invoices: 'invoice',
  invoice_payments: 'invoice_payment',
}

/** Answers one request as Stripe does: with an object, or by throwing a refusal. */
export function answerApi(ledger: Ledger, url: string, { method, path, params }: ApiRequest) {
  if (method === 'POST') return post(ledger, url, path, params)
  if (path === '/v1/events') return listEvents(ledger, params)
  const [, collection = '', , id] = /^\/v1\/(checkout\/sessions|\w+)(\/([^/]+))?$/.exec(path) ?? []
  const kind = ONE[collection]
  if (!kind) throw refuse(404, `Unrecognized request URL (${method}: ${path}).`)
  if (id === undefined) return listThings(ledger, kind, params, path)
  params.only(['expand'])
  const thing = ledger.find(decodeURIComponent(id))
  if (thing?.object !== kind) throw missing(kind, id)
  return expand(ledger, thing, params.list('expand'))
}

function post(ledger: Ledger, url: string, path: string, params: Params): StripeObject {
  const [, id] = /^\/v1\/checkout\/sessions\/([^/]+)\/expire$/.exec(path) ?? []
  if (id !== undefined) {
    expireCheckout(ledger, id)
    return ledger.get('checkout.session', id)
  }
  if (path !== '/v1/checkout/sessions') {
    throw refuse(404, `Unrecognized request URL (POST: ${path}).`)
  }
  params.only([
    'cancel_url',
    'client_reference_id',
    'customer_email',
    'line_items',
    'metadata',
    'mode',
    'payment_intent_data',
    'subscription_data',
    'success_url',
  ])
  const email = params.get('customer_email') ?? null
  if (email !== null && !/^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(email)) {
    throw refuse(400, `Invalid email address: ${email}`, { code: 'email_invalid' })
  }
  const mode = params.needed('mode')
  const own = mode === 'subscription' ? 'subscription_data' : 'payment_intent_data'
  const other = mode === 'subscription' ? 'payment_intent_data' : 'subscription_data'
  if (params.has(other)) throw refuse(400, `You can not pass \`${other}\` in \`${mode}\` mode.`)
  return openCheckout(
    ledger,
    {
      price: priceOf(ledger, params, mode),
      handedOn: params.record(`${own}[metadata]`),
      cancel_url: params.get('cancel_url') ?? null,
      client_reference_id: params.get('client_reference_id') ?? null,
      customer_email: email,
      metadata: params.record('metadata'),
      mode,
      success_url: params.needed('success_url'),
    },
    url,
  )
}

// By which a list may be narrowed, and where the value stands.
const FILTERS: Partial<Record<StripeKind, Record<string, (thing: never) => unknown>>> = {
  'checkout.session': {
    subscription: (it: { subscription: unknown }) => it.subscription,
    payment_intent: (it: { payment_intent: unknown }) => it.payment_intent,
  },
  invoice: {
    subscription: (it: { parent: { subscription_details: { subscription: unknown } | null } }) =>
      it.parent.subscription_details?.subscription,
    status: (it: { status: unknown }) => it.status,
  },
  invoice_payment: {
    invoice: (it: { invoice: unknown }) => it.invoice,
    status: (it: { status: unknown }) => it.status,
    'payment[type]': (it: { payment: { type: unknown } }) => it.payment.type,
    'payment[payment_intent]': (it: { payment: { payment_intent: unknown } }) =>
      it.payment.payment_intent,
  },
  refund: {
    charge: (it: { charge: unknown }) => it.charge,
    payment_intent: (it: { payment_intent: unknown }) => it.payment_intent,
  },
  dispute: {
    charge: (it: { charge: unknown }) => it.charge,
    payment_intent: (it: { payment_intent: unknown }) => it.payment_intent,
  },
}

function listThings(ledger: Ledger, kind: StripeKind, params: Params, path: string) {
  const filters = Object.entries(FILTERS[kind] ?? {})
  params.only(['expand', ...PAGING, ...filters.map(([name]) => name.replace(/\[.*/, ''))])
  const asked = filters.filter(([name]) => params.has(name))
  const found = ledger
    .list(kind)
    .filter((thing) => asked.every(([name, read]) => read(thing as never) === params.get(name)))
  return expand(ledger, page(found, params, path), params.list('expand'))
}

const MOST_TYPES = 20

function listEvents(ledger: Ledger, params: Params) {
  params.only(['types', 'created', ...PAGING])
  const types = params.list('types')
  if (types.length > MOST_TYPES) throw refuse(400, 'Invalid array: too many types')
  const from = Number(params.get('created[gte]') ?? 0)
  const before = Number(params.get('created[lt]') ?? Number.POSITIVE_INFINITY)
  const found = ledger.events
    .filter(({ created }) => created >= from && created < before)
    .filter(({ type }) => types.length === 0 || types.includes(type))
    .reverse()
  return page<StripeEvent>(found, params, '/v1/events')
}

const PAGING = ['limit', 'starting_after'] as const
const MOST_ON_A_PAGE = 100

function page<Thing extends { id: string }>(found: Thing[], params: Params, url: string) {
  const limit = Number(params.get('limit') ?? 10)
  if (!(limit >= 1 && limit <= MOST_ON_A_PAGE)) throw refuse(400, `Invalid integer: ${limit}`)
  const after = params.get('starting_after')
  const at = after === undefined ? 0 : found.findIndex(({ id }) => id === after) + 1
  if (after !== undefined && at === 0) throw refuse(400, `No such object: '${after}'`)
  const has_more = found.length > at + limit
  return { object: 'list' as const, data: found.slice(at, at + limit), has_more, url }
}

function missing(kind: StripeKind, id: string) {
  const name = kind.replace('.', ' ').replace('_', ' ')
  return refuse(404, `No such ${name}: '${id}'`, { code: 'resource_missing', param: 'id' })
}
