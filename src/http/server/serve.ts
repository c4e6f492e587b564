import { Buffer } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { Problem, StoreUnavailable, toError } from '../../core/problem.ts'
import type { ReportOutage } from '../../service/background/outage.ts'
import { takeRate } from '../../service/rates.ts'
import type { ClientOf } from './client.ts'
import { cors } from './cors.ts'
import { bearerToken } from './credentials.ts'
import type { RouteDeps } from './deps.ts'
import { disconnectSignal, isDisconnect, onClose, throwIfClosed } from './disconnect.ts'
import { countResponse } from './metrics.ts'
import { inputReader, NO_PARAMS, type Params, parseBody, parseForm } from './parameters.ts'
import { problemResponse, toProblem } from './problem-response.ts'
import { type HttpResponse, isReceived, writeEarlyResponse, writeResponse } from './response.ts'
import type { HttpRequest, Route } from './route.ts'

export interface ServerContext {
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
export function routeHandler(serving: ServerContext, route: Route) {
  const { deps, clientOf, addressOf, secureOf, isOwnRequest, waitSignalOf } = serving
  const read = inputReader(route.input)
  const share = cors(route.reader ?? false, deps.readerOrigins)

  async function answer(
    request: FastifyRequest,
    response: ServerResponse,
    tell: HttpRequest['addHeaders'],
  ): Promise<HttpResponse> {
    const { raw } = request
    checkHost(raw)
    const body = request.body instanceof Buffer ? request.body : NO_BYTES
    const client = clientOf(raw)
    if (client !== undefined) await takeRates(deps, route, client)
    let input: Static<Route['input']> = {}
    let reserved = false
    const call: HttpRequest = {
      method: raw.method ?? '',
      headers: raw.headers,
      body,
      client,
      sourceAddress: () => addressOf(raw),
      isTrustedProxy: () => isOwnRequest(raw),
      secure: () => secureOf(raw),
      signal: () => disconnectSignal(response),
      waitSignal: () => waitSignalOf(response),
      throwIfClosed: () => throwIfClosed(response),
      onClose: (release) => onClose(response, release),
      addHeaders: tell,
      key: undefined,
      reserveSendBudget(going) {
        throwIfClosed(response)
        if (reserved) return
        reserved = true
        deps.sendBudget.reserve(going, response, client ?? budgetOwner(call.key, input))
      },
    }
    // No await where there is nothing to wait for: a poll is answered from memory.
    if (route.authenticate) call.key = await route.authenticate(deps, call)
    input = read({
      path: route.path.includes('{') ? pathParams(request.params) : NO_PARAMS,
      query: queryParams(raw),
      body: route.rawBody || body.length === 0 ? NO_PARAMS : await bodyParams(raw, body),
      bearer: bearerToken(raw.headers.authorization),
    })
    const made = await route.handle(input, deps, call)
    call.reserveSendBudget(made.body)
    return made
  }

  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    reply.hijack()
    let extra: (() => Record<string, string>) | undefined
    const dress = (bare: HttpResponse) => share(bare, request.raw.headers.origin, extra?.())
    try {
      const made = await answer(request, reply.raw, (make) => {
        extra = make
      })
      countResponse(route.path, made.status)
      if (deps.draining()) reply.raw.shouldKeepAlive = false
      await writeResponse(reply.raw, dress(made))
    } catch (error) {
      const write: ProblemOptions['write'] = (problem, requestId) =>
        route.problemPage?.(problem, deps, { headers: request.raw.headers, requestId }) ??
        problemResponse(problem, requestId)
      await sendProblem(serving, request, { response: reply.raw, error, dress, write })
    }
  }
}

const NO_BYTES = Buffer.alloc(0)

/** Stands for a client whom nobody counts. */
function budgetOwner(key: HttpRequest['key'], { token }: { token?: unknown }): string {
  return key ? `key ${key.id}` : `token ${token}`
}

interface ProblemOptions {
  response: ServerResponse
  error: unknown
  /** Puts on what every answer of this route has. */
  dress?(bare: HttpResponse): HttpResponse
  /** JSON, unless the route has a page for it. */
  write?(problem: Problem, requestId: string): HttpResponse
}

/** Tells the caller what is wrong with the request, and the log what is wrong with us. */
export async function sendProblem(
  { deps, requestId, reportOutage }: ServerContext,
  { raw, routeOptions }: FastifyRequest,
  { response, error, dress = (bare) => bare, write = problemResponse }: ProblemOptions,
): Promise<void> {
  if (isDisconnect(error)) {
    response.destroy()
    return
  }
  const problem = toProblem(error)
  const id = requestId()
  if (problem instanceof StoreUnavailable) reportOutage(problem)
  if (problem.code === 'internal') {
    deps.log.error(
      { err: toError(error), requestId: id, path: requestPath(raw) },
      'a request failed',
    )
  }
  // In the middle of an answer there is no place for another one.
  if (response.headersSent) response.destroy()
  else {
    const answer = dress(write(problem, id))
    countResponse(routeOptions.url ?? 'none', answer.status)
    // A connection that outlives its last answer would hold up the closing of the door.
    if (deps.draining()) response.shouldKeepAlive = false
    if (await isReceived(raw)) await writeResponse(response, answer)
    else await writeEarlyResponse(raw, response, answer)
  }
}

async function takeRates(deps: RouteDeps, route: Route, client: string): Promise<void> {
  if (route.unlimited || route.operator) return
  await takeRate(deps, 'request', client)
  if (route.rate) await takeRate(deps, route.rate, client)
}

async function bodyParams({ headers }: IncomingMessage, bytes: Buffer): Promise<Params> {
  const coding = headers['content-encoding'] ?? 'identity'
  if (bytes.length > 0 && coding.toLowerCase() !== 'identity') {
    throw new Problem('unsupported_media_type', 'Send the body without Content-Encoding.')
  }
  return await parseBody(headers['content-type'], bytes)
}

// Node would answer this by itself, but not in our shape.
function checkHost({ headers, httpVersion }: IncomingMessage): void {
  if (headers.host === undefined && httpVersion === '1.1') {
    throw new Problem('invalid_parameter', 'The request has no Host header.')
  }
}

/** Without the query: that holds tokens. */
export function requestPath({ url = '' }: IncomingMessage): string {
  const end = url.search(/[?#]/)
  return end < 0 ? url : url.slice(0, end)
}

function pathParams(params: unknown): Params {
  return typeof params === 'object' && params !== null ? new Map(Object.entries(params)) : NO_PARAMS
}

function queryParams({ url = '' }: IncomingMessage): Params {
  const end = url.search(/[?#]/)
  return end < 0 ? NO_PARAMS : parseForm(url.slice(end + 1))
}
