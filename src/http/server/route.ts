import type { IncomingHttpHeaders } from 'node:http'
import type { Static, TObject, TSchema } from 'typebox'
import type { ApiKey } from '../../core/key.ts'
import type { Problem, ProblemCode } from '../../core/problem.ts'
import type { RouteDeps } from './deps.ts'
import type { HttpResponse } from './response.ts'

/** One endpoint. The server, the documents and the tests read the same value, so they cannot disagree. */
export interface Route<I extends TObject = TObject, O extends TSchema = TSchema> {
  method: 'GET' | 'POST'
  /** A part in braces is a parameter of that name: `/api/orders/{id}`. */
  path: string
  /** What it is for, in one line and then in as many as it takes. */
  title: string
  about: string
  input: I
  /** The JSON of a success, or the media type of what is no JSON. */
  output: O | string
  /** Headers that it reads, beside those of `conditional` and `resumable`. */
  requestHeaders?: readonly HeaderField[]
  /** Headers of a success that are its own. */
  responseHeaders?: readonly string[]
  /** The refusals of its own, beside those that any request can meet. */
  problems: readonly ProblemCode[]
  /** Counted by itself, beside the rate of all requests. */
  rate?: 'createSession' | 'checkout' | 'rollKey'
  /** Answers 304 to an ETag that is still true. */
  conditional?: true
  /** Goes on after the message that Last-Event-ID names. */
  resumable?: true
  /** Tells the operator more, or him alone, when there is an admin token. Counts its requests itself: see credentials.ts. */
  operator?: true
  /** Costs no allowance. */
  unlimited?: true
  /** Of the paid interface: pages elsewhere may not read it unless the operator says so. */
  reader?: true
  /** The body is no parameters: it is left as it came, for a signature over its bytes. */
  rawBody?: true
  /** Asked before the parameters are looked at: whose key comes with the request. Refuses it if it may not pass. */
  authenticate?(deps: RouteDeps, call: HttpRequest): Promise<ApiKey | undefined>
  handle(input: Static<I>, deps: RouteDeps, call: HttpRequest): Promise<HttpResponse<Static<O>>>
  /** Where people look: a page in place of the JSON that a refusal is. */
  problemPage?(problem: Problem, deps: RouteDeps, asked: FailedRequest): HttpResponse
}

/** What is known of any request that is refused. */
interface FailedRequest {
  headers: IncomingHttpHeaders
  requestId: string
}

/** What a route may want to know of a request beside its parameters. */
export interface HttpRequest {
  method: string
  headers: IncomingHttpHeaders
  /** The body as it came. */
  body: Uint8Array
  /** Whose allowance the request is taken from; undefined: nobody counts. */
  client: string | undefined
  /** Where it comes from, counted or not; all of this machine are one. */
  sourceAddress(): string
  /** True if a trusted proxy asks for itself, such as for a health check. */
  isTrustedProxy(): boolean
  /** Whether the browser reached us by https, at whatever is before us. */
  secure(): boolean
  /** Aborted when the client disconnects. While we drain, such requests are served as ever. */
  signal(): AbortSignal
  /** For long polls and streams: aborted when the client disconnects or we stop. */
  waitSignal(): AbortSignal
  /** Throws when the client has disconnected: there is nobody to work for. */
  throwIfClosed(): void
  /** Runs once the response is closed, complete or not; at once if it is already. */
  onClose(release: () => void): void
  /** Gives headers to go with the answer whatever it will be, also a refusal. They are made once, when it goes out. */
  addHeaders(make: () => Record<string, string>): void
  /** What `admit` found. */
  key: ApiKey | undefined
  /**
   * Takes the room that the body needs while it goes out, or refuses. It is done for every answer; a route that has
   * something to give back then does it itself.
   */
  reserveSendBudget(body: HttpResponse['body']): void
}

/** A header that a route reads. */
export interface HeaderField {
  name: string
  required: boolean
  description: string
}

export function route<I extends TObject, O extends TSchema>(route: Route<I, O>): Route {
  return route
}

/** The last part of the path that has a name of its own: what the documents call it. */
export function routeName({ path }: Route): string {
  return path.replace(/\/\{\w+\}$/, '').replace(/^.*\//, '')
}

export function isInPath({ path }: Route, name: string): boolean {
  return path.includes(`{${name}}`)
}
