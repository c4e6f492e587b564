import type { NamedAddress } from '../core/message.ts'
import { cleanLine } from '../core/text.ts'
import { commentEnd, quotedEnd } from './header-fields.ts'
import { decodeEncodedWords } from './header-values.ts'

/** A token of an address field. `adjacent`: no blank separates it from the previous token. */
interface Token {
  kind: 'atom' | 'word' | 'quoted' | 'comment' | 'angle' | 'comma' | 'colon'
  /** As written, including delimiters. */
  source: string
  adjacent: boolean
}

/** Tokenizes an address field in linear time, whatever the input. */
function* addressTokens(line: string): Generator<Token> {
  // A quote or bracket that is never closed is an ordinary character, as are all of its kind after it.
  const unclosed = new Set<string>()
  for (let at = 0, last = 0; at < line.length; ) {
    if (isBlank(line[at])) {
      at += 1
      continue
    }
    const piece = tokenAt(line, at, unclosed)
    if (piece.end < 0) {
      unclosed.add(line[at] ?? '')
      continue
    }
    yield { kind: piece.kind, source: line.slice(at, piece.end), adjacent: at > 0 && at === last }
    last = piece.end
    at = piece.end
  }
}

/** `end` is -1 if a delimiter opens here and is never closed. */
function tokenAt(line: string, at: number, unclosed: Set<string>) {
  const char = line[at] ?? ''
  const special = unclosed.has(char) ? undefined : SPECIAL[char]
  if (special) return { kind: special.kind, end: special.end(line, at) }
  const word = char === '=' ? wordEnd(line, at) : -1
  if (word > 0) return { kind: 'word', end: word } as const
  return { kind: 'atom', end: atomEnd(line, at, unclosed) } as const
}

function isBlank(char: string | undefined): boolean {
  return char === ' ' || char === '\t'
}

const SPECIAL: Partial<
  Record<string, { kind: Token['kind']; end: (line: string, at: number) => number }>
> = {
  '"': { kind: 'quoted', end: quotedEnd },
  '(': { kind: 'comment', end: commentEnd },
  '<': { kind: 'angle', end: angleEnd },
  ',': { kind: 'comma', end: (_, at) => at + 1 },
  // Some programs separate addresses with semicolons; at the end of a group it separates as well.
  ';': { kind: 'comma', end: (_, at) => at + 1 },
  ':': { kind: 'colon', end: (_, at) => at + 1 },
}

// An encoded word is one token even if it contains a comma or a bracket, as many do.
const WORD = /=\?[^?\s]{1,60}\?[bq]\?[^?\s]*\?=/iy

function wordEnd(line: string, at: number): number {
  WORD.lastIndex = at
  return WORD.test(line) ? WORD.lastIndex : -1
}

/** Ends before another `<`: in `Bob <work <bob@x.test>` the last one opens the address. */
function angleEnd(line: string, at: number): number {
  for (let i = at + 1; i < line.length; i += 1) {
    const char = line[i]
    if (char === '\\') i += 1
    else if (char === '>') return i + 1
    else if (char === '<') return i
    else if (char === '"') {
      const end = quotedEnd(line, i)
      if (end < 0) return -1
      i = end - 1
    }
  }
  return -1
}

function atomEnd(line: string, at: number, unclosed: Set<string>): number {
  for (let i = at + 1; i < line.length; i += 1) {
    const char = line[i] ?? ''
    if (line[i - 1] === '\\') continue
    if (char === '[' && line[i - 1] === '@') {
      const close = line.slice(i, i + MAX_ADDRESS_LITERAL).indexOf(']')
      if (close > 0) i += close
    } else if (isBlank(char) || (SPECIAL[char] && !unclosed.has(char))) return i
  }
  return line.length
}

// `[IPv6:…]` contains colons that do not start a group.
const MAX_ADDRESS_LITERAL = 64

const MAX_NAME = 256
const MAX_ADDRESS = 320
/** Of one mailbox. */
const MAX_TOKENS = 200

interface Mailbox extends NamedAddress {
  /** Something stands in angle brackets, even if it is no address. */
  inBrackets: boolean
}

/** The first mailbox. Text without an address is one only if no other follows: it may be half of a name with a comma. */
export function firstMailbox(line: string): NamedAddress | undefined {
  const found = readMailboxes(line).find(({ address, inBrackets }) => address || inBrackets)
  const mailbox = found ?? readMailboxes(line).next().value
  return mailbox && { name: mailbox.name, address: mailbox.address }
}

/**
 * The mailboxes of an address field in order, including those in groups; the address is '' if none can be read. An
 * address is never taken from an encoded word, a comment or a quoted name.
 */
export function* readMailboxes(line: string): Generator<Mailbox> {
  let entry: Token[] = []
  for (const token of addressTokens(line)) {
    if (token.kind === 'comma' || token.kind === 'colon') {
      // Text before a colon names a group, unless it contains an address.
      if (token.kind === 'comma' || entry.some(hasAddress)) yield* readEntry(entry)
      entry = []
    } else if (entry.length < MAX_TOKENS) entry.push(token)
  }
  yield* readEntry(entry)
}

/** The address without route and stray blanks; '' if the text is not exactly one address. */
export function readAddress(text: string): string {
  if (text.length > MAX_ADDRESS * 2) return ''
  const spec = text.replace(ROUTE, '').replace(BLANKS_INSIDE, '$1').trim()
  if (spec.length > MAX_ADDRESS || spec.includes('=?')) return ''
  return PLAIN.test(spec) || ADDRESS.test(spec) ? spec : ''
}

// RFC 5321 appendix C: `@one,@two:` before the address is ignored.
const ROUTE = /^\s*@[^:"]*:/
// Quadratic in a run of blanks, but the text is short.
const BLANKS_INSIDE = /[ \t]*([.@])[ \t]*/g
const PLAIN = /^[\w.!#$%&'*+/=?^`{|}~-]+@[\w.-]+$/
const ADDRESS =
  /^(?:"(?:[^"\\\p{C}]|\\[ -~])*"|[^\s"(),:;<>@[\\\]\p{C}\p{Z}]+)@(?:[\p{L}\p{N}\p{M}._-]+|\[[\w.:-]+\])$/u

// RFC 5321 4.5.3.1. With a blank on each side of its dots, either part is at most twice as long.
const MAX_LOCAL = 64
const MAX_HOST = 255
const LOCAL_END = /(?:"(?:[^"\\]|\\.)*"|(?<![^\s<>,;:()"])[^\s<>,;:()"]*)$/s
const HOST = /^[\p{L}\p{N}\p{M}._\u3002\uff0e\uff61-]{1,255}/u
const BLANKS = /[ \t]{2,}/g
const BLANK_AT_DOT = /[ \t](?=[.\u3002\uff0e\uff61])|(?<=[.\u3002\uff0e\uff61])[ \t]/g

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
    yield joinParts(before, after)
    // `ann@a. test` is obsolete, but valid; in `Mr. ann@a.test`, the first dot is not part of the address.
    const joined = [before, after].map((part) => part.replace(BLANK_AT_DOT, ''))
    if (joined[0] !== before || joined[1] !== after)
      yield joinParts(joined[0] ?? '', joined[1] ?? '')
  }
}

const PLAIN_HOST = /\s*([\w.\u0080-\uffff-]{1,255})/y
const LOCAL_DELIMITERS = ' \t\r\n<>,;:()@'

/** The same for text of any length: only what is written without comments and the like, at a fraction of the cost. */
export function* plainAddresses(text: string): Generator<string> {
  for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1)) {
    PLAIN_HOST.lastIndex = at + 1
    const host = PLAIN_HOST.exec(text)?.[1]
    yield host === undefined ? '' : `${localBefore(text, at)}@${host}`
  }
}

function localBefore(text: string, at: number): string {
  const first = Math.max(0, at - MAX_LOCAL)
  let from = at
  while (from > first && !LOCAL_DELIMITERS.includes(text[from - 1] ?? '')) from -= 1
  return text.slice(from, at)
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

function* readEntry(tokens: Token[]): Generator<Mailbox> {
  if (tokens.length === 0) return
  const comments = tokens.filter((token) => token.kind === 'comment')
  const rest = tokens.filter((token) => token.kind !== 'comment')
  const angle = rest.find((token) => token.kind === 'angle' && readAngle(token) !== '')
  const inBrackets = rest.some((token) => token.kind === 'angle')
  const bare = inBrackets ? undefined : bareAddress(rest)
  const address = angle ? readAngle(angle) : (bare?.address ?? '')
  const phrase = rest.filter(
    (token) => token.kind !== 'angle' && !bare?.tokens.includes(token) && token.source !== '>',
  )
  const name = displayName(phrase) || displayName(comments)
  if (name || address) yield { name, address, inBrackets }
}

/** '' for a bracket that is not closed. */
function readAngle({ source }: Token): string {
  return source.endsWith('>') ? readAddress(source.slice(1, -1)) : ''
}

/** Without angle brackets, the last run of tokens that forms an address. */
function bareAddress(tokens: Token[]): { address: string; tokens: Token[] } | undefined {
  const runs: Token[][] = []
  for (const token of tokens) {
    const run = runs.at(-1)
    const before = run?.at(-1)
    const joined = token.adjacent || token.source.startsWith('@') || before?.source.endsWith('@')
    if (run && joined) run.push(token)
    else runs.push([token])
  }
  for (const run of runs.reverse()) {
    if (run.some((token) => token.kind === 'word')) continue
    const address = readAddress(run.map((token) => token.source).join(''))
    if (address) return { address, tokens: run }
  }
  return undefined
}

function displayName(tokens: Token[]): string {
  const text = tokens.map((token) => (token.adjacent ? '' : ' ') + textOf(token)).join('')
  return cleanLine(decodeEncodedWords(text.trim()), MAX_NAME)
}

function textOf(token: Token): string {
  if (token.kind !== 'quoted' && token.kind !== 'comment') return token.source
  return token.source.slice(1, -1).replace(/\\(.)/g, '$1')
}

function hasAddress({ kind, source }: Token): boolean {
  return (kind === 'angle' || kind === 'atom') && source.includes('@')
}
