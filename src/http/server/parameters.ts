import type { Static, TObject } from 'typebox'
import { Problem } from '../../base/problem.ts'

/** The parts of a parameter's JSON schema that we use. */
export interface ParamSchema {
  type?: string
  minimum?: number
  maximum?: number
  /** Schema of the items of an array of integers. */
  items?: ParamSchema
  maxItems?: number
  description?: string
  /** Not taken from the query, which proxies log. */
  bodyOnly?: true
}

/** Raw parameters by name: text or any JSON value; an array if one was repeated. */
export type Params = ReadonlyMap<string, unknown>

export const NO_PARAMS: Params = new Map()

interface RequestParams {
  path: Params
  query: Params
  body: Params
  /** Token of the Authorization header, or several with commas between them. */
  bearer: string | undefined
}

/** Returns a function that validates the parameters of a route. Unknown parameters are ignored. */
export function inputReader<I extends TObject>(schema: I): (given: RequestParams) => Static<I> {
  const required = new Set<string>(schema.required ?? [])
  const fields: [string, ParamSchema][] = Object.entries(schema.properties)
  const takesSeveral = 'tokens' in schema.properties

  return (given) => {
    const input: Record<string, unknown> = {}
    const bearerName = takesSeveral && given.bearer?.includes(',') ? 'tokens' : 'token'
    for (const [name, field] of fields) {
      const value =
        findParam(name, field, given) ?? (name === bearerName ? given.bearer : undefined)
      if (value !== undefined) input[name] = convert(name, field, value)
      else if (required.has(name)) {
        throw new Problem('missing_parameter', `${name}: parameter is missing.`)
      }
    }
    return input as Static<I>
  }
}

const MAX_IGNORED = 10
const IGNORED_NAME = /^[A-Za-z_][A-Za-z0-9_.-]{0,31}$/
// A secret that was sent as a name must not end up in a log of headers.
const SECRET = /mf_|whsec_|^[\w-]{32}$/
// Sent to avoid caches, and for Gmail aliases to endpoints that do not poll.
const ALWAYS_KNOWN = ['t', 'force', '_']

/** Returns a function that gives the value of X-Ignored-Parameters; undefined if the route knows all that were sent. */
export function ignoredReader(
  schema: TObject,
): (given: Pick<RequestParams, 'query' | 'body'>) => string | undefined {
  const known = new Set([...Object.keys(schema.properties), ...ALWAYS_KNOWN])
  const isIgnored = (name: string) =>
    !known.has(name) && IGNORED_NAME.test(name) && !SECRET.test(name)
  return ({ query, body }) => {
    const names = new Set<string>()
    for (const name of query.keys()) if (isIgnored(name)) names.add(name)
    for (const name of body.keys()) if (isIgnored(name)) names.add(name)
    return names.size === 0 ? undefined : [...names].slice(0, MAX_IGNORED).join(', ')
  }
}

/** Path before body before query. Empty and null count as missing. */
function findParam(
  name: string,
  { bodyOnly }: ParamSchema,
  { path, query, body }: RequestParams,
): unknown {
  if (path.has(name)) return path.get(name)
  const inBody = body.get(name)
  if (isPresent(inBody)) return inBody
  const inQuery = bodyOnly ? undefined : query.get(name)
  return isPresent(inQuery) ? inQuery : undefined
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null && value !== ''
}

function convert(name: string, field: ParamSchema, value: unknown): unknown {
  if (field.type === 'array') return toList(name, field, value)
  if (Array.isArray(value)) throw invalid(name, 'must be a single value.')
  if (field.type === 'boolean') return toBoolean(name, value)
  if (field.type === 'integer') return toInteger(name, field, value)
  return toText(name, value)
}

function toText(name: string, value: unknown): string {
  // JSON can escape half of a surrogate pair; other encodings replace it.
  if (typeof value === 'string') return value.toWellFormed()
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
function toList(name: string, { items = {}, maxItems }: ParamSchema, value: unknown): unknown[] {
  const given =
    typeof value === 'string'
      ? value.split(',', maxItems && maxItems + 1).map((one) => one.trim())
      : Array.isArray(value)
        ? value
        : [value]
  // A repeated parameter is an empty array, too.
  if (given.length === 0 || given.length > (maxItems ?? given.length)) {
    const what = items.type === 'integer' ? 'integers' : 'texts'
    throw invalid(name, `must be one list of 1 to ${maxItems} ${what}.`)
  }
  return given.map((one) => convert(name, items, one))
}

function toBoolean(name: string, value: unknown): boolean {
  const text = typeof value === 'object' ? '' : String(value)
  if (!/^(?:0|1|true|false)$/.test(text)) throw invalid(name, 'must be 0, 1, true or false.')
  return text === '1' || text === 'true'
}

function invalid(name: string, what: string): Problem {
  return new Problem('invalid_parameter', `${name}: ${what}`)
}
