import type { IncomingMessage } from 'node:http'
import querystring from 'node:querystring'
import type { Static, TObject } from 'typebox'
import { Problem } from '../../core/problem.ts'

/** The parts of a parameter's JSON schema that we use. */
export interface ParamSchema {
  type?: string
  minimum?: number
  maximum?: number
  /** Of an array of integers. */
  items?: ParamSchema
  maxItems?: number
  description?: string
}

/** Raw parameters by name: text or any JSON value; an array if one was repeated. */
export type Params = ReadonlyMap<string, unknown>

export const NO_PARAMS: Params = new Map()

interface RequestParams {
  path: Params
  query: Params
  body: Params
  /** Of the Authorization header. */
  bearer: string | undefined
}

/** Returns a function that validates the parameters of a route. Unknown parameters are ignored. */
export function inputReader<I extends TObject>(schema: I): (given: RequestParams) => Static<I> {
  const required = new Set<string>(schema.required ?? [])
  const fields: [string, ParamSchema][] = Object.entries(schema.properties)

  return (given) => {
    const input: Record<string, unknown> = {}
    for (const [name, field] of fields) {
      const value = findParam(name, given)
      if (value !== undefined) input[name] = convert(name, field, value)
      else if (required.has(name)) {
        throw new Problem('missing_parameter', `${name}: parameter is missing.`)
      }
    }
    return input as Static<I>
  }
}

/** Path before body before query. Empty and null count as missing. */
function findParam(name: string, { path, query, body, bearer }: RequestParams): unknown {
  if (path.has(name)) return path.get(name)
  const inBody = body.get(name)
  if (isPresent(inBody)) return inBody
  const inQuery = query.get(name)
  if (isPresent(inQuery)) return inQuery
  return name === 'token' && isPresent(bearer) ? bearer : undefined
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null && value !== ''
}

function convert(name: string, field: ParamSchema, value: unknown): unknown {
  if (field.type === 'array') return toIntegers(name, field, value)
  if (Array.isArray(value)) throw invalid(name, 'must be a single value.')
  if (field.type === 'boolean') return toBoolean(name, value)
  if (field.type === 'integer') return toInteger(name, field, value)
  return toText(name, value)
}

function toText(name: string, value: unknown): string {
  if (typeof value === 'string') return value
  // A prefix of digits may be a number in JSON.
  if (Number.isSafeInteger(value)) return String(value)
  throw invalid(name, 'must be text.')
}

const DIGITS = /^[0-9]{1,16}$/

function toInteger(name: string, field: ParamSchema, value: unknown): number {
  const number = typeof value === 'string' && DIGITS.test(value) ? Number(value) : value
  const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = field
  if (!isInteger(number) || number < minimum || number > maximum) {
    throw invalid(name, `must be an integer from ${minimum} to ${maximum}.`)
  }
  // JSON has a -0.
  return number + 0
}

function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

/** A JSON array, or text separated by commas. */
function toIntegers(name: string, { items = {}, maxItems }: ParamSchema, value: unknown): number[] {
  const given =
    typeof value === 'string'
      ? value.split(',').map((one) => one.trim())
      : Array.isArray(value)
        ? value
        : [value]
  // A repeated parameter is an empty array, too.
  if (given.length === 0 || given.length > (maxItems ?? given.length)) {
    throw invalid(name, `must be one list of 1 to ${maxItems} integers.`)
  }
  return given.map((one) => toInteger(name, items, one))
}

const FLAGS = new Map<unknown, boolean>([
  ['0', false],
  ['1', true],
  ['false', false],
  ['true', true],
  [0, false],
  [1, true],
  [false, false],
  [true, true],
])

function toBoolean(name: string, value: unknown): boolean {
  const flag = FLAGS.get(value)
  if (flag === undefined) throw invalid(name, 'must be 0, 1, true or false.')
  return flag
}

function invalid(name: string, what: string): Problem {
  return new Problem('invalid_parameter', `${name}: ${what}`)
}

// Our forms have fewer than ten fields; each part costs about 20 µs.
const MAX_PARTS = 100

/** Rejected if the name is a parameter of the route, else ignored. */
const REPEATED: readonly unknown[] = []

export function pathParams(params: object): Params {
  return new Map(Object.entries(params))
}

export function queryParams({ url = '' }: IncomingMessage): Params {
  const end = url.search(/[?#]/)
  return end < 0 ? NO_PARAMS : parseForm(url.slice(end + 1))
}

export async function bodyParams({ headers }: IncomingMessage, bytes: Buffer): Promise<Params> {
  const coding = headers['content-encoding'] ?? 'identity'
  if (bytes.length > 0 && coding.toLowerCase() !== 'identity') {
    throw new Problem('unsupported_media_type', 'Content-Encoding is not supported.')
  }
  return await parseBody(headers['content-type'], bytes)
}

/** An empty body is accepted with any media type. */
export async function parseBody(type: string | undefined, bytes: Buffer): Promise<Params> {
  if (bytes.length === 0) return NO_PARAMS
  const media = type?.split(';', 1)[0]?.trim().toLowerCase()
  if (media === 'application/json') return parseJson(bytes)
  if (media === 'application/x-www-form-urlencoded') return parseForm(bytes.toString())
  if (media === 'multipart/form-data') return await parseMultipart(type ?? '', bytes)
  throw new Problem(
    'unsupported_media_type',
    'Use application/x-www-form-urlencoded, multipart/form-data or application/json.',
  )
}

/** Also used for the query, so both follow the same rules. */
export function parseForm(text: string): Params {
  const values = new Map<string, unknown>()
  for (const pair of text.split('&')) {
    if (pair === '') continue
    const end = pair.indexOf('=')
    const name = decoded(end < 0 ? pair : pair.slice(0, end))
    setValue(values, name, decoded(end < 0 ? '' : pair.slice(end + 1)))
  }
  return values
}

const BRACKETED = /^([^[\]]+)\[.*\]$/s

/** `name[]` and `name[key]` are arrays and objects in a form. */
function setValue(values: Map<string, unknown>, name: string, value: unknown): void {
  const listed = name.endsWith(']') ? BRACKETED.exec(name)?.[1] : undefined
  if (listed !== undefined) values.set(listed, REPEATED)
  else values.set(name, values.has(name) ? REPEATED : value)
}

function decoded(text: string): string {
  return /[%+]/.test(text) ? querystring.unescape(text.replaceAll('+', ' ')) : text
}

function parseJson(bytes: Buffer): Params {
  const { text, value } = decodeJson(bytes) ?? {}
  if (text === undefined) throw invalidBody('JSON')
  if (value === null) return NO_PARAMS
  if (typeof value !== 'object' || Array.isArray(value)) throw invalidBody('JSON object')
  const values = new Map<string, unknown>(Object.entries(value))
  for (const name of repeatedKeys(text)) values.set(name, REPEATED)
  return values
}

function decodeJson(bytes: Buffer): { text: string; value: unknown } | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return { text, value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

async function parseMultipart(type: string, bytes: Buffer): Promise<Params> {
  const parts = bytes.toString('latin1').toLowerCase().split('content-disposition').length - 1
  if (parts > MAX_PARTS) {
    throw new Problem('too_large', `The request body has more than ${MAX_PARTS} parts.`)
  }
  const form = await formDataOf(type, bytes)
  if (!form) throw invalidBody('multipart/form-data')
  const values = new Map<string, unknown>()
  for (const [name, value] of form) setValue(values, name, value)
  return values
}

async function formDataOf(type: string, bytes: Buffer): Promise<FormData | undefined> {
  try {
    const copy = new Uint8Array(bytes)
    return await new Response(copy, { headers: { 'content-type': type } }).formData()
  } catch {
    return undefined
  }
}

function invalidBody(what: string): Problem {
  return new Problem('invalid_parameter', `Invalid ${what} in the request body.`)
}

/** Names that the outermost object repeats. JSON.parse keeps the last of each. */
export function repeatedKeys(text: string): Set<string> {
  const seen = new Set<string>()
  const repeated = new Set<string>()
  let depth = 0
  // Matches whole strings, so that braces in them are not taken for structure.
  for (const [token, quoted, colon] of text.matchAll(/("(?:[^"\\]|\\.)*")(\s*:)?|[{}[\]]/g)) {
    if (token === '{' || token === '[') depth += 1
    else if (token === '}' || token === ']') depth -= 1
    else if (depth === 1 && colon !== undefined) {
      const name: string = JSON.parse(quoted ?? '""')
      if (seen.has(name)) repeated.add(name)
      seen.add(name)
    }
  }
  return repeated
}
