import type { IncomingHttpHeaders } from 'node:http'
import { type Static, type TObject, type TSchema, Type } from 'typebox'
import type { Problem, ProblemCode } from '../../base/problem.ts'
import type { ApiKey } from '../../keys/rules.ts'
import type { ServerDeps } from './deps.ts'
import type { HttpRequest } from './request.ts'
import type { ApiKind, HttpResponse } from './response.ts'

/**
 * One endpoint. Server, documentation and tests read the same value. A handler that needs more than the server declares it as
 * the type of its `deps`; runtime/route-deps.ts has the values of all.
 */
export interface Route<
  I extends TObject = TObject,
  O extends TSchema = TSchema,
  D extends ServerDeps = ServerDeps,
> {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** With parameters in braces: `/api/orders/{id}`. */
  path: string
  /** A verb and a noun: `list-emails`. Needed if the last part of the path is none: see routeName. */
  name?: string
  /** For the documentation, as is `description`; pages have neither. */
  title: string
  description: string
  input: I
  /** Schema of the JSON response, or the media type of anything else. */
  output: O | string
  /** In addition to the key and those of `conditional` and `resumable`. */
  requestHeaders?: readonly HeaderField[]
  responseHeaders?: readonly string[]
  /** In addition to those of any request. */
  problems: readonly ProblemCode[]
  /** A limit in addition to that of all requests. */
  rate?: 'createSession' | 'checkout' | 'rollKey' | 'signIn'
  conditional?: true
  resumable?: true
  /** With an admin token configured, details are returned to the operator only. Has its own rate limit: see isOperatorRequest. */
  operator?: true
  unlimited?: true
  /** The keyed API needs a key, and is closed to other origins unless configured. The admin API is always closed to them. */
  api?: ApiKind
  /** Takes a key, but needs none. */
  acceptsKey?: true
  /** The body is not parsed: its signature covers the bytes. */
  rawBody?: true
  /** Default: as parse-request.ts has it. */
  maxBodyBytes?: number
  /** Runs before the parameters are parsed. Throws Problem if the key is not accepted. */
  authenticate?(deps: D, request: HttpRequest): Promise<ApiKey | undefined>
  handle(input: Static<I>, deps: D, request: HttpRequest): Promise<HttpResponse<Static<O>>>
  /** Whether the server has it; default: always. */
  served?(deps: D): boolean
  /** Problems as an HTML page, or as another API reports them, instead of our JSON. */
  renderProblem?(
    problem: Problem,
    deps: D,
    request: { headers: IncomingHttpHeaders; requestId: string },
  ): HttpResponse
}

export interface HeaderField {
  name: string
  required: boolean
  description: string
}

export type RouteOptions<I extends TObject, O extends TSchema, D extends ServerDeps> = Partial<
  Route<I, O, D>
> &
  Pick<Route<I, O, D>, 'method' | 'path' | 'handle'>

/** For the compiler only: a list of routes that get these `deps` accepts no route that requires more. */
export interface RequiresDeps<D> {
  readonly requiredDeps?: (deps: D) => void
}

/** Without parameters, problems of its own and documentation, unless they are given. */
export function route<I extends TObject, O extends TSchema, D extends ServerDeps>(
  options: RouteOptions<I, O, D>,
): Route & RequiresDeps<D> {
  return { title: '', description: '', input: NO_INPUT, output: '', problems: [], ...options }
}

const NO_INPUT = Type.Object({})

/** The anchor in the documentation. In OpenAPI it is the operation id: see operationId. */
export function routeName({ name, path }: Route): string {
  return name ?? path.replace(/^.*\//, '')
}

/** Whether responses name the parameters that were ignored: those of the two APIs. */
export function namesIgnored({ path, api, rawBody }: Route): boolean {
  return !rawBody && (api === 'keyed' || path.startsWith('/api/'))
}

export function isInPath({ path }: Route, name: string): boolean {
  return path.includes(`{${name}}`)
}

/** The methods of each path, for requests that no route handles. */
export function methodsByPath(routes: readonly Route[]) {
  return [...Map.groupBy(routes, ({ path }) => path)].map(([path, alike]) => ({
    pattern: new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
    methods: alike.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])),
    api: alike.find(({ api }) => api)?.api,
    renderProblem: alike.find(({ renderProblem }) => renderProblem)?.renderProblem,
  }))
}
