import { isUtf8 } from 'node:buffer'
import { decodeBytes } from './decode.ts'

export interface Field {
  /** The name in lower case. */
  key: string
  name: string
  /** The raw value, still folded, as latin1. */
  value: string
}

interface HeaderLimits {
  maxBytes: number
  maxLines: number
}

export const HEADER_LIMITS: HeaderLimits = { maxBytes: 100 * 1024, maxLines: 1_000 }

/** The fields of a mail, read lazily and up to the limits; complete is false if the header is longer than maxBytes. */
export function readHeader(
  raw: Uint8Array,
  { maxBytes, maxLines }: HeaderLimits = HEADER_LIMITS,
): { fields: Generator<Field>; complete: boolean } {
  const head = Buffer.from(raw.buffer, raw.byteOffset, Math.min(raw.length, maxBytes))
  const end = headerEnd(head)
  const complete = end !== undefined || raw.length === head.length
  // A line cut by the limit is dropped: half of it could mean something else.
  const length = end ?? (complete ? head.length : head.lastIndexOf(LF) + 1)
  return { fields: readFields(head.toString('latin1', 0, length), maxLines), complete }
}

/** The fields with these names (in lower case), however long the header is. */
export function* fieldsNamed(raw: Uint8Array, keys: readonly string[]): Generator<Field> {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.length)
  // A header may have millions of lines. What they start with rules out most of them.
  const firsts = new Uint8Array(256)
  for (const key of keys) for (const one of [key, key.toUpperCase()]) firsts[one.charCodeAt(0)] = 1
  firsts[CR] = firsts[LF] = 1
  for (let start = 0; start < bytes.length && !isEmptyLine(bytes, start); ) {
    const key = keyAt(bytes, start, keys)
    if (key !== undefined) {
      const from = valueOffset(bytes, start, key)
      const end = fieldEnd(bytes, from)
      const name = bytes.toString('latin1', start, start + key.length)
      yield { key, name, value: bytes.toString('latin1', from, end) }
      start = end - 1
    }
    start = nextCandidate(bytes, start, firsts)
  }
}

/** The first field of each name, however long the header is. */
export function firstFields(raw: Uint8Array, keys: readonly string[]): Map<string, Field> {
  const missing = [...keys]
  const found = new Map<string, Field>()
  for (const field of fieldsNamed(raw, missing)) {
    found.set(field.key, field)
    missing.splice(missing.indexOf(field.key), 1)
    if (missing.length === 0) break
  }
  return found
}

function nextCandidate(bytes: Uint8Array, from: number, firsts: Uint8Array): number {
  for (let at = from; at < bytes.length; at += 1) {
    if (bytes[at] === LF && firsts[bytes[at + 1] ?? 0] === 1) return at + 1
  }
  return bytes.length
}

function keyAt(bytes: Uint8Array, start: number, keys: readonly string[]): string | undefined {
  for (const key of keys) if (valueOffset(bytes, start, key) > 0) return key
  return undefined
}

/** Where the value starts if the line is a field with this name, else -1. */
function valueOffset(bytes: Uint8Array, start: number, key: string): number {
  for (let at = 0; at < key.length; at += 1) {
    const code = key.charCodeAt(at)
    const byte = bytes[start + at] ?? 0
    if (byte !== code && (byte | LOWER_CASE) !== code) return -1
  }
  let at = start + key.length
  while (isBlank(bytes[at])) at += 1
  return bytes[at] === COLON && at < start + MAX_NAME ? at + 1 : -1
}

function fieldEnd(bytes: Uint8Array, from: number): number {
  let end = nextLine(bytes, from)
  while (isBlank(bytes[end])) end = nextLine(bytes, end)
  return end
}

/** Offset of the next line. */
export function nextLine(bytes: Uint8Array, from: number): number {
  let at = from
  while (at < bytes.length && bytes[at] !== LF) at += 1
  return at < bytes.length ? at + 1 : at
}

export function isEmptyLine(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === LF || (bytes[at] === CR && bytes[at + 1] === LF)
}

/** Lines that are not a field are skipped. */
export function* readFields(block: string, maxLines = HEADER_LIMITS.maxLines): Generator<Field> {
  let start = 0
  for (let lines = 0; start < block.length && lines < maxLines; ) {
    let end = lineEnd(block, start)
    lines += 1
    while (isBlank(block.charCodeAt(end)) && lines < maxLines) {
      end = lineEnd(block, end)
      lines += 1
    }
    const name = FIELD_NAME.exec(block.slice(start, Math.min(end, start + MAX_NAME)))
    if (name?.[1]) {
      const value = block.slice(start + name[0].length, end)
      yield { key: name[1].toLowerCase(), name: name[1], value }
    }
    start = end
  }
}

/** The first field with this name, unfolded; '' if there is none. */
export function fieldText(
  fields: readonly Field[],
  key: string,
  declared?: DeclaredCharset,
): string {
  const field = fields.find((one) => one.key === key)
  return field ? unfold(field.value, declared) : ''
}

/** The charset that a mail declares for its text; '' if none. Called if a field cannot be read without it. */
export type DeclaredCharset = () => string

const UNDECLARED: DeclaredCharset = () => ''

/** The value on one line, decoded. */
export function unfold(value: string, declared = UNDECLARED): string {
  return decodeField(value.replace(LINE_BREAK, ' '), declared).trim()
}

/** As UTF-8 if most of it is, else in the charset of the text, else as Windows-1252. */
export function decodeField(value: string, declared = UNDECLARED): string {
  if (PLAIN.test(value)) return value
  const bytes = Buffer.from(value, 'latin1')
  const text = bytes.toString('utf8')
  if (isUtf8(bytes)) {
    return value.includes('\x1b') && ISO_2022.test(declared())
      ? decodeBytes(bytes, declared())
      : text
  }
  if (isMostlyUtf8(text)) return text
  const charset = declared()
  return decodeBytes(bytes, NOT_8_BIT.test(charset) ? '' : charset)
}

/** Text in another charset, read as UTF-8, has few valid sequences. */
function isMostlyUtf8(text: string): boolean {
  let [valid, invalid] = [0, 0]
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === 0xfffd) invalid += 1
    else if (code > 0x7f) valid += 1
  }
  return valid >= invalid
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII except ESC
const PLAIN = /^[\u0000-\u001a\u001c-\u007f]*$/
const ISO_2022 = /^(?:x-|cs)?iso-?2022/i
const NOT_8_BIT = /^(?:x-|cs)?(?:utf|ucs|unicode|iso-?2022|hz)/i

const LF = 0x0a
const CR = 0x0d
const COLON = 0x3a
/** The bit of ASCII letters. */
const LOWER_CASE = 0x20
const MAX_NAME = 256
// RFC 5322 4.5: obsolete syntax allows blanks before the colon. A line that starts with a blank is no field.
const FIELD_NAME = /^([!-9;-~]+)[ \t]*:/
// A bare CR does not end a line, but must not hide what follows it either.
const LINE_BREAK = /[\r\n]+[ \t]*/g

/** Length of the header block; undefined if no empty line ends it. */
function headerEnd(head: Buffer): number | undefined {
  if (isEmptyLine(head, 0)) return 0
  const crlf = head.indexOf('\n\r\n', 0, 'latin1')
  const lf = (crlf < 0 ? head : head.subarray(0, crlf + 1)).indexOf('\n\n', 0, 'latin1')
  const end = lf < 0 ? crlf : lf
  return end < 0 ? undefined : end + 1
}

function lineEnd(block: string, from: number): number {
  const newline = block.indexOf('\n', from)
  return newline < 0 ? block.length : newline + 1
}

export function isBlank(code: number | undefined): boolean {
  return code === 0x20 || code === 0x09
}

/** Offset after the quoted string that starts here; -1 if it is never closed. */
export function quotedEnd(line: string, start: number): number {
  for (let at = start + 1; at < line.length; at += 1) {
    if (line[at] === '\\') at += 1
    else if (line[at] === '"') return at + 1
  }
  return -1
}

/** Offset after the comment that starts here, nested ones included; -1 if it is never closed. */
export function commentEnd(line: string, start: number): number {
  let depth = 0
  for (let at = start; at < line.length; at += 1) {
    const char = line[at]
    if (char === '\\') at += 1
    else if (char === '(') depth += 1
    else if (char === ')') depth -= 1
    if (depth === 0) return at + 1
  }
  return -1
}
