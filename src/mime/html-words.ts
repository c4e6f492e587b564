import { decodeEntities, htmlTokens } from '../codes/html-tokens.ts'

// Reading this much takes less than 1 ms.
const STEP_CHARACTERS = 20_000
/** A token, or a piece of one, counts as this many characters more. */
const TOKEN_COST = 20
const PIECE_CHARACTERS = 4_000
// The longest that decodeEntities knows, as &#x0010ffff;
const REFERENCE_CHARACTERS = 12
const INLINE = new Set(
  'a abbr b big em font i img mark s small span strong sub sup u wbr'.split(' '),
)

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
  for (const { source, shown } of htmlPieces(html.slice(0, MAX_SOURCE))) {
    if (text.length > maxLength) break
    text += shown
    cost += TOKEN_COST + source.length
    if (cost < STEP_CHARACTERS) continue
    cost = 0
    yield
  }
  const words = text.slice(0, maxLength).replace(/[\s\u200b-\u200d\u2060\ufeff]+/g, ' ')
  return { words, isWhole: html.length <= MAX_SOURCE }
}

function* htmlPieces(html: string): Generator<{ source: string; shown: string }> {
  for (const token of htmlTokens(html)) {
    if (token.kind === 'tag') {
      const { source, name } = token
      yield { source, shown: INLINE.has(name.replace('/', '')) ? '' : ' ' }
    } else
      for (const source of textPieces(token.text)) yield { source, shown: decodeEntities(source) }
  }
}

/** A mail may be a single text of many megabytes. Character references stay whole. At least one, which may be empty. */
function* textPieces(text: string): Generator<string> {
  let at = 0
  while (text.length - at > PIECE_CHARACTERS) {
    const end = at + PIECE_CHARACTERS
    const reference = text.slice(end - REFERENCE_CHARACTERS, end).lastIndexOf('&')
    const next = reference === -1 ? end : end - REFERENCE_CHARACTERS + reference
    yield text.slice(at, next)
    at = next
  }
  yield text.slice(at)
}
