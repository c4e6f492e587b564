import {
  BLOCK_ELEMENTS,
  decodeEntities,
  htmlTokenizer,
  INLINE_BOXES,
} from '../codes/html-tokens.ts'

// Reading this much takes less than 1 ms.
const STEP_CHARACTERS = 20_000
/** A token, or a piece of one, counts as this many characters more. */
const TOKEN_COST = 20
const PIECE_CHARACTERS = 4_000
// The longest name: CounterClockwiseContourIntegral
const REFERENCE_CHARACTERS = 33

// Tags of megabytes may have few words between them.
const MAX_SOURCE = 2_000_000

export interface HtmlWords {
  words: string
  /** False if only the beginning of the source was read. */
  isWhole: boolean
}

/**
 * The words that a browser would display, with single blanks between them, up to a length; for a search. In steps: the caller can
 * do something else between them.
 */
export function* htmlWords(html: string, maxLength: number): Generator<void, HtmlWords> {
  let text = ''
  let cost = 0
  const tokens = htmlTokenizer(html.slice(0, MAX_SOURCE))
  for (let token = tokens.next(); token; token = tokens.next()) {
    if (text.length > maxLength) break
    const source = token.kind === 'text' ? token.text : token.source
    cost += TOKEN_COST + source.length
    if (token.kind === 'tag') text += isApart(token.name) ? ' ' : ''
    else if (source.length <= PIECE_CHARACTERS) text += decodeEntities(source)
    else text += yield* decodeLong(source, maxLength - text.length)
    if (cost < STEP_CHARACTERS) continue
    cost = 0
    yield
  }
  const words = text.slice(0, maxLength).replace(/[\s\u200b-\u200d\u2060\ufeff]+/g, ' ')
  return { words, isWhole: html.length <= MAX_SOURCE }
}

function isApart(name: string): boolean {
  return INLINE_BOXES.has(name) || BLOCK_ELEMENTS.has(name)
}

/** A mail may be a single text of many megabytes. Character references stay whole. */
function* decodeLong(text: string, maxLength: number): Generator<void, string> {
  let decoded = ''
  for (let at = 0; at < text.length && decoded.length <= maxLength; ) {
    const end = at + PIECE_CHARACTERS
    const reference = text.slice(end - REFERENCE_CHARACTERS, end).lastIndexOf('&')
    const next = reference === -1 ? end : end - REFERENCE_CHARACTERS + reference
    decoded += decodeEntities(text.slice(at, next))
    at = next
    yield
  }
  return decoded
}
