import { shellQuoted } from '../key/sample-code.ts'

type Method = 'GET' | 'POST' | 'DELETE'

export interface ApiRequest {
  method: Method
  /** Including the query. */
  path: string
  headers: Record<string, string>
  /** The body of a POST. */
  form: URLSearchParams | undefined
}

/** Empty fields are omitted. */
export function requestOf(
  { method, path, fields, auth }: Operation,
  values: Readonly<Record<string, string>>,
  secret: string,
): ApiRequest {
  const given = (place: Parameter['place']) =>
    fields
      .filter((field) => field.place === place)
      .map(({ name }): [string, string] => [name, (values[name] ?? '').trim()])
      .filter(([, value]) => value !== '')
  const parts = new Map(given('path'))
  const address = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(parts.get(name) ?? ''))
  const query = new URLSearchParams(given('query'))
  return {
    method,
    path: query.size > 0 ? `${address}?${query}` : address,
    headers: { ...Object.fromEntries(given('header')), ...authHeader(auth, secret) },
    form: method === 'POST' ? new URLSearchParams(given('form')) : undefined,
  }
}

function authHeader(opens: Operation['auth'], secret: string): Record<string, string> {
  if (secret === '') return {}
  return opens === 'key' ? { APIKey: secret } : { Authorization: `Bearer ${secret}` }
}

export function curlCommand(
  { method, path, headers, form }: ApiRequest,
  site: string,
  streams: boolean,
) {
  const parts = [
    `curl${streams ? ' -N' : ''}${method === 'GET' ? '' : ` -X ${method}`}`,
    ...Object.entries(headers).map(([name, value]) => `-H ${shellQuoted(`${name}: ${value}`)}`),
    ...[...(form ?? [])].map((pair) => `-d ${shellQuoted(String(new URLSearchParams([pair])))}`),
    /[?&]/.test(path) ? shellQuoted(`${site}${path}`) : `${site}${path}`,
  ]
  return parts.join(' \\\n  ')
}

/** The part of OpenAPI that the console uses. */
export interface ApiDocument {
  paths: Record<string, Record<string, RawOperation>>
  components: { schemas: Record<string, Schema> }
}

interface RawOperation {
  operationId: string
  security?: Record<string, unknown>[]
  parameters?: { name: string; in: string; required: boolean; schema: Schema }[]
  requestBody?: { content: Record<string, { schema: { $ref: string } }> }
  responses: Record<string, { content?: Record<string, unknown> }>
}

interface Schema {
  type?: string
  minimum?: number
  maximum?: number
  properties?: Record<string, Schema>
  required?: string[]
}

export interface Operation {
  method: Method
  path: string
  id: string
  fields: Parameter[]
  /** The credential, sent as a header and never in the URL. */
  auth: 'token' | 'key' | 'admin' | undefined
  isStream: boolean
  /** Successful responses count against the plan. */
  isCharged: boolean
}

export interface Parameter {
  name: string
  place: 'path' | 'query' | 'header' | 'form'
  kind: 'text' | 'integer' | 'flag'
  required: boolean
  minimum: number | undefined
  maximum: number | undefined
}

/** Looks up `POST /api/create-session`; undefined if its body cannot be sent by a form. */
export function operationOf(
  { paths, components }: ApiDocument,
  call: string,
): Operation | undefined {
  const [method = '', path = ''] = call.split(' ')
  const raw = paths[path]?.[method.toLowerCase()]
  if (!raw || (method !== 'GET' && method !== 'POST' && method !== 'DELETE')) return undefined
  const name = raw.requestBody?.content[FORM]?.schema.$ref.replace(/^.*\//, '')
  const form = components.schemas[name ?? '']
  if (raw.requestBody && !form) return undefined
  const opens = authOf(raw)
  return {
    method,
    path,
    id: raw.operationId,
    fields: [...urlParameters(raw), ...formParameters(form)].filter(
      ({ name }) => !isCredential(name, opens),
    ),
    auth: opens,
    isStream: 'text/event-stream' in (raw.responses['200']?.content ?? {}),
    isCharged: path.startsWith('/emails'),
  }
}

const FORM = 'application/x-www-form-urlencoded'

function authOf({ security = [] }: RawOperation): Operation['auth'] {
  const names = security.flatMap((one) => Object.keys(one))
  if (names.includes('token')) return 'token'
  if (names.includes('key')) return 'key'
  return names.includes('adminToken') ? 'admin' : undefined
}

function isCredential(name: string, opens: Operation['auth']): boolean {
  return (
    (opens === 'token' && (name === 'token' || name === 'tokens')) ||
    (opens === 'key' && name === 'APIKey')
  )
}

function urlParameters({ parameters = [] }: RawOperation): Parameter[] {
  return parameters.map(({ name, in: place, required, schema }) => ({
    ...parameterOf(name, schema),
    place: place === 'path' || place === 'header' ? place : 'query',
    required,
  }))
}

function formParameters({ properties = {}, required = [] }: Schema = {}): Parameter[] {
  return Object.entries(properties).map(([name, schema]) => ({
    ...parameterOf(name, schema),
    place: 'form',
    required: required.includes(name),
  }))
}

function parameterOf(name: string, { type, minimum, maximum }: Schema) {
  const kind = KINDS[type ?? ''] ?? 'text'
  return { name, kind, minimum, maximum }
}

const KINDS: Record<string, Parameter['kind']> = { integer: 'integer', boolean: 'flag' }
