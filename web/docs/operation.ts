/** The little of OpenAPI that the console reads. */
export interface ApiDocument {
  paths: Record<string, Record<string, RawOperation>>
}

interface RawOperation {
  operationId: string
  security?: Record<string, unknown>[]
  parameters?: { name: string; in: string; required: boolean; schema: Schema }[]
  requestBody?: { content: Record<string, { schema: Schema }> }
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
  method: 'GET' | 'POST'
  path: string
  id: string
  fields: Field[]
  /** What opens it, beside its fields: sent as a header, never in the address. */
  opens: 'token' | 'key' | 'admin' | undefined
  /** Whether the answer goes on and on. */
  streams: boolean
  /** Whether each success is counted by the plan. */
  costs: boolean
}

export interface Field {
  name: string
  place: 'path' | 'query' | 'header' | 'form'
  kind: 'text' | 'integer' | 'flag'
  required: boolean
  minimum: number | undefined
  maximum: number | undefined
}

/** The operation of `POST /api/create-session`; undefined where it takes a body that no form can give. */
export function operationOf({ paths }: ApiDocument, call: string): Operation | undefined {
  const [method = '', path = ''] = call.split(' ')
  const raw = paths[path]?.[method.toLowerCase()]
  if (!raw || (method !== 'GET' && method !== 'POST')) return undefined
  const form = raw.requestBody?.content[FORM]?.schema
  if (raw.requestBody && !form) return undefined
  const opens = opensOf(raw)
  return {
    method,
    path,
    id: raw.operationId,
    fields: [...addressFields(raw), ...formFields(form)].filter(
      ({ name }) => !isOpener(name, opens),
    ),
    opens,
    streams: 'text/event-stream' in (raw.responses['200']?.content ?? {}),
    costs: raw.operationId === 'emails',
  }
}

const FORM = 'application/x-www-form-urlencoded'

function opensOf({ security = [] }: RawOperation): Operation['opens'] {
  const names = security.flatMap((one) => Object.keys(one))
  if (names.includes('token')) return 'token'
  if (names.includes('key')) return 'key'
  return names.includes('adminToken') ? 'admin' : undefined
}

function isOpener(name: string, opens: Operation['opens']): boolean {
  return (opens === 'token' && name === 'token') || (opens === 'key' && name === 'APIKey')
}

function addressFields({ parameters = [] }: RawOperation): Field[] {
  return parameters.map(({ name, in: place, required, schema }) => ({
    ...fieldOf(name, schema),
    place: place === 'path' || place === 'header' ? place : 'query',
    required,
  }))
}

function formFields({ properties = {}, required = [] }: Schema = {}): Field[] {
  return Object.entries(properties).map(([name, schema]) => ({
    ...fieldOf(name, schema),
    place: 'form',
    required: required.includes(name),
  }))
}

function fieldOf(name: string, { type, minimum, maximum }: Schema) {
  const kind = KINDS[type ?? ''] ?? 'text'
  return { name, kind, minimum, maximum }
}

const KINDS: Record<string, Field['kind']> = { integer: 'integer', boolean: 'flag' }
