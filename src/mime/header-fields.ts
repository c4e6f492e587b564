import { isUtf8 } from 'node:buffer'
import { decodeBytes } from './decode.ts'

export interface Field {
  /** The name in lower case. */
  key: string
  name: string
  /** The raw value, still folded, as latin1. */
  value: string
  /** The value is only the beginning. */
  isCut?: true
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

/** Offsets of a field. */
export interface FieldRange {
  /** The name in lower case. */
  key: string
  at: number
  /** Where the value begins. */
  start: number
  end: number
}

/**
 * The fields with these names (in lower case), however long the header is. Undefined after each 64 KB: the caller may pause
 * then, because a hostile header is as long as a mail may be.
 */
export function* findFields(
  bytes: Buffer,
  keys: readonly string[],
  from = 0,
): Generator<FieldRange | undefined> {
  let field: FieldRange | undefined
  for (let at = from, pauseAt = from + STEP_BYTES; ; at = nextLine(bytes, at)) {
    if (at >= pauseAt) {
      yield undefined
      pauseAt = at + STEP_BYTES
    }
    if (field && isBlank(bytes[at])) continue
    if (field) {
      field.end = at
      yield field
    }
    if (at >= bytes.length || isEmptyLine(bytes, at)) return
    field = fieldAt(bytes, at, keys)
  }
}

// Takes a few milliseconds if all lines are short, or if all text has to be decoded.
export const STEP_BYTES = 64 * 1024

/** The first field of each name, however long the header is; of a long value the beginning. */
export function firstFields(raw: Uint8Array, keys: readonly string[]): Map<string, Field> {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.length)
  const found = new Map<string, Field>()
  for (const field of findFields(bytes, keys)) {
    if (!field || found.has(field.key)) continue
    const { key, at, start, end } = field
    const name = bytes.toString('latin1', at, at + key.length)
    const most = start + MAX_FIRST_BYTES
    const value = bytes.toString('latin1', start, Math.min(end, most))
    if (end <= most) found.set(key, { key, name, value })
    else found.set(key, { key, name, value: value.replace(HALF_WORD, ''), isCut: true })
    if (found.size === keys.length) break
  }
  return found
}

// A dozen fields of nothing but encoded words would otherwise take all the time that a mail may take.
const MAX_FIRST_BYTES = 32 * 1024
// Half a code or identifier is a different one.
const HALF_WORD = /(?<=[\s,])[^\s,]{1,999}$/

function fieldAt(bytes: Uint8Array, at: number, keys: readonly string[]): FieldRange | undefined {
  for (const key of keys) {
    const start = valueOffset(bytes, at, key)
    if (start > 0) return { key, at, start, end: start }
  }
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
  while (at < start + MAX_NAME && isBlank(bytes[at])) at += 1
  return bytes[at] === COLON && at < start + MAX_NAME ? at + 1 : -1
}

/** Offset of the next line. */
export function nextLine(bytes: Buffer, from: number): number {
  // To call indexOf takes longer than to read a short line, of which a header may have millions.
  const near = from + 4
  for (let at = from; at < near; at += 1) if (bytes[at] === LF) return at + 1
  const end = bytes.indexOf(LF, near)
  return end < 0 ? bytes.length : end + 1
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

/** The value on one line, decoded. Signatures allow any number of blanks (RFC 6376 3.4.2): they must not change what is read. */
export function unfold(value: string, declared = UNDECLARED): string {
  return decodeField(value.replace(LINE_BREAK, ' ').replace(/[ \t]+/g, ' '), declared).trim()
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
