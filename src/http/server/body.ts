import querystring from 'node:querystring'
import { Problem } from '../../core/problem.ts'
import { NO_VALUES, type Values } from './input.ts'

// Ours are fewer than ten; each part costs some 20 µs.
const MOST_PARTS = 100

/** As a query has it when a name comes twice: refused where the name means something, else ignored. */
const TWICE: readonly unknown[] = []

/** Reads the parameters of a body. An empty one is welcome under any name. */
export async function readBody(type: string | undefined, bytes: Buffer): Promise<Values> {
  if (bytes.length === 0) return NO_VALUES
  const media = type?.split(';', 1)[0]?.trim().toLowerCase()
  if (media === 'application/json') return readJson(bytes)
  if (media === 'application/x-www-form-urlencoded') return readForm(bytes.toString())
  if (media === 'multipart/form-data') return await readMultipart(type ?? '', bytes)
  throw new Problem(
    'unsupported_media_type',
    'Send a form (application/x-www-form-urlencoded, multipart/form-data) or application/json.',
  )
}

/** Also reads the query, so that the same characters mean the same in both. */
export function readForm(text: string): Values {
  const values = new Map<string, unknown>()
  for (const pair of text.split('&')) {
    if (pair === '') continue
    const end = pair.indexOf('=')
    const name = decoded(end < 0 ? pair : pair.slice(0, end))
    give(values, name, decoded(end < 0 ? '' : pair.slice(end + 1)))
  }
  return values
}

const LISTED = /^([^[\]]+)\[.*\]$/s

/** `name[]` and `name[key]` are how a form writes an array or an object: no value of its own for name. */
function give(values: Map<string, unknown>, name: string, value: unknown): void {
  const listed = name.endsWith(']') ? LISTED.exec(name)?.[1] : undefined
  if (listed !== undefined) values.set(listed, TWICE)
  else values.set(name, values.has(name) ? TWICE : value)
}

function decoded(text: string): string {
  return /[%+]/.test(text) ? querystring.unescape(text.replaceAll('+', ' ')) : text
}

function readJson(bytes: Buffer): Values {
  const text = textOf(bytes)
  const value = text === undefined ? undefined : parsedOf(text)
  if (text === undefined || value === undefined) throw unreadable('JSON')
  if (value === null) return NO_VALUES
  if (typeof value !== 'object' || Array.isArray(value)) throw unreadable('JSON object')
  const values = new Map<string, unknown>(Object.entries(value))
  for (const name of repeatedKeys(text)) values.set(name, TWICE)
  return values
}

function textOf(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function parsedOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function readMultipart(type: string, bytes: Buffer): Promise<Values> {
  if (countOf(bytes, 'content-disposition') > MOST_PARTS) {
    throw new Problem('too_large', `The body has more than ${MOST_PARTS} parts.`)
  }
  const form = await multipartOf(type, bytes)
  if (!form) throw unreadable('multipart/form-data')
  const values = new Map<string, unknown>()
  for (const [name, value] of form) give(values, name, value)
  return values
}

async function multipartOf(type: string, bytes: Buffer): Promise<FormData | undefined> {
  try {
    const copy = new Uint8Array(bytes)
    return await new Response(copy, { headers: { 'content-type': type } }).formData()
  } catch {
    return undefined
  }
}

function unreadable(what: string): Problem {
  return new Problem('invalid_parameter', `body: this is no ${what}.`)
}

function countOf(bytes: Buffer, word: string): number {
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
