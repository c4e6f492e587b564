import type { TObject, TSchema } from 'typebox'
import type { ProblemCode } from '../../base/problem.ts'
import type { ParamSchema } from '../server/parameters.ts'
import { problemSchema, problemStatus } from '../server/problem-response.ts'
import { type HeaderField, isInPath, namesIgnored, type Route, routeName } from '../server/route.ts'

/** A request that we send: the body of a POST to a receiver. */
export interface SentEvent {
  /** Such as `message.received`. */
  type: string
  title: string
  description: string
  headers: readonly HeaderField[]
  body: TSchema
}

export function openapi(routes: readonly Route[], events: readonly SentEvent[]): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(route) }
  }
  const webhooks = Object.fromEntries(events.map((event) => [event.type, { post: sent(event) }]))
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
    webhooks: withReferences(webhooks, schemas),
    components: {
      schemas,
      headers: HEADERS,
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
    operationId: operationId(routeName(route)),
    summary: route.title,
    description: route.description,
    security: security(route),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(named && route.method === 'POST' ? { requestBody: requestBody(route) } : {}),
    ...(route.rawBody ? { requestBody: RAW_REQUEST_BODY } : {}),
    responses: responses(route),
  }
}

/** `list-emails` becomes `listEmails`. */
function operationId(name: string): string {
  return name.replace(/\W([a-z])/g, (_, letter) => letter.toUpperCase())
}

const RAW_REQUEST_BODY = { required: true, content: { 'application/json': { schema: {} } } }

/** Alternatives; nothing (`{}`) if the token may be a parameter, or if no key or admin token is needed. */
function security({ input, operator, api, acceptsKey }: Route): Record<string, string[]>[] {
  const withKey = [{ key: [] }, { keyAsBearer: [] }]
  if (api === 'keyed') return withKey
  if (acceptsKey) return [...withKey, {}]
  if ('token' in input.properties) return [{ token: [] }, {}]
  return operator ? [{ adminToken: [] }, {}] : []
}

function sent({ type, title, description, headers, body }: SentEvent): object {
  return {
    operationId: operationId(type),
    summary: title,
    description,
    security: [],
    parameters: headers.map(headerParameter),
    requestBody: { required: true, content: { 'application/json': { schema: body } } },
    responses: {
      '2XX': { description: 'Received.' },
      '410': { description: 'Disables the webhook.' },
    },
  }
}

function urlParameters(route: Route): object[] {
  const { input, method } = route
  return Object.entries(input.properties)
    .filter(([name]) => method !== 'POST' || isInPath(route, name))
    .map(([name, schema]) => ({
      name,
      in: isInPath(route, name) ? 'path' : 'query',
      required: isRequired(input, name),
      ...(isList(schema) ? SEPARATED_BY_COMMAS : {}),
      schema,
    }))
}

function headerParameters({ conditional, resumable, requestHeaders = [] }: Route): object[] {
  const names = [...(conditional ? ['If-None-Match'] : []), ...(resumable ? ['Last-Event-ID'] : [])]
  const usual = names.map((name) => ({ name, required: false }))
  return [...requestHeaders, ...usual].map(headerParameter)
}

function headerParameter(field: Partial<HeaderField>): object {
  return { ...field, in: 'header', schema: { type: 'string' } }
}

/** The same in each encoding. */
function requestBody(route: Route): object {
  const { input } = route
  const fields = Object.entries(input.properties).filter(([name]) => !isInPath(route, name))
  const required = fields.map(([name]) => name).filter((name) => isRequired(input, name))
  const $id = operationId(`-${routeName(route)}-request`)
  const schema = { ...input, $id, properties: Object.fromEntries(fields), required }
  const lists = fields.filter(([, field]) => isList(field))
  const encoding = Object.fromEntries(lists.map(([name]) => [name, SEPARATED_BY_COMMAS]))
  const content = {
    'application/json': { schema },
    'application/x-www-form-urlencoded': { schema, encoding },
    'multipart/form-data': { schema, encoding },
  }
  return { required: required.length > 0, content }
}

function isList({ type }: ParamSchema): boolean {
  return type === 'array'
}

/** Lists, except in JSON: a repeated parameter is refused. */
const SEPARATED_BY_COMMAS = { style: 'form', explode: false }

/** The token may be sent in a header instead. */
export function isRequired(input: TObject, name: string): boolean {
  return name !== 'token' && (input.required ?? []).includes(name)
}

function responses(route: Route): Record<string, object> {
  const always: HeaderName[] = [
    ...(route.conditional ? ['ETag' as const] : []),
    ...(namesIgnored(route) ? ['X-Ignored-Parameters' as const] : []),
    ...(route.api === 'keyed' ? QUOTA_HEADERS : []),
  ]
  const answers: Record<string, object> = {
    200: {
      description: 'Success',
      ...headersOf([...always, ...(route.responseHeaders ?? [])]),
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

const header = (description: string, type: 'string' | 'integer' = 'string') => ({
  description,
  schema: { type },
})

const HEADERS = {
  ETag: header('Send it as If-None-Match.'),
  Link: header('The next page, with rel="next"; missing on the last one.'),
  'Retry-After': header('Seconds.', 'integer'),
  'X-Ignored-Parameters': header('Parameters that the endpoint does not know.'),
  'X-Timed-Out': header('1 if the wait ended without mail.'),
  'X-Incomplete': header('1 if some messages were not searched.'),
  'RateLimit-Policy': header('The limits of the plan, as in draft-ietf-httpapi-ratelimit-headers.'),
  RateLimit: header('What is left of each.'),
  'X-RateLimit-Limit': header('The limit that is reached first.', 'integer'),
  'X-RateLimit-Remaining': header('What is left of it.', 'integer'),
  'X-RateLimit-Reset': header('When it resets, in seconds since 1970; missing: never.', 'integer'),
}
type HeaderName = keyof typeof HEADERS

const QUOTA_HEADERS: readonly HeaderName[] = [
  'RateLimit-Policy',
  'RateLimit',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
]

function problemResponse(code: number, codes: ProblemCode[], quota: readonly HeaderName[]): object {
  const late: HeaderName[] = code === 429 || code === 503 ? ['Retry-After'] : []
  return {
    description: codes.join(', '),
    ...headersOf([...late, ...quota]),
    ...contentOf(problemSchema),
  }
}

function headersOf(names: readonly string[]): object {
  if (names.length === 0) return {}
  const references = names.map((name) => [name, { $ref: `#/components/headers/${name}` }])
  return { headers: Object.fromEntries(references) }
}

function contentOf(output: TSchema | string): object {
  if (typeof output !== 'string') return { content: { 'application/json': { schema: output } } }
  return { content: { [output]: { schema: { type: 'string' } } } }
}
