const CR = 0x0d
const LF = 0x0a

type Line = { text: string } | { fault: 'too_long' | 'bad' }

export interface LineReader {
  /** The incomplete line so far, as latin1. */
  partial: string
  /** True while the rest of an overlong line is skipped. */
  skipping: boolean
  /** The line that the last read completed. */
  line: Line | undefined
}

/** Reads to the end of the line or of the chunk and returns the new offset. Buffers at most maxBytes. */
export function readLine(
  reader: LineReader,
  chunk: Buffer,
  { from, maxBytes }: { from: number; maxBytes: number },
): number {
  const plain = reader.partial === '' && !reader.skipping ? asciiLineEnd(chunk, from, maxBytes) : -1
  if (plain !== -1) {
    reader.line = { text: chunk.toString('latin1', from, plain) }
    return plain + 2
  }
  const lf = chunk.indexOf(LF, from)
  const end = lf === -1 ? chunk.length : lf + 1
  reader.line = undefined
  if (reader.skipping) {
    reader.skipping = lf === -1
  } else if (reader.partial.length + end - from > maxBytes) {
    // Reported now: the end of the line may never come.
    reader.line = { fault: 'too_long' }
    reader.partial = ''
    reader.skipping = lf === -1
  } else if (lf === -1) {
    reader.partial += chunk.toString('latin1', from, end)
  } else {
    reader.line = decode(reader.partial + chunk.toString('latin1', from, end))
    reader.partial = ''
  }
  return end
}

/** Offset of the CRLF if a whole line of printable ASCII is in the chunk, else -1: one pass, one copy. */
function asciiLineEnd(chunk: Buffer, from: number, maxBytes: number): number {
  const stop = Math.min(chunk.length, from + maxBytes) - 1
  for (let at = from; at < stop; at += 1) {
    const byte = chunk[at] ?? 0
    if (byte < 0x20 || byte > 0x7e) return byte === CR && chunk[at + 1] === LF ? at : -1
  }
  return -1
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const CONTROL = /[\x00-\x1f\x7f-\x9f\u2028\u2029]/

// A line that ends with a bare LF is rejected: if two servers see different lines, commands can be smuggled.
function decode(bytes: string): Line {
  if (!bytes.endsWith('\r\n')) return { fault: 'bad' }
  try {
    const text = utf8.decode(Buffer.from(bytes.slice(0, -2), 'latin1'))
    return CONTROL.test(text) ? { fault: 'bad' } : { text }
  } catch {
    // Not replaced with U+FFFD: different addresses would become equal.
    return { fault: 'bad' }
  }
}

/** The verb in upper case, and the rest of the line, trimmed. */
export function parseCommand(text: string): { verb: string; argument: string } {
  const space = text.indexOf(' ')
  if (space === -1) return { verb: text.toUpperCase(), argument: '' }
  return { verb: text.slice(0, space).toUpperCase(), argument: text.slice(space + 1).trim() }
}

/**
 * The parts of `FROM:<path> parameters` or `TO:<path> parameters`. Undefined if the brackets are missing or malformed. The
 * address itself is not validated.
 */
export function parsePath(keyword: 'FROM:' | 'TO:', argument: string) {
  if (argument.slice(0, keyword.length).toUpperCase() !== keyword) return undefined
  const text = argument.slice(keyword.length).trimStart()
  if (!text.startsWith('<')) return undefined
  const end = closingBracketIndex(text)
  const parameters = text.slice(end + 1)
  if (end === -1 || (parameters !== '' && !parameters.startsWith(' '))) return undefined
  return { path: text.slice(1, end), parameters: parameters.trim() }
}

// Brackets in a quoted string do not count.
function closingBracketIndex(text: string): number {
  let quoted = false
  for (let at = 1; at < text.length; at += 1) {
    const char = text[at]
    if (char === '"') quoted = !quoted
    else if (char === '\\' && quoted) at += 1
    else if (char === '>' && !quoted) return at
    else if (char === '<' && !quoted) return -1
  }
  return -1
}

interface MailParameters {
  /** 0 if not declared. */
  size: number
  utf8: boolean
}

const PARAMETER = /^([A-Za-z0-9][A-Za-z0-9-]*)(?:=([\x21-\x3c\x3e-\x7e]+))?$/

/** malformed: 501; unknown: 555. */
export type ParameterError = 'malformed' | 'unknown'

export function parseMailParameters(text: string): MailParameters | ParameterError {
  const found = { size: 0, utf8: false }
  if (text === '') return found
  const seen = new Set<string>()
  for (const word of words(text)) {
    const [, name = '', value] = PARAMETER.exec(word) ?? []
    const keyword = name.toUpperCase()
    if (keyword === '' || seen.has(keyword)) return 'malformed'
    seen.add(keyword)
    const fault = takeParameter(found, keyword, value)
    if (fault) return fault
  }
  return found
}

function takeParameter(
  found: MailParameters,
  keyword: string,
  value: string | undefined,
): ParameterError | undefined {
  if (keyword === 'SIZE') {
    if (value === undefined || !/^\d{1,20}$/.test(value)) return 'malformed'
    found.size = Number(value)
  } else if (keyword === 'BODY') {
    if (value === undefined || !/^(7BIT|8BITMIME)$/i.test(value)) return 'malformed'
  } else if (keyword === 'SMTPUTF8') {
    if (value !== undefined) return 'malformed'
    found.utf8 = true
  } else return 'unknown'
  return undefined
}

/** No parameter is known: we do not offer DSN. */
export function checkRcptParameters(text: string): ParameterError | undefined {
  if (text === '') return undefined
  return words(text).every((word) => PARAMETER.test(word)) ? 'unknown' : 'malformed'
}

function words(text: string): string[] {
  return text.split(' ').filter((word) => word !== '')
}
