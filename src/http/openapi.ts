import type { TObject, TSchema } from 'typebox'
import type { ProblemCode } from '../core/problem.ts'
import { nameOf, type Route } from './route.ts'
import { status } from './status.ts'

const BODY_TYPES = [
  'application/x-www-form-urlencoded',
  'application/json',
  'multipart/form-data',
] as const

/** OpenAPI 3.1 of these routes. */
export function openapi(routes: readonly Route[]): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(route) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Mayfly',
      version: '1',
      summary: 'Disposable mailboxes.',
      description:
        'All times are UTC. Unknown parameters are ignored; an empty one counts as not given. Errors have a stable code and a message for people.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    paths,
    components: {
      schemas: { Refusal: refusalSchema(Object.keys(status)) },
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
  }
}

/** What a request to this route may be refused with, its own refusals and everybody's. */
export function refusalsOf(route: Route): ProblemCode[] {
  const all: ProblemCode[] = [
    ...(Object.keys(route.input.properties).length > 0 ? PARAMETERS : []),
    ...route.refusals,
    ...(route.method === 'POST' ? BODY : []),
    ...(route.uncounted ? [] : COUNTED),
    ...ANY,
  ]
  return [...new Set(all)].sort((a, b) => status[a] - status[b])
}

const PARAMETERS: ProblemCode[] = ['missing_parameter', 'invalid_parameter']
const BODY: ProblemCode[] = ['invalid_parameter', 'too_large', 'unsupported_media_type']
const COUNTED: ProblemCode[] = ['rate_limited']
const ANY: ProblemCode[] = ['timeout', 'internal', 'overloaded']

function operation(route: Route): object {
  const named = Object.keys(route.input.properties).length > 0
  const takesToken = 'token' in route.input.properties
  return {
    operationId: nameOf(route),
    summary: route.title,
    description: route.about,
    ...(takesToken ? { security: [{ token: [] }, {}] } : {}),
    ...(named && route.method === 'GET' ? { parameters: parameters(route.input) } : {}),
    ...(named && route.method === 'POST' ? { requestBody: requestBody(route.input) } : {}),
    responses: responses(route),
  }
}

function parameters(input: TObject): object[] {
  return Object.entries(input.properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: isRequired(input, name),
    schema,
  }))
}

function requestBody(input: TObject): object {
  const required = Object.keys(input.properties).filter((name) => isRequired(input, name))
  const schema = { ...input, required }
  const content = Object.fromEntries(BODY_TYPES.map((type) => [type, { schema }]))
  return { required: required.length > 0, content }
}

/** The token may come in a header instead. */
export function isRequired(input: TObject, name: string): boolean {
  return name !== 'token' && (input.required ?? []).includes(name)
}

function responses(route: Route): Record<string, object> {
  const answers: Record<string, object> = {
    200: { description: 'Success', ...success(route.output) },
  }
  if (route.conditional) answers[304] = { description: 'Nothing changed since that ETag.' }
  for (const [code, codes] of Map.groupBy(refusalsOf(route), (refusal) => status[refusal])) {
    answers[code] = {
      description: codes.join(', '),
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Refusal' } } },
    }
  }
  return answers
}

function success(output: TSchema | string): object {
  if (typeof output !== 'string') return { content: { 'application/json': { schema: output } } }
  return { content: { [output]: { schema: { type: 'string' } } } }
}

function refusalSchema(codes: string[]): object {
  return {
    type: 'object',
    required: ['status', 'message', 'code', 'request_id'],
    properties: {
      status: { const: 'error' },
      message: { type: 'string' },
      code: { enum: codes },
      request_id: { type: 'string' },
    },
  }
}
