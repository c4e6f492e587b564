import type { Correspondent } from '../core/message.ts'
import { addressTokens, type Token } from './address-tokens.ts'
import { cleanLine } from '../core/clean-text.ts'
import { decodeWords } from './words.ts'

const MAX_NAME = 256
const MAX_ADDRESS = 320
/** Of one mailbox; nobody's name has more pieces. */
const MAX_TOKENS = 200

/**
 * The mailboxes of an address header in order, groups opened; the address is '' where none can be read. An address is
 * only ever taken from what the sender wrote plainly: never from an encoded word, a comment or a quoted name.
 */
export function* readMailboxes(line: string): Generator<Correspondent> {
  let entry: Token[] = []
  for (const token of addressTokens(line)) {
    if (token.kind === 'comma' || token.kind === 'colon') {
      // What stands before a colon names a group, unless it has an address in it.
      if (token.kind === 'comma' || entry.some(hasAddress)) yield* readEntry(entry)
      entry = []
    } else if (entry.length < MAX_TOKENS) entry.push(token)
  }
  yield* readEntry(entry)
}

/** An address as written, without route and stray blanks; '' when it is not exactly one plain address. */
export function readAddress(text: string): string {
  if (text.length > MAX_ADDRESS * 2) return ''
  const spec = text.replace(ROUTE, '').replace(BLANKS_INSIDE, '$1').trim()
  if (spec.length > MAX_ADDRESS || spec.includes('=?')) return ''
  return PLAIN.test(spec) || ADDRESS.test(spec) ? spec : ''
}

// RFC 5321 appendix C: `@one,@two:` before the address is ignored.
const ROUTE = /^\s*@[^:"]*:/
// In the square of a run of blanks, but only short texts get here.
const BLANKS_INSIDE = /[ \t]*([.@])[ \t]*/g
const PLAIN = /^[\w.!#$%&'*+/=?^`{|}~-]+@[\w.-]+$/
const ADDRESS =
  /^(?:"(?:[^"\\\p{C}]|\\[ -~])*"|[^\s"(),:;<>@[\\\]\p{C}\p{Z}]+)@(?:[\p{L}\p{N}\p{M}._-]+|\[[\w.:-]+\])$/u

function* readEntry(tokens: Token[]): Generator<Correspondent> {
  if (tokens.length === 0) return
  const comments = tokens.filter((token) => token.kind === 'comment')
  const rest = tokens.filter((token) => token.kind !== 'comment')
  const angle = rest.find((token) => token.kind === 'angle' && readAngle(token) !== '')
  const bare = angle || rest.some((token) => token.kind === 'angle') ? undefined : bareAddress(rest)
  const address = angle ? readAngle(angle) : (bare?.address ?? '')
  const phrase = rest.filter(
    (token) => token.kind !== 'angle' && !bare?.tokens.includes(token) && token.source !== '>',
  )
  const name = nameOf(phrase) || nameOf(comments)
  if (name || address) yield { name, address }
}

/** '' for a bracket that another one interrupts. */
function readAngle({ source }: Token): string {
  return source.endsWith('>') ? readAddress(source.slice(1, -1)) : ''
}

/** Without angle brackets: the last run of pieces that reads as an address. */
function bareAddress(tokens: Token[]): { address: string; tokens: Token[] } | undefined {
  const runs: Token[][] = []
  for (const token of tokens) {
    const run = runs.at(-1)
    const before = run?.at(-1)
    const joined = token.glued || token.source.startsWith('@') || before?.source.endsWith('@')
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

function nameOf(tokens: Token[]): string {
  const text = tokens.map((token) => (token.glued ? '' : ' ') + textOf(token)).join('')
  return cleanLine(decodeWords(text.trim()), MAX_NAME)
}

function textOf(token: Token): string {
  if (token.kind !== 'quoted' && token.kind !== 'comment') return token.source
  return inner(token).replace(/\\(.)/g, '$1')
}

function hasAddress({ kind, source }: Token): boolean {
  return (kind === 'angle' || kind === 'atom') && source.includes('@')
}

function inner(token: Token): string {
  return token.source.slice(1, -1)
}
