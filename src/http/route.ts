import type { IncomingHttpHeaders } from 'node:http'
import type { Static, TObject, TSchema } from 'typebox'
import type { ProblemCode } from '../core/problem.ts'
import type { Answer } from './answer.ts'
import type { RouteNeeds } from './needs.ts'

/** One endpoint. The server, the documents and the tests read the same value, so they cannot disagree. */
export interface Route<I extends TObject = TObject, O extends TSchema = TSchema> {
  method: 'GET' | 'POST'
  path: string
  /** What it is for, in one line and then in as many as it takes. */
  title: string
  about: string
  input: I
  /** The JSON of a success, or the media type of what is no JSON. */
  output: O | string
  /** The refusals of its own, beside those that any request can meet. */
  refusals: readonly ProblemCode[]
  /** Counted by itself, beside the rate of all requests. */
  rate?: 'createSession'
  /** Answers 304 to an ETag that is still true. */
  conditional?: true
  /** Goes on after the message that Last-Event-ID names. */
  resumable?: true
  /** Tells the operator more, or him alone, when there is an admin token. */
  operator?: true
  /** Health checks cost no allowance. */
  uncounted?: true
  handle(input: Static<I>, needs: RouteNeeds, call: Call): Promise<Answer<Static<O>>>
}

/** What a route may want to know of a request beside its parameters. */
export interface Call {
  method: string
  headers: IncomingHttpHeaders
  /** Whose allowance the request is taken from; undefined: nobody counts. */
  client: string | undefined
  /** Aborted when the client hangs up or we stop. */
  signal(): AbortSignal
}

export function route<I extends TObject, O extends TSchema>(route: Route<I, O>): Route {
  return route
}

/** The last part of the path: what the documents call it. */
export function nameOf({ path }: Route): string {
  return path.slice(path.lastIndexOf('/') + 1)
}
