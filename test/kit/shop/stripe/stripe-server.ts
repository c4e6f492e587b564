import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Stripe } from 'stripe'
import { checkoutActions, paymentActions, subscriptionActions } from './stripe-actions.ts'
import { ApiError, callApi } from './stripe-api.ts'
import { openStripeState, type StripeEvent, type StripeState } from './stripe-state.ts'

// A double of Stripe over real HTTP: the calls that src/shop/pay makes, with Stripe's form encoding, paging, expand, error
// bodies and idempotency keys. Written from the types of the stripe package and Stripe's documentation; never compared
// with live Stripe. The emulate package covers too little to replace it: see stripe-emulate.test.ts.

export type StripeServer = Awaited<ReturnType<typeof openStripeServer>>

export interface SignOptions {
  secret?: string
  at?: Date
  scheme?: string
}

interface StripeServerOptions {
  now(): Date
  live?: boolean
  secretKey?: string
  webhookSecret?: string
}

interface Controls {
  /** Every request so far. */
  requests: { method: string; path: string; params: string }[]
  /** error: 500. hang-up: the connection is cut. silent: no response. */
  outage: 'error' | 'hang-up' | 'silent' | undefined
  /** Paths with this prefix get 500. */
  broken: string | undefined
}

export async function openStripeServer({ now, live = false, ...secrets }: StripeServerOptions) {
  const { secretKey = `sk_${live ? 'live' : 'test'}_fake0secret0key` } = secrets
  const { webhookSecret = 'whsec_fake0webhook0secret' } = secrets
  const state = openStripeState({ now, live })
  const controls: Controls = { requests: [], outage: undefined, broken: undefined }
  const handle = requestHandler(state, controls, secretKey)
  const http = createServer((request, response) => void handle(request, response))
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  let taken = 0

  /** An event, or any text, as Stripe would send it. */
  function sign(event: StripeEvent | string, { secret, at, scheme = 'v1' }: SignOptions = {}) {
    const body = typeof event === 'string' ? event : JSON.stringify(event, undefined, 2)
    const signature = Stripe.webhooks.generateTestHeaderString({
      payload: body,
      secret: secret ?? webhookSecret,
      timestamp: Math.floor((at ?? now()).getTime() / 1_000),
      scheme,
      // The type requires two more fields that have defaults.
    } as Stripe.WebhookTestHeaderOptions)
    return { body, signature }
  }

  return Object.assign(controls, {
    ...checkoutActions(state),
    ...paymentActions(state),
    ...subscriptionActions(state),
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    secretKey,
    webhookSecret,
    /** Oldest first. */
    events: state.events as readonly StripeEvent[],
    /** The events since the last call, oldest first. */
    take(): StripeEvent[] {
      const fresh = state.events.slice(taken)
      taken = state.events.length
      return fresh
    },
    sign,
    async deliver(to: string, event: StripeEvent | string, options?: SignOptions) {
      const { body, signature } = sign(event, options)
      const headers = { 'content-type': 'application/json', 'stripe-signature': signature }
      const response = await fetch(to, { method: 'POST', body, headers })
      await response.text()
      return response.status
    },
    async close(): Promise<void> {
      http.closeAllConnections()
      http.close()
      await once(http, 'close')
    },
  })
}

function requestHandler(state: StripeState, controls: Controls, secretKey: string) {
  /** By idempotency key: the first request and its response. */
  const remembered = new Map<string, { request: string; response: object }>()

  function respond({ headers }: IncomingMessage, method: string, path: string, params: string) {
    const { outage, broken } = controls
    if (outage || (broken !== undefined && path.startsWith(broken))) {
      throw new ApiError(500, 'Internal error.', { type: 'api_error' })
    }
    const key = headers.authorization?.replace('Bearer ', '')
    // Stripe masks most of the key. Quoting all of it is the worst case.
    if (key !== secretKey) throw new ApiError(401, `Invalid API Key provided: ${key}`)
    const call = () => callApi(state, method, path, new URLSearchParams(params))
    const idempotencyKey = headers['idempotency-key']?.toString()
    if (idempotencyKey === undefined) return call()
    const first = remembered.get(idempotencyKey)
    if (first && first.request !== params) {
      const message = 'Keys for idempotent requests can only be used with the same parameters.'
      throw new ApiError(400, message, { type: 'idempotency_error' })
    }
    const response = first?.response ?? structuredClone(call())
    remembered.set(idempotencyKey, { request: params, response })
    return response
  }

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname: path, search } = new URL(request.url ?? '/', 'http://stripe.test')
    const params = (await text(request)) || search.slice(1)
    const method = request.method ?? ''
    controls.requests.push({ method, path, params })
    if (controls.outage === 'silent') return
    if (controls.outage === 'hang-up') return void request.socket.destroy()
    try {
      write(response, 200, respond(request, method, path, params))
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      write(response, error.status, { error: error.error })
    }
  }
}

function write(response: ServerResponse, status: number, body: object): void {
  const headers = { 'content-type': 'application/json', 'request-id': 'req_1' }
  const noRetry = status >= 500 ? { 'stripe-should-retry': 'false' } : {}
  response.writeHead(status, { ...headers, ...noRetry }).end(JSON.stringify(body))
}
