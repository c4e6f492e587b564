import { type IncomingMessage, maxHeaderSize, type ServerResponse } from 'node:http'
import findMyWay from 'find-my-way'
import type { ReportOutage } from '../../base/jobs/outage.ts'
import { Problem, StoreUnavailable, toError } from '../../base/problem.ts'
import type { ClientAddresses } from './client-address.ts'
import { bearerToken } from './credentials.ts'
import type { ServerDeps } from './deps.ts'
import { disconnectSignal, isDisconnect, onClose, throwIfClosed } from './disconnect.ts'
import { countResponse, requestTimer } from './metrics.ts'
import { ignoredReader, inputReader, NO_PARAMS } from './parameters.ts'
import {
  bodyParams,
  checkHost,
  hasBody,
  NO_BYTES,
  pathParams,
  queryParams,
  readBody,
  TOO_MANY_CHUNKS,
} from './parse-request.ts'
import { problemResponse, toProblem } from './problem-response.ts'
import { takeRate } from './rates.ts'
import type { HttpRequest } from './request.ts'
import {
  bodyBytes,
  cors,
  type HttpResponse,
  isReceived,
  preflight,
  writeEarlyResponse,
  writeResponse,
} from './response.ts'
import { methodsByPath, namesIgnored, type Route } from './route.ts'

export interface HttpServerContext extends ClientAddresses {
  deps: ServerDeps
  /** Aborted when the client disconnects, and at shutdown. */
  waitSignalOf(response: ServerResponse): AbortSignal
  reportOutage: ReportOutage
  requestId(): string
  routes: readonly Route[]
  /** For a browser that requested a page. */
  problemPage: NonNullable<Route['renderProblem']>
}

const NO_QUERY = {}
/** Their bodies are read. */
const HAS_INPUT: ReadonlySet<Route['method']> = new Set(['POST', 'PATCH'])

/** Handles every request: finds its route, reads the body, and writes the response. */
export function requestHandler(context: HttpServerContext) {
  const fallback = fallbackHandler(context)
  // The query is parsed like a form, see parameters.ts. A parameter of any length gets the response of its route.
  const router = findMyWay({ querystringParser: () => NO_QUERY, maxParamLength: maxHeaderSize })
  for (const route of context.routes) {
    const methods = route.method === 'GET' ? (['GET', 'HEAD'] as const) : ([route.method] as const)
    router.on([...methods], route.path.replace(/\{(\w+)\}/g, ':$1'), routeHandler(context, route))
  }

  return (request: IncomingMessage, response: ServerResponse): void => {
    const { method, url = '' } = request
    const found = router.find(method as 'GET', url) ?? router.find(method as 'GET', literal(url))
    // The router accepts an empty parameter.
    const isComplete = found && !Object.values(found.params).includes('')
    const handled: Promise<void> = isComplete
      ? (found.handler as ReturnType<typeof routeHandler>)(request, response, found.params)
      : fallback(request, response)
    handled.catch((err) => {
      response.destroy()
      if (isDisconnect(err)) return
      context.deps.log.error({ err: toError(err), path: requestPath(request) }, 'response failed')
    })
  }
}

function routeHandler(context: HttpServerContext, route: Route) {
  const { deps, clientOf } = context
  const read = inputReader(route.input)
  const ignoredOf = namesIgnored(route) ? ignoredReader(route.input) : () => undefined
  const withCors = cors(route.api, deps.keyedOrigins)

  async function respond(exchange: Exchange, params: object): Promise<HttpResponse> {
    const { raw } = exchange
    checkHost(raw)
    const body =
      HAS_INPUT.has(route.method) && hasBody(raw)
        ? await readBody(raw, route.maxBodyBytes)
        : NO_BYTES
    const client = clientOf(raw)
    if (client !== undefined) await takeRates(deps, route, client)
    const request = routeRequest(context, exchange, body, client)
    // No await unless needed: a poll is served from memory.
    if (route.authenticate) request.key = await route.authenticate(deps, request)
    const given = {
      path: route.path.includes('{') ? pathParams(params) : NO_PARAMS,
      query: queryParams(raw),
      body: route.rawBody || body.length === 0 ? NO_PARAMS : await bodyParams(raw, body),
      bearer: bearerToken(raw.headers.authorization),
    }
    exchange.ignored = ignoredOf(given)
    const input = read(given)
    exchange.input = input
    const made = await route.handle(input, deps, request)
    request.reserveSendBudget(bodyBytes(made.body))
    return made
  }

  return async (raw: IncomingMessage, response: ServerResponse, params: object): Promise<void> => {
    const exchange: Exchange = { raw, response, input: {}, timer: requestTimer() }
    const { secondsTaken } = exchange.timer
    const withHeaders = (made: HttpResponse) => {
      const { ignored, extra } = exchange
      const added = ignored ? { ...extra?.(), 'x-ignored-parameters': ignored } : extra?.()
      return withCors(made, raw.headers.origin, added)
    }
    try {
      const made = await respond(exchange, params)
      countResponse(route.path, made.status, secondsTaken())
      if (deps.draining()) response.shouldKeepAlive = false
      await writeResponse(response, withHeaders(made))
    } catch (error) {
      const { path, renderProblem } = route
      await sendProblem(context, raw, {
        path,
        response,
        error,
        withHeaders,
        renderProblem,
        secondsTaken,
      })
    }
  }
}

/** A request and what its response depends on besides the result. */
interface Exchange {
  raw: IncomingMessage
  response: ServerResponse
  input: { token?: unknown }
  timer: ReturnType<typeof requestTimer>
  /** Makes headers of the response, whether success or problem. */
  extra?: () => Record<string, string>
  /** Names of parameters that the route does not know. */
  ignored?: string | undefined
}

function routeRequest(
  context: HttpServerContext,
  exchange: Exchange,
  body: Uint8Array,
  client: string | undefined,
): HttpRequest {
  const { raw, response, timer } = exchange
  const request: HttpRequest = {
    method: raw.method ?? '',
    headers: raw.headers,
    body,
    client,
    sourceAddress: () => context.sourceAddressOf(raw),
    isTrustedProxy: () => context.isTrustedProxy(raw),
    secure: () => context.isSecure(raw),
    isExposed: () => context.isExposed(raw),
    signal: () => disconnectSignal(response),
    waitSignal() {
      timer.onWait()
      return context.waitSignalOf(response)
    },
    throwIfClosed: () => throwIfClosed(response),
    onClose: (release) => onClose(response, release),
    addHeaders(make) {
      exchange.extra = make
    },
    key: undefined,
    reserveSendBudget(bytes) {
      throwIfClosed(response)
      const { key } = request
      const owner = client ?? (key ? `key ${key.id}` : `token ${exchange.input.token}`)
      context.deps.sendBudget.reserve(bytes, response, owner)
    },
  }
  return request
}

/** Unknown paths, unsupported methods and CORS preflights. */
function fallbackHandler(context: HttpServerContext) {
  const paths = methodsByPath(context.routes)

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = requestPath(request)
    const known = paths.find(({ pattern }) => pattern.test(path))
    const withCors = cors(known?.api, context.deps.keyedOrigins)
    const withHeaders = (made: HttpResponse) => withCors(made, request.headers.origin)
    try {
      checkHost(request)
      const client = context.clientOf(request)
      if (client !== undefined) await takeRate(context.deps, 'request', client)
      // A parameter that cannot be decoded ends here even if the method is right.
      if (!known || known.methods.includes(request.method ?? '')) {
        throw new Problem('not_found', 'Not found.')
      }
      const allow = [...known.methods, 'OPTIONS'].join(', ')
      if (request.method !== 'OPTIONS') {
        response.setHeader('allow', allow)
        throw new Problem('method_not_allowed', `Use ${allow}.`)
      }
      if (context.deps.draining()) response.shouldKeepAlive = false
      await writeResponse(response, withHeaders(preflight(allow)))
    } catch (error) {
      const renderProblem = known?.renderProblem
      await sendProblem(context, request, { response, error, withHeaders, renderProblem })
    }
  }
}

interface ProblemOptions {
  /** Path of the route; undefined if there is none. */
  path?: string
  response: ServerResponse
  error: unknown
  /** Adds the headers of every response of the route. */
  withHeaders?(response: HttpResponse): HttpResponse
  /** The route's own form of errors. */
  renderProblem?: Route['renderProblem']
  /** Undefined if its time is not counted. */
  secondsTaken?(): number | undefined
}

/** Unexpected errors go to the log; the client gets only the request id. */
async function sendProblem(
  context: HttpServerContext,
  raw: IncomingMessage,
  { path = 'none', response, error, withHeaders = (plain) => plain, ...options }: ProblemOptions,
): Promise<void> {
  const { deps, requestId, reportOutage } = context
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
    const page = wantsPage(raw) ? context.problemPage : undefined
    const renderProblem = options.renderProblem ?? page
    const made = withHeaders(
      renderProblem?.(problem, deps, { headers: raw.headers, requestId: id }) ??
        problemResponse(problem, id),
    )
    countResponse(path, made.status, options.secondsTaken?.())
    // A kept connection would delay shutdown.
    if (deps.draining()) response.shouldKeepAlive = false
    const atOnce = error === TOO_MANY_CHUNKS
    if (!atOnce && (await isReceived(raw))) await writeResponse(response, made)
    else await writeEarlyResponse(raw, response, made, atOnce)
  }
}

async function takeRates(deps: ServerDeps, route: Route, client: string): Promise<void> {
  if (route.unlimited || route.operator) return
  await takeRate(deps, 'request', client)
  if (route.rate) await takeRate(deps, route.rate, client)
}

// Used by programs, which always get JSON.
const API_PATH = /^\/+(?:api|emails|usage|webhooks|mcp|admin\/api|livez|readyz|metrics)(?:[/?#]|$)/i

const MAX_MEDIA_RANGES = 100

/** Whether a browser requested a page: only then its Accept header names HTML. */
function wantsPage({ url = '', headers: { accept = '' } }: IncomingMessage): boolean {
  if (API_PATH.test(url)) return false
  return accept
    .split(',', MAX_MEDIA_RANGES)
    .some(
      (range) => /^\s*text\/html\s*(?:;|$)/i.test(range) && !/;\s*q=0(?:\.0*)?\s*$/i.test(range),
    )
}

/** A path that cannot be decoded, as it is: a parameter that is no valid one gets the response of its route. */
function literal(url: string): string {
  const path = requestPath({ url })
  try {
    decodeURIComponent(path)
    return url
  } catch {
    return path.replaceAll('%', '%25') + url.slice(path.length)
  }
}

/** Without the query, which holds tokens. */
function requestPath({ url = '' }: Pick<IncomingMessage, 'url'>): string {
  const end = url.search(/[?#]/)
  return end < 0 ? url : url.slice(0, end)
}
