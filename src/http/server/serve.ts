import { Buffer } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { asError, Problem, StoreAway } from '../../core/problem.ts'
import type { ReportOutage } from '../../service/background/outage.ts'
import { takeRate } from '../../service/rates.ts'
import { readBody, readForm } from './body.ts'
import type { ClientOf } from './client.ts'
import { cors } from './cors.ts'
import { bearerOf } from './credentials.ts'
import type { RouteDeps } from './deps.ts'
import { isHangUp } from './hang-up.ts'
import { inputReader, NO_VALUES, type Values } from './input.ts'
import { countAnswer } from './metrics.ts'
import { problemOf, refusal } from './refusal.ts'
import type { HttpResponse } from './response.ts'
import { disconnectSignal, onClose, throwIfClosed } from './response-scope.ts'
import type { Call, Route } from './route.ts'
import { hasArrived, writeAnswer, writeEarly } from './write.ts'

export interface Serving {
  deps: RouteDeps
  clientOf: ClientOf
  addressOf(request: IncomingMessage): string
  secureOf(request: IncomingMessage): boolean
  /** True if a trusted proxy asks for itself. */
  isOwnRequest(request: IncomingMessage): boolean
  /** Aborted when the client disconnects or we stop. */
  waitSignalOf(response: ServerResponse): AbortSignal
  /** Tells the log that the store is away. */
  reportOutage: ReportOutage
  requestId(): string
  routes: readonly Route[]
}

/** The function that answers every request for this route. */
export function serveRoute(serving: Serving, route: Route) {
  const { deps, clientOf, addressOf, secureOf, isOwnRequest, waitSignalOf } = serving
  const read = inputReader(route.input)
  const takesPath = route.path.includes('{')
  const share = cors(route.reader ?? false, deps.readerOrigins)

  async function answer(
    request: FastifyRequest,
    response: ServerResponse,
    tell: Call['tell'],
  ): Promise<HttpResponse> {
    const { raw } = request
    const body = request.body instanceof Buffer ? request.body : NO_BYTES
    checkHost(raw)
    const client = clientOf(raw)
    if (client !== undefined) await takeRates(deps, route, client)
    let input: Static<Route['input']> = {}
    let reserved = false
    const call: Call = {
      method: raw.method ?? '',
      headers: raw.headers,
      body,
      client,
      address: () => addressOf(raw),
      isProxy: () => isOwnRequest(raw),
      secure: () => secureOf(raw),
      signal: () => disconnectSignal(response),
      waitSignal: () => waitSignalOf(response),
      throwIfClosed: () => throwIfClosed(response),
      onClose: (release) => onClose(response, release),
      tell,
      key: undefined,
      reserve(going) {
        throwIfClosed(response)
        if (!reserved) deps.outgoing.admit(going, response, client ?? holderOf(call.key, input))
        reserved = true
      },
    }
    // No await where there is nothing to wait for: a poll is answered from memory.
    if (route.authenticate) call.key = await route.authenticate(deps, call)
    input = read({
      path: takesPath ? pathValues(request.params) : NO_VALUES,
      query: queryOf(raw),
      body: route.rawBody || body.length === 0 ? NO_VALUES : await bodyOf(raw, body),
      bearer: bearerOf(raw.headers.authorization),
    })
    const made = await route.handle(input, deps, call)
    call.reserve(made.body)
    return made
  }

  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    reply.hijack()
    let told: (() => Record<string, string>) | undefined
    const dress = (bare: HttpResponse) => share(bare, request.raw.headers.origin, told?.())
    try {
      const made = await answer(request, reply.raw, (make) => {
        told = make
      })
      countAnswer(route.path, made.status)
      if (deps.draining()) reply.raw.shouldKeepAlive = false
      await writeAnswer(reply.raw, dress(made))
    } catch (error) {
      const { headers } = request.raw
      const write: Refusing['write'] = (problem, requestId) =>
        route.refuse?.(problem, deps, { headers, requestId }) ?? refusal(problem, requestId)
      await refuse(serving, request, { response: reply.raw, error, dress, write })
    }
  }
}

const NO_BYTES = Buffer.alloc(0)

/** Stands for a client whom nobody counts. */
function holderOf(key: Call['key'], { token }: { token?: unknown }): string {
  return key ? `key ${key.id}` : `token ${token}`
}

interface Refusing {
  response: ServerResponse
  error: unknown
  /** Puts on what every answer of this route has. */
  dress?(bare: HttpResponse): HttpResponse
  /** JSON, unless the route has a page for it. */
  write?(problem: Problem, requestId: string): HttpResponse
}

/** Tells the caller what is wrong with the request, and the log what is wrong with us. */
export async function refuse(
  { deps, requestId, reportOutage }: Serving,
  { raw, routeOptions }: FastifyRequest,
  { response, error, dress = (bare) => bare, write = refusal }: Refusing,
): Promise<void> {
  if (isHangUp(error)) {
    response.destroy()
    return
  }
  const problem = problemOf(error)
  const id = requestId()
  if (problem instanceof StoreAway) reportOutage(problem)
  if (problem.code === 'internal') {
    deps.log.error({ err: asError(error), requestId: id, path: pathOf(raw) }, 'a request failed')
  }
  // In the middle of an answer there is no place for another one.
  if (response.headersSent) response.destroy()
  else {
    const answer = dress(write(problem, id))
    countAnswer(routeOptions.url ?? 'none', answer.status)
    // A connection that outlives its last answer would hold up the closing of the door.
    if (deps.draining()) response.shouldKeepAlive = false
    if (await hasArrived(raw)) await writeAnswer(response, answer)
    else await writeEarly(raw, response, answer)
  }
}

async function takeRates(deps: RouteDeps, route: Route, client: string): Promise<void> {
  if (route.uncounted || route.operator) return
  await takeRate(deps, 'request', client)
  if (route.rate) await takeRate(deps, route.rate, client)
}

async function bodyOf({ headers }: IncomingMessage, bytes: Buffer): Promise<Values> {
  const coding = headers['content-encoding'] ?? 'identity'
  if (bytes.length > 0 && coding.toLowerCase() !== 'identity') {
    throw new Problem('unsupported_media_type', 'Send the body without Content-Encoding.')
  }
  return await readBody(headers['content-type'], bytes)
}

// Node would answer this by itself, but not in our shape.
function checkHost({ headers, httpVersion }: IncomingMessage): void {
  if (headers.host === undefined && httpVersion === '1.1') {
    throw new Problem('invalid_parameter', 'The request has no Host header.')
  }
}

/** Without the query: that holds tokens. */
export function pathOf({ url = '' }: IncomingMessage): string {
  const end = url.search(/[?#]/)
  return end < 0 ? url : url.slice(0, end)
}

function pathValues(params: unknown): Values {
  return typeof params === 'object' && params !== null ? new Map(Object.entries(params)) : NO_VALUES
}

function queryOf({ url = '' }: IncomingMessage): Values {
  const end = url.search(/[?#]/)
  return end < 0 ? NO_VALUES : readForm(url.slice(end + 1))
}
