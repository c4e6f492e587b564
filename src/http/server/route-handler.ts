import { Buffer } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Counter } from 'prom-client'
import type { Static } from 'typebox'
import { Problem, StoreUnavailable, toError } from '../../core/problem.ts'
import type { ReportOutage } from '../../service/background/outage.ts'
import { takeRate } from '../../service/rates.ts'
import type { ClientOf } from './client.ts'
import { bearerToken } from './credentials.ts'
import type { RouteDeps } from './deps.ts'
import { disconnectSignal, isDisconnect, onClose, throwIfClosed } from './disconnect.ts'
import { inputReader, NO_PARAMS, type Params, parseBody, parseForm } from './parameters.ts'
import { problemResponse, toProblem } from './problem-response.ts'
import {
  cors,
  type HttpResponse,
  isReceived,
  writeEarlyResponse,
  writeResponse,
} from './response.ts'
import type { HttpRequest, Route } from './route.ts'

export interface HttpServerContext {
  deps: RouteDeps
  clientOf: ClientOf
  sourceAddressOf(request: IncomingMessage): string
  isSecure(request: IncomingMessage): boolean
  /** True for requests of a trusted proxy itself. */
  isTrustedProxy(request: IncomingMessage): boolean
  /** Aborted when the client disconnects, and at shutdown. */
  waitSignalOf(response: ServerResponse): AbortSignal
  reportOutage: ReportOutage
  requestId(): string
  routes: readonly Route[]
}

export function routeHandler(context: HttpServerContext, route: Route) {
  const { deps, clientOf } = context
  const read = inputReader(route.input)
  const withCors = cors(route.api, deps.keyedOrigins)

  async function respond(
    { raw, body: rawBody, params }: FastifyRequest,
    response: ServerResponse,
    addHeaders: HttpRequest['addHeaders'],
  ): Promise<HttpResponse> {
    checkHost(raw)
    const body = rawBody instanceof Buffer ? rawBody : NO_BYTES
    const client = clientOf(raw)
    if (client !== undefined) await takeRates(deps, route, client)
    let input: Static<Route['input']> = {}
    let reserved = false
    const request: HttpRequest = {
      method: raw.method ?? '',
      headers: raw.headers,
      body,
      client,
      sourceAddress: () => context.sourceAddressOf(raw),
      isTrustedProxy: () => context.isTrustedProxy(raw),
      secure: () => context.isSecure(raw),
      signal: () => disconnectSignal(response),
      waitSignal: () => context.waitSignalOf(response),
      throwIfClosed: () => throwIfClosed(response),
      onClose: (release) => onClose(response, release),
      addHeaders,
      key: undefined,
      reserveSendBudget(sent) {
        throwIfClosed(response)
        if (reserved) return
        reserved = true
        deps.sendBudget.reserve(sent, response, client ?? budgetOwner(request.key, input))
      },
    }
    // No await unless needed: a poll is served from memory.
    if (route.authenticate) request.key = await route.authenticate(deps, request)
    input = read({
      path: route.path.includes('{') ? pathParams(params) : NO_PARAMS,
      query: queryParams(raw),
      body: route.rawBody || body.length === 0 ? NO_PARAMS : await bodyParams(raw, body),
      bearer: bearerToken(raw.headers.authorization),
    })
    const made = await route.handle(input, deps, request)
    request.reserveSendBudget(made.body)
    return made
  }

  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    reply.hijack()
    let extra: (() => Record<string, string>) | undefined
    const withHeaders = (response: HttpResponse) =>
      withCors(response, request.raw.headers.origin, extra?.())
    try {
      const made = await respond(request, reply.raw, (make) => {
        extra = make
      })
      countResponse(route.path, made.status)
      if (deps.draining()) reply.raw.shouldKeepAlive = false
      await writeResponse(reply.raw, withHeaders(made))
    } catch (error) {
      const toResponse: ProblemOptions['toResponse'] = (problem, requestId) =>
        route.problemPage?.(problem, deps, { headers: request.raw.headers, requestId }) ??
        problemResponse(problem, requestId)
      await sendProblem(context, request, { response: reply.raw, error, withHeaders, toResponse })
    }
  }
}

const NO_BYTES = Buffer.alloc(0)

/** For a client without a rate-limit key. */
function budgetOwner(key: HttpRequest['key'], { token }: { token?: unknown }): string {
  return key ? `key ${key.id}` : `token ${token}`
}

interface ProblemOptions {
  response: ServerResponse
  error: unknown
  /** Adds the headers of every response of the route. */
  withHeaders?(response: HttpResponse): HttpResponse
  /** JSON unless the route has a page for it. */
  toResponse?(problem: Problem, requestId: string): HttpResponse
}

/** Unexpected errors go to the log; the client gets only the request id. */
export async function sendProblem(
  { deps, requestId, reportOutage }: HttpServerContext,
  { raw, routeOptions }: FastifyRequest,
  { response, error, withHeaders = (plain) => plain, toResponse = problemResponse }: ProblemOptions,
): Promise<void> {
  if (isDisconnect(error)) {
    response.destroy()
    return
  }
  const problem = toProblem(error)
  const id = requestId()
  if (problem instanceof StoreUnavailable) reportOutage(problem)
  if (problem.code === 'internal') {
    deps.log.error({ err: toError(error), requestId: id, path: requestPath(raw) }, 'request failed')
  }
  // Another response cannot start in the middle of one.
  if (response.headersSent) response.destroy()
  else {
    const made = withHeaders(toResponse(problem, id))
    countResponse(routeOptions.url ?? 'none', made.status)
    // A kept connection would delay shutdown.
    if (deps.draining()) response.shouldKeepAlive = false
    if (await isReceived(raw)) await writeResponse(response, made)
    else await writeEarlyResponse(raw, response, made)
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
    throw new Problem('unsupported_media_type', 'Content-Encoding is not supported.')
  }
  return await parseBody(headers['content-type'], bytes)
}

// Checked here rather than by Node, for an error in our format.
function checkHost({ headers, httpVersion }: IncomingMessage): void {
  if (headers.host === undefined && httpVersion === '1.1') {
    throw new Problem('invalid_parameter', 'Host header is missing.')
  }
}

/** Without the query, which holds tokens. */
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

/** By route, then status class. Incrementing a label of prom-client costs a microsecond. */
const responseCounts = new Map<string, number[]>()

function countResponse(route: string, status: number): void {
  const classes = responseCounts.get(route) ?? [0, 0, 0, 0, 0, 0]
  if (!responseCounts.has(route)) responseCounts.set(route, classes)
  const at = Math.trunc(status / 100)
  classes[at] = (classes[at] ?? 0) + 1
}

new Counter({
  name: 'mayfly_http_requests_total',
  help: 'Requests answered, by route and class of status',
  labelNames: ['route', 'status'],
  collect() {
    this.reset()
    for (const [route, classes] of responseCounts) {
      for (const [at, count] of classes.entries()) {
        if (count > 0) this.inc({ route, status: `${at}xx` }, count)
      }
    }
  },
})
