import type { TObject, TSchema } from 'typebox'
import type { ProblemCode } from '../../core/problem.ts'
import { isInPath, nameOf, type Route } from '../server/route.ts'
import { status } from '../server/status.ts'

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
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'The token of a session.' },
        key: { type: 'apiKey', in: 'header', name: 'APIKey', description: 'A key of a plan.' },
        keyAsBearer: { type: 'http', scheme: 'bearer', description: 'The same, as Bearer.' },
        adminToken: { type: 'http', scheme: 'bearer', description: 'MAYFLY_ADMIN_TOKEN, if set.' },
      },
    },
  }
}

/** What a request to this route may be refused with, its own refusals and everybody's. */
export function refusalsOf(route: Route): ProblemCode[] {
  const all: ProblemCode[] = [
    ...((route.input.required ?? []).length > 0 ? REQUIRED : []),
    ...(Object.keys(route.input.properties).length > 0 ? PARAMETERS : []),
    ...route.refusals,
    ...(route.method === 'POST' ? (route.rawBody ? RAW_BODY : BODY) : []),
    ...(route.uncounted ? [] : COUNTED),
    ...ANY,
  ]
  return [...new Set(all)].sort((a, b) => status[a] - status[b])
}

const REQUIRED: ProblemCode[] = ['missing_parameter']
const PARAMETERS: ProblemCode[] = ['invalid_parameter']
const BODY: ProblemCode[] = ['invalid_parameter', 'too_large', 'unsupported_media_type']
const RAW_BODY: ProblemCode[] = ['too_large']
const COUNTED: ProblemCode[] = ['rate_limited']
/** What the parser answers to too many headers: see parser-fault.ts. */
const HEAD_TOO_LARGE = 431
const ANY: ProblemCode[] = ['timeout', 'internal', 'overloaded']

function operation(route: Route): object {
  const named = Object.keys(route.input.properties).some((name) => !isInPath(route, name))
  const parameters = [...inAddress(route), ...inHead(route)]
  return {
    operationId: nameOf(route),
    summary: route.title,
    description: route.about,
    ...security(route),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(named && route.method === 'POST' ? { requestBody: requestBody(route) } : {}),
    ...(route.rawBody ? { requestBody: RAW_REQUEST } : {}),
    responses: responses(route),
  }
}

const RAW_REQUEST = { required: true, content: { 'application/json': { schema: {} } } }

/** None is needed where the token is a parameter, or where the operator has set none. */
function security({ input, operator, reader }: Route): object {
  if (reader) return { security: [{ key: [] }, { keyAsBearer: [] }] }
  if ('token' in input.properties) return { security: [{ token: [] }, {}] }
  return operator ? { security: [{ adminToken: [] }, {}] } : {}
}

function inAddress(route: Route): object[] {
  const { input, method } = route
  return Object.entries(input.properties)
    .filter(([name]) => method === 'GET' || isInPath(route, name))
    .map(([name, schema]) => ({
      name,
      in: isInPath(route, name) ? 'path' : 'query',
      required: isRequired(input, name),
      schema,
    }))
}

function inHead({ conditional, resumable, requestHeaders = [] }: Route): object[] {
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

/** The token may come in a header instead. */
export function isRequired(input: TObject, name: string): boolean {
  return name !== 'token' && (input.required ?? []).includes(name)
}

function responses(route: Route): Record<string, object> {
  const always = [...(route.conditional ? [ETAG] : []), ...(route.reader ? QUOTA : [])]
  const own = (route.responseHeaders ?? []).map((name) => [name, 'string'] as const)
  const answers: Record<string, object> = {
    200: { description: 'Success', ...fieldsOf([...always, ...own]), ...success(route.output) },
  }
  if (route.conditional) {
    answers[304] = { description: 'Nothing changed since that ETag.', ...fieldsOf(always) }
  }
  for (const [code, codes] of Map.groupBy(refusalsOf(route), (refusal) => status[refusal])) {
    // A key that is not known has no quota, and a request that did not arrive has no key.
    const known = route.reader && code !== 401 && code !== 408
    answers[code] = refused(code, codes, known ? QUOTA : [])
  }
  answers[HEAD_TOO_LARGE] = refused(HEAD_TOO_LARGE, ['too_large'], [])
  return answers
}

type Field = readonly [name: string, type: 'string' | 'integer']

const ETAG: Field = ['ETag', 'string']
const QUOTA: readonly Field[] = [
  ['RateLimit-Policy', 'string'],
  ['RateLimit', 'string'],
  ['X-RateLimit-Limit', 'integer'],
  ['X-RateLimit-Remaining', 'integer'],
  ['X-RateLimit-Reset', 'integer'],
]

function refused(code: number, codes: ProblemCode[], quota: readonly Field[]): object {
  const late: Field[] = code === 429 || code === 503 ? [['Retry-After', 'integer']] : []
  return {
    description: codes.join(', '),
    ...fieldsOf([...late, ...quota]),
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Refusal' } } },
  }
}

function fieldsOf(fields: readonly Field[]): object {
  if (fields.length === 0) return {}
  return {
    headers: Object.fromEntries(fields.map(([name, type]) => [name, { schema: { type } }])),
  }
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
