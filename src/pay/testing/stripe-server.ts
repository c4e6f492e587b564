import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Stripe } from 'stripe'
import { type Actions, actionsOf } from './stripe-actions.ts'
import { answerApi } from './stripe-api.ts'
import { openLedger } from './stripe-ledger.ts'
import { type ApiRefusal, Refusal, readParams, refuse } from './stripe-params.ts'
import type { StripeEvent } from './stripe-shapes.ts'

// A Stripe of our own for tests, over real HTTP: the parts of its API that src/pay/stripe.ts uses, in Stripe's shapes
// and with its manners (form-encoded bodies, lists in pages, expand, error bodies, Idempotency-Key, secret keys), in
// memory. It was written by the types of the stripe package and Stripe's documents; live Stripe was not reached.
//
//   const server = await openStripeServer({ now })
//   const pay = openStripe({ secretKey: server.secretKey, webhookSecrets: [server.webhookSecret],
//                            apiUrl: server.url, prices: {}, now })
//   const { ref } = await pay.open(order)         a Checkout Session, over HTTP
//   server.pay(ref)                               the buyer pays: see stripe-actions.ts for all that can happen
//   for (const event of server.take()) {          what Stripe would send for it, once, in the order it happened
//     const { body, signature } = server.sign(event)
//     await pay.book.notice(Buffer.from(body), signature)
//   }
//   await server.deliver(webhookUrl, event)       the same over HTTP; answers the status
//   server.outage = 'error'                       every request fails from now on, until it is undefined again
//   await server.close()

export interface StripeServer extends Actions {
  url: string
  secretKey: string
  webhookSecret: string
  /** Every request so far, for looking at what was asked. */
  requests: SeenRequest[]
  /** error: 500. hang-up: the connection is cut. silent: no answer ever comes. */
  outage: 'error' | 'hang-up' | 'silent' | undefined
  /** Only what is asked under a path that begins like this is answered 500. */
  broken: string | undefined
  /** All events so far, oldest first. */
  events: readonly StripeEvent[]
  /** The events since it was last asked, oldest first. */
  take(): StripeEvent[]
  /** An event, or any text, as Stripe would send it. */
  sign(event: StripeEvent | string, options?: SignOptions): { body: string; signature: string }
  deliver(to: string, event: StripeEvent | string, options?: SignOptions): Promise<number>
  close(): Promise<void>
}

export interface SignOptions {
  secret?: string
  at?: Date
  scheme?: string
}

export interface SeenRequest {
  method: string
  path: string
  params: string
  idempotencyKey: string | undefined
}

export interface StripeServerOptions {
  now(): Date
  live?: boolean
  secretKey?: string
  webhookSecret?: string
}

export async function openStripeServer(options: StripeServerOptions): Promise<StripeServer> {
  const { now, live = false } = options
  const secretKey = options.secretKey ?? `sk_${live ? 'live' : 'test'}_fake0secret0key`
  const webhookSecret = options.webhookSecret ?? 'whsec_fake0webhook0secret'
  const ledger = openLedger({ now, live })
  const remembered = new Map<string, Remembered>()
  let taken = 0

  const http = createServer((request, response) => void answer(request, response))
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`

  async function answer(request: IncomingMessage, response: ServerResponse) {
    const { pathname: path, search } = new URL(request.url ?? '/', url)
    const params = readParams((await text(request)) || search.slice(1))
    const idempotencyKey = request.headers['idempotency-key']?.toString()
    const method = request.method ?? 'GET'
    server.requests.push({ method, path, params: params.text, idempotencyKey })
    if (server.outage === 'silent') return
    if (server.outage === 'hang-up') return void request.socket.destroy()
    const ask = () => {
      const broken = server.broken !== undefined && path.startsWith(server.broken)
      if (server.outage || broken) throw refuse(500, 'It went wrong.', { type: 'api_error' })
      const key = request.headers.authorization?.replace('Bearer ', '')
      // Stripe stars out most of it. To quote all of it is the worst that a proxy between might do.
      if (key !== secretKey) throw refuse(401, `Invalid API Key provided: ${key}`)
      return answerApi(ledger, url, { method, path, params })
    }
    const wish = `${method} ${path} ${params.text}`
    write(response, idempotencyKey ? once24h(remembered, idempotencyKey, wish, ask) : reply(ask))
  }

  const sign = signer({ now, webhookSecret })

  const server: StripeServer = {
    ...actionsOf(ledger),
    url,
    secretKey,
    webhookSecret,
    requests: [],
    outage: undefined,
    broken: undefined,
    events: ledger.events,
    take() {
      const fresh = ledger.events.slice(taken)
      taken = ledger.events.length
      return fresh
    },
    sign,
    async deliver(to, event, options) {
      const { body, signature } = sign(event, options)
      const headers = { 'content-type': 'application/json', 'stripe-signature': signature }
      const answered = await fetch(to, { method: 'POST', body, headers })
      await answered.text()
      return answered.status
    },
    async close() {
      http.closeAllConnections()
      http.close()
      await once(http, 'close')
    },
  }
  return server
}

function signer({ now, webhookSecret }: { now(): Date; webhookSecret: string }) {
  return (event: StripeEvent | string, { secret, at, scheme }: SignOptions = {}) => {
    const body = typeof event === 'string' ? event : JSON.stringify(event, undefined, 2)
    const signature = Stripe.webhooks.generateTestHeaderString({
      payload: body,
      secret: secret ?? webhookSecret,
      timestamp: Math.floor((at ?? now()).getTime() / 1_000),
      scheme: scheme ?? 'v1',
      // The type asks for all six; the two that are left out have defaults.
    } as Stripe.WebhookTestHeaderOptions)
    return { body, signature }
  }
}

interface Reply {
  status: number
  body: string
}

interface Remembered extends Reply {
  wish: string
}

function reply(ask: () => unknown): Reply {
  try {
    return { status: 200, body: JSON.stringify(ask()) }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { status, error: told } = error.answer satisfies ApiRefusal
    return { status, body: JSON.stringify({ error: told }) }
  }
}

/** The same key and wish get the first answer again; the same key for another wish is refused. Keys are kept for ever here. */
function once24h(
  remembered: Map<string, Remembered>,
  key: string,
  wish: string,
  ask: () => unknown,
): Reply {
  const first = remembered.get(key)
  if (first && first.wish !== wish) {
    const message = `Keys for idempotent requests can only be used with the same parameters: ${key}`
    return reply(() => {
      throw refuse(400, message, { type: 'idempotency_error' })
    })
  }
  if (first) return first
  const made = { ...reply(ask), wish }
  // What never began is not remembered: a wrong key, a bad parameter.
  if (made.status === 200) remembered.set(key, made)
  return made
}

let lastRequest = 0

function write(response: ServerResponse, { status, body }: Reply): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'request-id': `req_${++lastRequest}`,
    'stripe-version': Stripe.API_VERSION,
    ...(status >= 500 && { 'stripe-should-retry': 'false' }),
  })
  response.end(body)
}
