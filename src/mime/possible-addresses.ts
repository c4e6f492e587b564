import { wordEnd } from './addresses.ts'
import { commentEnd, decodeField, quotedEnd, STEP_BYTES } from './header-fields.ts'

// RFC 5321 4.5.3.1. With a blank on each side of its dots, either part is at most twice as long.
const MAX_LOCAL = 64
const MAX_HOST = 255
const LOCAL_END = /(?:"(?:[^"\\]|\\.)*"|(?<![^\s<>,;:()"])[^\s<>,;:()"]*)$/s
const HOST = /^[\p{L}\p{N}\p{M}._\u3002\uff0e\uff61-]{1,255}/u
const UNUSUAL_START = /^[^\p{L}\p{N}_@"]+/u
const BLANKS = /[ \t]{2,}/g
const BLANK_AT_DOT = /[ \t](?=[.\u3002\uff0e\uff61])|(?<=[.\u3002\uff0e\uff61])[ \t]/g

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it matches
const CONTROLS = /[\0-\x08\v\f\x0e-\x1f\x7f]+/g
const CONTROLS_AND_COMMENTS = new RegExp(`${CONTROLS.source}|\\([^()]*\\)|[()]`, 'g')

/** The field as programs may see it that drop control characters or comments, also in the middle of a word. */
export function readingsOf(line: string): string[] {
  return [line, line.replace(CONTROLS, ''), line.replace(CONTROLS_AND_COMMENTS, '')]
}

/**
 * What any program might read as an address in this field, valid or not: the text around each @ sign outside names. Finds too
 * much rather than too little. One sign at a time, because there may be millions; '' if no host follows it.
 */
export function* possibleAddresses(line: string): Generator<string> {
  const text = withoutNames(line).replace(BLANKS, ' ')
  for (let at = text.indexOf('@'), next = at; at >= 0; at = next) {
    next = text.indexOf('@', at + 1)
    const end = Math.min(at + 1 + 2 * MAX_HOST, next < 0 ? text.length : next)
    const before = text.slice(Math.max(0, at - 2 * MAX_LOCAL), at).trimEnd()
    const after = text.slice(at + 1, end).trimStart()
    const address = joinParts(before, after)
    yield address
    // Some programs look for a letter to start with.
    if (UNUSUAL_START.test(address)) yield address.replace(UNUSUAL_START, '')
    // `ann@a. test` is obsolete, but valid; in `Mr. ann@a.test`, the first dot is not part of the address.
    const joined = [before, after].map((part) => part.replace(BLANK_AT_DOT, ''))
    if (joined[0] !== before || joined[1] !== after)
      yield joinParts(joined[0] ?? '', joined[1] ?? '')
  }
}

const ALL_BLANKS = /\s{2,}/g
// With one level of comments inside. The limits, and that a host does not start with them, keep the time linear.
const BLANK_OR_COMMENT = String.raw`(?:\s|\((?:[^()\\]|\\.|\([^()]{0,200}\)){0,200}\))`
const DOT = `${BLANK_OR_COMMENT}*[.\u3002\uff0e\uff61]${BLANK_OR_COMMENT}*`
const LOCAL = String.raw`(?:${DOT}|[^\s<>,;:()@])*`
const PLAIN_HOST = String.raw`[\w.\u0080-\uffff-](?:${DOT}|[\w\u0080-\uffff-])*`
const AROUND_SIGN = new RegExp(
  `(?<=(${LOCAL})${BLANK_OR_COMMENT}*)@${BLANK_OR_COMMENT}*(${PLAIN_HOST})`,
  'sy',
)
const INSIDE = new RegExp(BLANK_OR_COMMENT, 'gs')
const SPREAD = /[\s()]/
const COMMENTS_AND_QUOTES = /\([^()]*\)|[()"]/g
// So much on each side of an @ sign is read beyond the end of a piece.
const MAX_SPREAD = 1_000

/**
 * The same for a field of any length: names are not told apart, and comments inside an address are short, at a fraction of the
 * cost. Undefined after each 64 KB: the caller may pause then.
 */
export function* plainAddresses(field: Buffer): Generator<string | undefined> {
  let [text, done] = ['', 0]
  for (let start = 0, end = 0; start < field.length; start = end) {
    if (start > 0) yield undefined
    end = characterStart(field, start + STEP_BYTES)
    const decoded = decodeField(field.toString('latin1', start, end))
    text += decoded.replace(CONTROLS, '').replace(ALL_BLANKS, ' ')
    // An address may continue in the next piece.
    const stop = end < field.length ? Math.max(0, text.length - MAX_SPREAD) : text.length
    yield* aroundSigns(text, done, stop)
    const joined = text.replace(COMMENTS_AND_QUOTES, '')
    if (joined !== text) yield* aroundSigns(joined, 0, joined.length)
    done = Math.min(stop, MAX_SPREAD)
    text = text.slice(stop - done)
  }
}

function* aroundSigns(text: string, start: number, stop: number): Generator<string> {
  for (let at = text.indexOf('@', start); at >= 0 && at < stop; at = text.indexOf('@', at + 1)) {
    AROUND_SIGN.lastIndex = at
    const [, local, host] = AROUND_SIGN.exec(text) ?? []
    if (local !== undefined && host !== undefined) yield* plainReadings(local, host)
  }
}

/** The last start of a UTF-8 character up to here. */
function characterStart(bytes: Uint8Array, at: number): number {
  const isContinued = (offset: number) => ((bytes[at - offset] ?? 0) & 0xc0) === 0x80
  return (
    at -
    Math.max(
      0,
      [0, 1, 2, 3].findIndex((offset) => !isContinued(offset)),
    )
  )
}

/** What is next to the sign, and all that may belong to it: see possibleAddresses. */
function plainReadings(local: string, host: string): string[] {
  if (!SPREAD.test(local + host)) return [plainReading(local, host)]
  return [
    plainReading(local.split(SPREAD).at(-1) ?? '', host.split(SPREAD, 1)[0] ?? ''),
    plainReading(local.replace(INSIDE, ''), host.replace(INSIDE, '')),
  ]
}

function plainReading(local: string, host: string): string {
  return `${local.slice(-MAX_LOCAL)}@${host.slice(0, MAX_HOST)}`
}

function joinParts(before: string, after: string): string {
  const host = HOST.exec(after)?.[0]
  return host === undefined ? '' : `${LOCAL_END.exec(before)?.[0]}@${host}`
}

const PLAIN_TEXT = /[^"(=\\]+/y

/**
 * Comments become blanks, and quoted strings and encoded words lose their @ signs. If there are no others, the line is
 * returned as it is. In linear time, whatever the input.
 */
function withoutNames(line: string): string {
  const unclosed = new Set<string>()
  let text = ''
  let copied = 0
  for (let at = 0; at < line.length; ) {
    const end = nameEnd(line, at, unclosed)
    if (end < 0) {
      at = textEnd(line, at)
      continue
    }
    const name = line[at] === '(' ? '' : line.slice(at, end)
    if (name === '' || name.includes('@')) {
      if (copied < at) text += `${line.slice(copied, at)} `
      text += name.replaceAll('@', ' ')
      copied = end
    }
    at = end
  }
  text += line.slice(copied)
  return text.includes('@') ? text : line
}

/** The end of a comment, a quoted string or an encoded word that starts here, else -1. */
function nameEnd(line: string, at: number, unclosed: Set<string>): number {
  const char = line[at]
  if (char === '=') return wordEnd(line, at)
  if ((char !== '"' && char !== '(') || unclosed.has(char)) return -1
  const end = char === '"' ? quotedEnd(line, at) : commentEnd(line, at)
  // As in addressTokens.
  if (end < 0) unclosed.add(char)
  return end
}

/** Where a name may start next; an escaped character starts none. */
function textEnd(line: string, at: number): number {
  const from = at + (line[at] === '\\' ? 2 : 1)
  PLAIN_TEXT.lastIndex = from
  return PLAIN_TEXT.test(line) ? PLAIN_TEXT.lastIndex : from
}
