import type { IncomingMessage, ServerResponse } from 'node:http'
import findMyWay from 'find-my-way'
import type { Static } from 'typebox'
import type { ReportOutage } from '../../base/jobs/outage.ts'
import { Problem, StoreUnavailable, toError } from '../../base/problem.ts'
import type { ClientOf } from './client.ts'
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
import {
  bodyBytes,
  cors,
  type HttpResponse,
  isReceived,
  preflight,
  writeEarlyResponse,
  writeResponse,
} from './response.ts'
import { type HttpRequest, methodsByPath, namesIgnored, type Route } from './route.ts'

export interface HttpServerContext {
  deps: ServerDeps
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
  /** For a browser that requested a page. */
  problemPage: NonNullable<Route['problemPage']>
}

const NO_QUERY = {}

/** Handles every request: finds its route, reads the body, and writes the response. */
export function requestHandler(context: HttpServerContext) {
  const fallback = fallbackHandler(context)
  // The query is parsed like a form, see parameters.ts.
  const router = findMyWay({ querystringParser: () => NO_QUERY })
  for (const route of context.routes) {
    const methods: ('GET' | 'HEAD' | 'POST')[] = route.method === 'GET' ? ['GET', 'HEAD'] : ['POST']
    router.on(methods, route.path.replace(/\{(\w+)\}/g, ':$1'), routeHandler(context, route))
  }

  return (request: IncomingMessage, response: ServerResponse): void => {
    const found = router.find(request.method as 'GET', request.url ?? '')
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

  async function respond(
    raw: IncomingMessage,
    response: ServerResponse,
    { params, onIgnored, ...parts }: RespondParts,
  ): Promise<HttpResponse> {
    checkHost(raw)
    const body =
      route.method === 'POST' && hasBody(raw) ? await readBody(raw, route.maxBodyBytes) : NO_BYTES
    const client = clientOf(raw)
    if (client !== undefined) await takeRates(deps, route, client)
    let input: Static<Route['input']> = {}
    const owner = () => client ?? budgetOwner(request.key, input)
    const request = routeRequest(context, raw, response, { ...parts, body, client, owner })
    // No await unless needed: a poll is served from memory.
    if (route.authenticate) request.key = await route.authenticate(deps, request)
    const given = {
      path: route.path.includes('{') ? pathParams(params) : NO_PARAMS,
      query: queryParams(raw),
      body: route.rawBody || body.length === 0 ? NO_PARAMS : await bodyParams(raw, body),
      bearer: bearerToken(raw.headers.authorization),
    }
    const ignored = ignoredOf(given)
    if (ignored !== undefined) onIgnored(ignored)
    input = read(given)
    const made = await route.handle(input, deps, request)
    request.reserveSendBudget(bodyBytes(made.body))
    return made
  }

  return async (
    request: IncomingMessage,
    response: ServerResponse,
    params: object,
  ): Promise<void> => {
    const { onWait, secondsTaken } = requestTimer()
    let extra: (() => Record<string, string>) | undefined
    const addHeaders: HttpRequest['addHeaders'] = (make) => {
      extra = make
    }
    let ignored: Record<string, string> | undefined
    const onIgnored = (names: string) => {
      ignored = { 'x-ignored-parameters': names }
    }
    const withHeaders = (made: HttpResponse) => {
      const added = ignored ? { ...extra?.(), ...ignored } : extra?.()
      return withCors(made, request.headers.origin, added)
    }
    try {
      const made = await respond(request, response, { params, addHeaders, onIgnored, onWait })
      countResponse(route.path, made.status, secondsTaken())
      if (deps.draining()) response.shouldKeepAlive = false
      await writeResponse(response, withHeaders(made))
    } catch (error) {
      const { path, problemPage } = route
      const options = { path, response, error, withHeaders, problemPage, secondsTaken }
      await sendProblem(context, request, options)
    }
  }
}

interface RequestParts extends Pick<HttpRequest, 'body' | 'client' | 'addHeaders'> {
  /** Whose part of the send budget the response takes. */
  owner(): string
  /** Called when it starts to wait for mail. */
  onWait(): void
}

interface RespondParts extends Pick<RequestParts, 'addHeaders' | 'onWait'> {
  params: object
  /** Called with the names of parameters that the route does not know. */
  onIgnored(names: string): void
}

function routeRequest(
  context: HttpServerContext,
  raw: IncomingMessage,
  response: ServerResponse,
  { body, client, addHeaders, owner, onWait }: RequestParts,
): HttpRequest {
  return {
    method: raw.method ?? '',
    headers: raw.headers,
    body,
    client,
    sourceAddress: () => context.sourceAddressOf(raw),
    isTrustedProxy: () => context.isTrustedProxy(raw),
    secure: () => context.isSecure(raw),
    signal: () => disconnectSignal(response),
    waitSignal() {
      onWait()
      return context.waitSignalOf(response)
    },
    throwIfClosed: () => throwIfClosed(response),
    onClose: (release) => onClose(response, release),
    addHeaders,
    key: undefined,
    reserveSendBudget(bytes) {
      throwIfClosed(response)
      context.deps.sendBudget.reserve(bytes, response, owner())
    },
  }
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
      await sendProblem(context, request, { response, error, withHeaders })
    }
  }
}

/** For a client without a rate-limit key. */
function budgetOwner(key: HttpRequest['key'], { token }: { token?: unknown }): string {
  return key ? `key ${key.id}` : `token ${token}`
}

interface ProblemOptions {
  /** Of the route; undefined if there is none. */
  path?: string
  response: ServerResponse
  error: unknown
  /** Adds the headers of every response of the route. */
  withHeaders?(response: HttpResponse): HttpResponse
  /** Of the route. */
  problemPage?: Route['problemPage']
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
    const problemPage = options.problemPage ?? (wantsPage(raw) ? context.problemPage : undefined)
    const made = withHeaders(
      problemPage?.(problem, deps, { headers: raw.headers, requestId: id }) ??
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

/** Without the query, which holds tokens. */
function requestPath({ url = '' }: IncomingMessage): string {
  const end = url.search(/[?#]/)
  return end < 0 ? url : url.slice(0, end)
}
