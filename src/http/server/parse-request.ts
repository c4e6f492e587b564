import { Buffer } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { Problem } from '../../base/problem.ts'
import { NO_PARAMS, type Params } from './parameters.ts'
import { discardBody } from './response.ts'

// Bounds are checked before a body is parsed: what parsing costs depends on fields rather than bytes.
export const MAX_BODY_BYTES = 64 * 1024
export const MAX_FIELDS = 1_000
// Each costs about 3 µs, even if it has only one byte.
const MAX_CHUNKS = 1_000
// Our forms have fewer than ten fields; each part costs about 20 µs.
export const MAX_PARTS = 100
export const NO_BYTES = Buffer.alloc(0)

/** Checked here rather than by Node, for an error in our format. RFC 9112 3.2: another server might choose the other Host. */
export function checkHost({ httpVersion, rawHeaders }: IncomingMessage): void {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    throw new Problem('invalid_parameter', 'Use HTTP/1.1.')
  }
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  if (hosts > 1) throw new Problem('invalid_parameter', 'Host header is repeated.')
  if (hosts === 0 && httpVersion === '1.1') {
    throw new Problem('invalid_parameter', 'Host header is missing.')
  }
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
}

/** The rest of a body that is too large is not read: see writeEarlyResponse. */
export function readBody(request: IncomingMessage, maxBytes = MAX_BODY_BYTES): Promise<Buffer> {
  const tooLong = () => tooLarge(`exceeds ${maxBytes / 1024} KB.`)
  if (Number(request.headers['content-length']) > maxBytes) throw tooLong()
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    const refuse = (problem: Problem) => {
      discardBody(request)
      reject(problem)
    }
    request.on('data', (chunk: Buffer) => {
      length += chunk.length
      chunks.push(chunk)
      if (length > maxBytes) refuse(tooLong())
      else if (chunks.length > MAX_CHUNKS) refuse(TOO_MANY_CHUNKS)
    })
    // From now on each chunk is passed on when it is parsed. Otherwise, all that came with the headers would be buffered first.
    request.read(0)
    request.once('end', () => resolve(Buffer.concat(chunks)))
    request.once('error', reject)
  })
}

/** The connection is closed at once: to discard more of them would take longer than to discard a large body. */
export const TOO_MANY_CHUNKS = tooLarge(`arrives in more than ${MAX_CHUNKS} pieces.`)

function tooLarge(how: string): Problem {
  return new Problem('too_large', `The request body ${how}`)
}

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

/** The last two are of mail.tm's API, see src/doors. */
const JSON_TYPES = new Set([
  'application/json',
  'application/merge-patch+json',
  'application/ld+json',
])

/** An empty body is accepted with any media type. */
export async function parseBody(type: string | undefined, bytes: Buffer): Promise<Params> {
  if (bytes.length === 0) return NO_PARAMS
  const media = type?.split(';', 1)[0]?.trim().toLowerCase()
  if (media !== undefined && JSON_TYPES.has(media)) return parseJson(bytes)
  if (media === 'application/x-www-form-urlencoded') return parseFormBody(bytes.toString())
  if (media === 'multipart/form-data') return await parseMultipart(type ?? '', bytes)
  throw new Problem(
    'unsupported_media_type',
    'Use application/x-www-form-urlencoded, multipart/form-data or application/json.',
  )
}

/** As many clients send JSON by default, such as curl with --data. */
function parseFormBody(text: string): Params {
  if (!text.trimStart().startsWith('{')) return parseForm(text)
  throw new Problem(
    'unsupported_media_type',
    'The request body looks like JSON: send it with Content-Type: application/json.',
  )
}

/** Also used for the query, so both follow the same rules. */
export function parseForm(text: string): Params {
  const pairs = text.split('&', MAX_FIELDS + 1)
  if (pairs.length > MAX_FIELDS) throw tooManyFields()
  const values = new Map<string, unknown>()
  for (const pair of pairs) {
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

const PERCENT = 0x25

/** Invalid escapes stay as they are, invalid UTF-8 is replaced. decodeURIComponent would throw an error for each, at 5 µs. */
function decoded(text: string): string {
  const spaced = text.replaceAll('+', ' ')
  if (!spaced.includes('%')) return spaced
  const bytes = Buffer.from(spaced)
  let length = 0
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0
    const escaped = byte === PERCENT ? 16 * hexDigit(bytes[at + 1]) + hexDigit(bytes[at + 2]) : -1
    if (escaped >= 0) at += 2
    bytes[length] = escaped >= 0 ? escaped : byte
    length += 1
  }
  return bytes.toString('utf8', 0, length)
}

/** Far below zero for any other byte. */
function hexDigit(byte = 0): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1_000
}

function tooManyFields(): Problem {
  return new Problem('too_large', `The request has more than ${MAX_FIELDS} fields.`)
}

function parseJson(bytes: Buffer): Params {
  checkJsonFields(bytes)
  const { text, value } = decodeJson(bytes) ?? {}
  if (text === undefined) throw invalidBody('JSON')
  if (value === null) return NO_PARAMS
  if (typeof value !== 'object' || Array.isArray(value)) throw invalidBody('JSON object')
  const values = new Map<string, unknown>(Object.entries(value))
  for (const name of repeatedKeys(text)) values.set(name, REPEATED)
  return values
}

const [QUOTE, BACKSLASH, COMMA] = Buffer.from('"\\,')
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = Buffer.from('[]{}')
const SPACE = 0x20

/** Throws `too_large` above the limit of keys and array items. Nesting is limited too: what contains an array is not empty. */
export function checkJsonFields(bytes: Uint8Array): void {
  let fields = 0
  let isOpened = false
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0
    if (byte <= SPACE) continue
    const isClosed = byte === CLOSE_ARRAY || byte === CLOSE_OBJECT
    if (byte === COMMA || (isOpened && !isClosed)) fields += 1
    if (fields > MAX_FIELDS) throw tooManyFields()
    isOpened = byte === OPEN_ARRAY || byte === OPEN_OBJECT
    if (byte === QUOTE) at = stringEnd(bytes, at)
  }
}

function stringEnd(bytes: Uint8Array, start: number): number {
  let at = start + 1
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1
  return at
}

function decodeJson(bytes: Buffer): { text: string; value: unknown } | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return { text, value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

// A part may have any number of them.
const MAX_DISPOSITION = 1_000
const HEADER_LINE = /\r\n[!-9;-~]+:/

async function parseMultipart(type: string, bytes: Buffer): Promise<Params> {
  const text = bytes.toString('latin1').toLowerCase()
  const [, ...parts] = text.split('content-disposition', MAX_PARTS + 2)
  if (parts.length > MAX_PARTS) throw tooLarge(`has more than ${MAX_PARTS} parts.`)
  if (parts.some((part) => !part.slice(0, MAX_DISPOSITION).includes('\r\n'))) {
    throw tooLarge(`has a part with more than ${MAX_DISPOSITION} bytes of Content-Disposition.`)
  }
  if (text.split(HEADER_LINE, MAX_FIELDS + 2).length - 1 > MAX_FIELDS) throw tooManyFields()
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
