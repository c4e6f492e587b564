import querystring from 'node:querystring'
import type { Static, TObject } from 'typebox'
import { Problem } from '../../core/problem.ts'
import type { ParamSchema } from '../api/docs/schema-text.ts'

/** Parameters as they came, by name: text, or any JSON; an array when one was given twice. */
export type Params = ReadonlyMap<string, unknown>

export const NO_PARAMS: Params = new Map()

interface RequestParams {
  /** The parameters of the path. */
  path: Params
  query: Params
  body: Params
  /** The token of the Authorization header. */
  bearer: string | undefined
}

/** Makes the reader of one route's parameters. It takes what the schema names and ignores all else. */
export function inputReader<I extends TObject>(schema: I): (given: RequestParams) => Static<I> {
  const required = new Set<string>(schema.required ?? [])
  const fields: [string, ParamSchema][] = Object.entries(schema.properties)

  return (given) => {
    const input: Record<string, unknown> = {}
    for (const [name, field] of fields) {
      const value = findParam(name, given)
      if (value !== undefined) input[name] = convert(name, field, value)
      else if (required.has(name)) {
        throw new Problem('missing_parameter', `${name}: this parameter is missing.`)
      }
    }
    return input as Static<I>
  }
}

/** The path names what is asked for; else the body wins over the query. Empty and null count as not given. */
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
  if (Array.isArray(value)) throw invalid(name, 'give it once, and as one value.')
  if (field.type === 'boolean') return toBoolean(name, value)
  if (field.type === 'integer') return toInteger(name, field, value)
  return toText(name, value)
}

function toText(name: string, value: unknown): string {
  if (typeof value === 'string') return value
  // So that a prefix of digits is the same in JSON as in a form.
  if (Number.isSafeInteger(value)) return String(value)
  throw invalid(name, 'give it as text.')
}

const DIGITS = /^[0-9]{1,16}$/

function toInteger(name: string, field: ParamSchema, value: unknown): number {
  const number = typeof value === 'string' && DIGITS.test(value) ? Number(value) : value
  const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = field
  if (!isInteger(number) || number < minimum || number > maximum) {
    throw invalid(name, `give a whole number from ${minimum} to ${maximum}.`)
  }
  // JSON has a -0.
  return number + 0
}

function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value)
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
  if (flag === undefined) throw invalid(name, 'give 0, 1, true or false.')
  return flag
}

function invalid(name: string, what: string): Problem {
  return new Problem('invalid_parameter', `${name}: ${what}`)
}

// Ours are fewer than ten; each part costs some 20 µs.
const MAX_PARTS = 100

/** As a query has it when a name comes twice: refused where the name means something, else ignored. */
const REPEATED: readonly unknown[] = []

/** Reads the parameters of a body. An empty one is welcome under any name. */
export async function parseBody(type: string | undefined, bytes: Buffer): Promise<Params> {
  if (bytes.length === 0) return NO_PARAMS
  const media = type?.split(';', 1)[0]?.trim().toLowerCase()
  if (media === 'application/json') return parseJson(bytes)
  if (media === 'application/x-www-form-urlencoded') return parseForm(bytes.toString())
  if (media === 'multipart/form-data') return await parseMultipart(type ?? '', bytes)
  throw new Problem(
    'unsupported_media_type',
    'Send a form (application/x-www-form-urlencoded, multipart/form-data) or application/json.',
  )
}

/** Also reads the query, so that the same characters mean the same in both. */
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

/** `name[]` and `name[key]` are how a form writes an array or an object: no value of its own for name. */
function setValue(values: Map<string, unknown>, name: string, value: unknown): void {
  const listed = name.endsWith(']') ? BRACKETED.exec(name)?.[1] : undefined
  if (listed !== undefined) values.set(listed, REPEATED)
  else values.set(name, values.has(name) ? REPEATED : value)
}

function decoded(text: string): string {
  return /[%+]/.test(text) ? querystring.unescape(text.replaceAll('+', ' ')) : text
}

function parseJson(bytes: Buffer): Params {
  const text = decodeUtf8(bytes)
  const value = text === undefined ? undefined : jsonValue(text)
  if (text === undefined || value === undefined) throw invalidBody('JSON')
  if (value === null) return NO_PARAMS
  if (typeof value !== 'object' || Array.isArray(value)) throw invalidBody('JSON object')
  const values = new Map<string, unknown>(Object.entries(value))
  for (const name of repeatedKeys(text)) values.set(name, REPEATED)
  return values
}

function decodeUtf8(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function jsonValue(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function parseMultipart(type: string, bytes: Buffer): Promise<Params> {
  if (countOccurrences(bytes, 'content-disposition') > MAX_PARTS) {
    throw new Problem('too_large', `The body has more than ${MAX_PARTS} parts.`)
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
  return new Problem('invalid_parameter', `body: this is no ${what}.`)
}

function countOccurrences(bytes: Buffer, word: string): number {
  return bytes.toString('latin1').toLowerCase().split(word).length - 1
}

/** The names that the outermost object of this valid JSON gives more than once. JSON.parse keeps the last of each. */
export function repeatedKeys(text: string): Set<string> {
  const seen = new Set<string>()
  const repeated = new Set<string>()
  let depth = 0
  // Strings are taken whole, so that what stands in them is not read as structure.
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
