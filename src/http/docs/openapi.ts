import type { TObject, TSchema } from 'typebox'
import type { ProblemCode } from '../../base/problem.ts'
import { problemSchema, problemStatus } from '../server/problem-response.ts'
import { isInPath, namesIgnored, type Route, routeName } from '../server/route.ts'

const BODY_TYPES = [
  'application/x-www-form-urlencoded',
  'application/json',
  'multipart/form-data',
] as const

export function openapi(routes: readonly Route[]): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(route) }
  }
  const schemas: Record<string, unknown> = {}
  return {
    openapi: '3.1.0',
    info: {
      title: 'Mayfly',
      version: '1',
      summary: 'Disposable mailboxes.',
      description:
        'All times are UTC. Unknown parameters are ignored and named in X-Ignored-Parameters; an empty one counts as missing. Errors have a stable code and a message for people.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    paths: withReferences(paths, schemas),
    components: {
      schemas,
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'A session token.' },
        key: { type: 'apiKey', in: 'header', name: 'APIKey', description: 'An API key.' },
        keyAsBearer: { type: 'http', scheme: 'bearer', description: 'An API key as Bearer.' },
        adminToken: { type: 'http', scheme: 'bearer', description: 'MAYFLY_ADMIN_TOKEN, if set.' },
      },
    },
  }
}

/** Replaces each schema with a name by a reference; the schema itself is added to `schemas`. */
function withReferences(value: unknown, schemas: Record<string, unknown>): unknown {
  if (Array.isArray(value)) return value.map((item) => withReferences(item, schemas))
  if (typeof value !== 'object' || value === null) return value
  const { $id, ...fields } = value as Record<string, unknown>
  const replaced = Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, withReferences(field, schemas)]),
  )
  if (typeof $id !== 'string') return replaced
  schemas[$id] = replaced
  return { $ref: `#/components/schemas/${$id}` }
}

/** What the parser answers to too many headers: see problem-response.ts. */
const HEADERS_TOO_LARGE = 431

/** The problems of the route itself and those of any request. */
export function problemsOf(route: Route): ProblemCode[] {
  const { input, method, rawBody, unlimited } = route
  const when = (applies: unknown, ...codes: ProblemCode[]) => (applies ? codes : [])
  const all = [
    ...when(input.required?.length, 'missing_parameter'),
    ...when(Object.keys(input.properties).length, 'invalid_parameter'),
    ...route.problems,
    ...when(method === 'POST' && !rawBody, 'invalid_parameter', 'unsupported_media_type'),
    ...when(!unlimited, 'rate_limited'),
    ...when(true, 'timeout', 'too_large', 'internal', 'overloaded'),
  ]
  return [...new Set(all)].sort((a, b) => problemStatus[a] - problemStatus[b])
}

function operation(route: Route): object {
  const named = Object.keys(route.input.properties).some((name) => !isInPath(route, name))
  const parameters = [...urlParameters(route), ...headerParameters(route)]
  return {
    operationId: routeName(route),
    summary: route.title,
    description: route.description,
    ...security(route),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(named && route.method === 'POST' ? { requestBody: requestBody(route) } : {}),
    ...(route.rawBody ? { requestBody: RAW_REQUEST_BODY } : {}),
    responses: responses(route),
  }
}

const RAW_REQUEST_BODY = { required: true, content: { 'application/json': { schema: {} } } }

/** Optional if the token may be a parameter, or if no admin token is configured. */
function security({ input, operator, api }: Route): object {
  if (api === 'keyed') return { security: [{ key: [] }, { keyAsBearer: [] }] }
  if ('token' in input.properties) return { security: [{ token: [] }, {}] }
  return operator ? { security: [{ adminToken: [] }, {}] } : {}
}

function urlParameters(route: Route): object[] {
  const { input, method } = route
  return Object.entries(input.properties)
    .filter(([name]) => method !== 'POST' || isInPath(route, name))
    .map(([name, schema]) => ({
      name,
      in: isInPath(route, name) ? 'path' : 'query',
      required: isRequired(input, name),
      schema,
    }))
}

function headerParameters({ conditional, resumable, requestHeaders = [] }: Route): object[] {
  const names = [...(conditional ? ['If-None-Match'] : []), ...(resumable ? ['Last-Event-ID'] : [])]
  const usual = names.map((name) => ({ name, required: false }))
  return [...requestHeaders, ...usual].map((field) => ({
    ...field,
    in: 'header',
    schema: { type: 'string' },
  }))
}

function requestBody(route: Route): object {
  const { input } = route
  const fields = Object.entries(input.properties).filter(([name]) => !isInPath(route, name))
  const required = fields.map(([name]) => name).filter((name) => isRequired(input, name))
  const schema = { ...input, properties: Object.fromEntries(fields), required }
  const content = Object.fromEntries(BODY_TYPES.map((type) => [type, { schema }]))
  return { required: required.length > 0, content }
}

/** The token may be sent in a header instead. */
export function isRequired(input: TObject, name: string): boolean {
  return name !== 'token' && (input.required ?? []).includes(name)
}

function responses(route: Route): Record<string, object> {
  const always = [
    ...(route.conditional ? [ETAG] : []),
    ...(namesIgnored(route) ? [IGNORED] : []),
    ...(route.api === 'keyed' ? QUOTA_HEADERS : []),
  ]
  const own = (route.responseHeaders ?? []).map((name) => [name, 'string'] as const)
  const answers: Record<string, object> = {
    200: {
      description: 'Success',
      ...headersOf([...always, ...own]),
      ...contentOf(route.output),
    },
  }
  if (route.conditional) {
    answers[304] = { description: 'Not modified.', ...headersOf(always) }
  }
  for (const [code, codes] of Map.groupBy(problemsOf(route), (refusal) => problemStatus[refusal])) {
    // Without a valid key or a complete request there is no quota to report.
    const known = route.api === 'keyed' && code !== 401 && code !== 408
    answers[code] = problemResponse(code, codes, known ? QUOTA_HEADERS : [])
  }
  answers[HEADERS_TOO_LARGE] = problemResponse(HEADERS_TOO_LARGE, ['too_large'], [])
  return answers
}

type HeaderSchema = readonly [name: string, type: 'string' | 'integer']

const ETAG: HeaderSchema = ['ETag', 'string']
const IGNORED: HeaderSchema = ['X-Ignored-Parameters', 'string']
const QUOTA_HEADERS: readonly HeaderSchema[] = [
  ['RateLimit-Policy', 'string'],
  ['RateLimit', 'string'],
  ['X-RateLimit-Limit', 'integer'],
  ['X-RateLimit-Remaining', 'integer'],
  ['X-RateLimit-Reset', 'integer'],
]

function problemResponse(
  code: number,
  codes: ProblemCode[],
  quota: readonly HeaderSchema[],
): object {
  const late: HeaderSchema[] = code === 429 || code === 503 ? [['Retry-After', 'integer']] : []
  return {
    description: codes.join(', '),
    ...headersOf([...late, ...quota]),
    ...contentOf(problemSchema),
  }
}

function headersOf(fields: readonly HeaderSchema[]): object {
  if (fields.length === 0) return {}
  return {
    headers: Object.fromEntries(fields.map(([name, type]) => [name, { schema: { type } }])),
  }
}

function contentOf(output: TSchema | string): object {
  if (typeof output !== 'string') return { content: { 'application/json': { schema: output } } }
  return { content: { [output]: { schema: { type: 'string' } } } }
}
