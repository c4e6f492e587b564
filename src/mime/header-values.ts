import { decodeBytes } from './decode.ts'

/** Decodes RFC 2047 encoded words in a line. The result is not decoded or parsed again. */
export function decodeEncodedWords(line: string): string {
  if (!line.includes('=?')) return line
  let text = ''
  let from = 0
  let run: WordRun | undefined
  for (const found of line.matchAll(ENCODED_WORD)) {
    const between = line.slice(from, found.index)
    const word = decodeWord(found)
    from = found.index + found[0].length
    // RFC 2047 6.2: blanks between two encoded words are not shown.
    const apart = run === undefined || !WHITESPACE.test(between)
    if (run && !apart && run.charset === word.charset && !ALONE.test(word.charset)) {
      for (const piece of word.pieces) run.pieces.push(piece)
      continue
    }
    text += (run ? decodeRun(run) : '') + (apart ? between : '')
    run = word
  }
  return text + (run ? decodeRun(run) : '') + line.slice(from)
}

/** Words in one charset, joined as bytes: some senders split a character between two words. */
interface WordRun {
  charset: string
  /** A string was not encoded. */
  pieces: (Buffer | string)[]
}

// Each part ends at the next question mark, which keeps the time linear.
const ENCODED_WORD = /=\?([^?\s]{1,60})\?([bq])\?([^?]*)\?=/gi
// Where one word of UTF-7 ends does not show once the next one follows; one of UTF-16 has a byte order mark of its own.
const ALONE = /utf-?(?:7|16)$/
const WHITESPACE = /^[ \t\r\n]*$/
const ESCAPE = /=([0-9a-f]{2})/gi
// biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII has them
const ASCII_OR_NOT = /[\u0000-\u007f]+|[^\u0000-\u007f]+/g

function decodeWord([, label = '', encoding, encoded = '']: RegExpExecArray): WordRun {
  // RFC 2231 5: the charset may be followed by a language.
  const charset = (label.split('*', 1)[0] ?? '').toLowerCase()
  if (encoding === 'B' || encoding === 'b') {
    return { charset, pieces: [Buffer.from(encoded, 'base64')] }
  }
  // Some programs leave non-ASCII letters unencoded between the escapes; they are already decoded.
  const pieces = encoded.match(ASCII_OR_NOT) ?? []
  return {
    charset,
    pieces: pieces.map((piece) => (piece.charCodeAt(0) < 128 ? decodeQ(piece) : piece)),
  }
}

function decodeQ(encoded: string): Buffer {
  return Buffer.from(encoded.replaceAll('_', ' ').replace(ESCAPE, byteOf), 'latin1')
}

function byteOf(_escape: string, hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16))
}

function decodeRun({ charset, pieces }: WordRun): string {
  let text = ''
  let bytes: Buffer[] = []
  for (const piece of pieces) {
    if (typeof piece !== 'string') bytes.push(piece)
    else {
      text += decodeBytes(Buffer.concat(bytes), charset) + piece
      bytes = []
    }
  }
  return text + decodeBytes(Buffer.concat(bytes), charset)
}

/**
 * Parses a value like `text/plain; charset=utf-8`, including RFC 2231. `value` is the part before the first semicolon, in lower
 * case; of two equal parameters, the first counts.
 */
export function parseParameterized(line: string): {
  value: string
  parameters: Map<string, string>
} {
  const value = (MAIN_VALUE.exec(line)?.[1] ?? '').toLowerCase()
  const plain = new Map<string, string>()
  const sections = new Map<string, Section[]>()
  for (const [name, text] of readPairs(line)) {
    const [, stem, number, star] = SECTION.exec(name) ?? []
    if (stem === undefined) {
      if (!plain.has(name)) plain.set(name, text)
      continue
    }
    const list = sections.get(stem) ?? []
    const extended = number === undefined || star !== undefined
    list.push({ number: Number(number ?? 0), text, extended })
    sections.set(stem, list)
  }
  const parameters = new Map<string, string>()
  for (const [name, text] of plain) parameters.set(name, decodeEncodedWords(text))
  for (const [name, list] of sections) parameters.set(name, joinSections(list))
  return { value, parameters }
}

interface Section {
  number: number
  text: string
  /** Percent-encoded; the first section may begin with charset'language'. */
  extended: boolean
}

const MAX_PAIRS = 1_000
const MAIN_VALUE = /^\s*([^\s;(]*)/
const SECTION = /^([^*]+)\*(?:(\d{1,9})(\*)?)?$/
const PARAMETER_NAME = /[;\s]*([^\s=;]+)\s*/y
const QUOTED = /"([^"\\]*(?:\\.[^"\\]*)*)"?/sy
const UNQUOTED = /[^;]*/y

function* readPairs(line: string): Generator<[string, string]> {
  // Some programs omit the first semicolon.
  let at = MAIN_VALUE.exec(line)?.[0].length ?? 0
  for (let pairs = 0; at >= 0 && at < line.length && pairs < MAX_PAIRS; pairs += 1) {
    PARAMETER_NAME.lastIndex = at
    const name = PARAMETER_NAME.exec(line)?.[1]?.toLowerCase()
    if (name === undefined) return
    at = PARAMETER_NAME.lastIndex
    let text = ''
    if (line[at] === '=') {
      ;[text, at] = readParameterValue(line, at + 1)
    }
    yield [name, text]
    at = line.indexOf(';', at)
  }
}

function readParameterValue(line: string, from: number): [string, number] {
  let at = from
  while (line[at] === ' ' || line[at] === '\t') at += 1
  if (line[at] === '"') {
    QUOTED.lastIndex = at
    const text = QUOTED.exec(line)?.[1] ?? ''
    return [text.replace(/\\(.)/gs, '$1'), QUOTED.lastIndex]
  }
  UNQUOTED.lastIndex = at
  const token = UNQUOTED.exec(line)?.[0] ?? ''
  const comment = token.search(/\s\(/)
  return [(comment < 0 ? token : token.slice(0, comment)).trim(), UNQUOTED.lastIndex]
}

function joinSections(list: Section[]): string {
  list.sort((a, b) => a.number - b.number)
  let charset = 'utf-8'
  const bytes = list.map(({ text, extended }, index) => {
    if (!extended) return Buffer.from(text)
    const [, label, rest] = (index === 0 && CHARSET.exec(text)) || [text, undefined, text]
    charset = label || charset
    return percentDecode(rest ?? '')
  })
  return decodeBytes(Buffer.concat(bytes), charset)
}

const CHARSET = /^([^']*)'[^']*'(.*)$/s

function percentDecode(text: string): Buffer {
  const plain = Buffer.from(text).toString('latin1')
  return Buffer.from(plain.replace(/%([0-9a-f]{2})/gi, byteOf), 'latin1')
}

/** A Date field as ISO 8601; null if it is invalid or outside the years 1900 to 9999. */
export function readDate(line: string): string | null {
  const text = line.slice(0, 100).replace(/\([^()]*\)/g, ' ')
  if (ISO_DATE.test(text)) return isoOrNull(Date.parse(text))
  const found = RFC_DATE.exec(text)?.groups
  if (!found) return null
  const year = fullYear(found['year'] ?? '')
  const month = MONTHS.indexOf((found['month'] ?? '').toLowerCase())
  const numberOf = (name: string) => Number(found[name] ?? 0)
  const [day, hour] = [numberOf('day'), numberOf('hour')]
  const [minute, second] = [numberOf('minute'), numberOf('second')]
  if (year < FIRST_YEAR || month < 0 || day < 1 || day > 31) return null
  if (hour > 24 || minute > 59 || second > 60) return null
  const utc = Date.UTC(year, month, day, hour, minute, second)
  return isoOrNull(utc - zoneMinutes(found['zone'] ?? '') * 60_000)
}

const FIRST_YEAR = 1900
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const ISO_DATE = /^\s*\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)\s*$/
// RFC 5322, and RFC 850 with its dashes. Text after the zone is ignored.
const RFC_DATE =
  /^\s*(?:[a-z]{3,9}\s{0,9},?\s{1,9})?(?<day>\d{1,2})(?:\s{1,9}|-)(?<month>[a-z]{3})[a-z]{0,6}(?:\s{1,9}|-)(?<year>\d{2,6})\s{1,9}(?<hour>\d{1,2}):(?<minute>\d\d)(?::(?<second>\d\d))?(?:\s{0,9}(?<zone>[+-]\d{4}|[a-z]{1,5}))?/i

/** RFC 5322 4.3. */
function fullYear(text: string): number {
  const year = Number(text)
  if (text.length === 2) return year < 50 ? year + 2000 : year + 1900
  return text.length === 3 ? year + 1900 : year
}

const ZONES = new Map(
  Object.entries({ EDT: -4, EST: -5, CDT: -5, CST: -6, MDT: -6, MST: -7, PDT: -7, PST: -8 }),
)

function zoneMinutes(zone: string): number {
  const digits = /^([+-])(\d\d)(\d\d)$/.exec(zone)
  if (!digits) return (ZONES.get(zone.toUpperCase()) ?? 0) * 60
  const minutes = Number(digits[2]) * 60 + Number(digits[3])
  return digits[1] === '-' ? -minutes : minutes
}

function isoOrNull(time: number): string | null {
  // Other years need the expanded form of ISO 8601, which few programs support.
  return time >= Date.UTC(FIRST_YEAR, 0) && time < Date.UTC(10_000, 0)
    ? new Date(time).toISOString()
    : null
}
