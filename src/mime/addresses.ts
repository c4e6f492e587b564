import { cleanLine } from '../base/text.ts'
import type { NamedAddress } from '../shared/mail.ts'
import { commentEnd, quotedEnd } from './header-fields.ts'
import { decodeEncodedWords } from './header-values.ts'

/** A token of an address field. `adjacent`: no blank separates it from the previous token. */
interface Token {
  kind: 'atom' | 'word' | 'quoted' | 'comment' | 'angle' | 'comma' | 'colon'
  /** As written, including delimiters. */
  source: string
  adjacent: boolean
}

/** Tokenizes an address field in linear time, whatever the input. If it was cut, up to what may be closed after the cut. */
function* addressTokens(line: string, isCut: boolean): Generator<Token> {
  // A quote or bracket that is never closed is an ordinary character, as are all of its kind after it.
  const unclosed = new Set<string>()
  for (let at = 0, last = 0; at < line.length; ) {
    if (isBlank(line[at])) {
      at += 1
      continue
    }
    if (isCut && startsHalfWord(line, at)) return
    const piece = tokenAt(line, at, unclosed)
    if (piece.end < 0) {
      if (isCut) return
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

/** -1 if none starts here. */
export function wordEnd(line: string, at: number): number {
  WORD.lastIndex = at
  return WORD.test(line) ? WORD.lastIndex : -1
}

const HALF_WORD = /=(?:\?[^?\s]{0,60}(?:\?(?:[bq](?:\?[^?\s]*\??)?)?)?)?$/iy

/** Whether the rest of the line is the beginning of an encoded word. */
function startsHalfWord(line: string, at: number): boolean {
  HALF_WORD.lastIndex = at
  return line[at] === '=' && HALF_WORD.test(line)
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
/** Most tokens of one mailbox. */
const MAX_TOKENS = 200

interface Mailbox extends NamedAddress {
  /** Something stands in angle brackets, even if it is no address. */
  inBrackets: boolean
}

/** The first mailbox. Text without an address is one only if no other follows: it may be half of a name with a comma. */
export function firstMailbox(line: string, isCut = false): NamedAddress | undefined {
  const found = readMailboxes(line, isCut).find(({ address, inBrackets }) => address || inBrackets)
  const mailbox = found ?? (isCut ? undefined : readMailboxes(line).next().value)
  return mailbox && { name: mailbox.name, address: mailbox.address }
}

/**
 * The mailboxes of an address field in order, including those in groups; the address is '' if none can be read. An
 * address is never taken from an encoded word, a comment or a quoted name. Of a line that was cut, only whole ones: half an
 * address is a different address.
 */
export function* readMailboxes(line: string, isCut = false): Generator<Mailbox> {
  let entry: Token[] = []
  for (const token of addressTokens(line, isCut)) {
    if (token.kind === 'comma' || token.kind === 'colon') {
      // Text before a colon names a group, unless it contains an address.
      if (token.kind === 'comma' || entry.some(hasAddress)) yield* readEntry(entry)
      entry = []
    } else if (entry.length < MAX_TOKENS) entry.push(token)
  }
  if (!isCut || entry.some((token) => token.kind === 'angle' && token.source.endsWith('>'))) {
    yield* readEntry(entry)
  }
}

/** The address without route and stray blanks; '' if the text is not exactly one address. */
export function readAddress(text: string): string {
  if (text.length > MAX_ADDRESS * 2) return ''
  const spec = text.replace(ROUTE, '').replace(BLANKS_INSIDE, '$1$2').trim()
  if (spec.length > MAX_ADDRESS || spec.includes('=?')) return ''
  return PLAIN.test(spec) || ADDRESS.test(spec) ? spec : ''
}

// RFC 5321 appendix C: `@one,@two:` before the address is ignored.
const ROUTE = /^\s*@[^:"]*:/
// Tried only at the start of a run of blanks: at each of them, it would be quadratic.
const BLANKS_INSIDE = /(?<![ \t])[ \t]+([.@])[ \t]*|([.@])[ \t]+/g
const PLAIN = /^[\w.!#$%&'*+/=?^`{|}~-]+@[\w.-]+$/
const ADDRESS =
  /^(?:"(?:[^"\\\p{C}]|\\[ -~])*"|[^\s"(),:;<>@[\\\]\p{C}\p{Z}]+)@(?:[\p{L}\p{N}\p{M}._-]+|\[[\w.:-]+\])$/u

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
