import { decodeEntities, htmlTokens } from '../codes/html-tokens.ts'

// Reading this much takes less than 1 ms.
const STEP_CHARACTERS = 20_000
/** A tag counts as this many characters. */
const TAG_COST = 20
const INLINE = new Set(
  'a abbr b big em font i img mark s small span strong sub sup u wbr'.split(' '),
)

/**
 * The words that a browser would display, with single blanks between them, up to a length; for a search. In steps: the caller can
 * do something else between them.
 */
export function* htmlWords(html: string, maxLength: number): Generator<void, string> {
  let text = ''
  let cost = 0
  for (const token of htmlTokens(html)) {
    if (text.length > maxLength) break
    const isText = token.kind === 'text'
    if (isText) text += decodeEntities(token.text)
    else if (!INLINE.has(token.name.replace('/', ''))) text += ' '
    cost += isText ? token.text.length : TAG_COST + token.source.length
    if (cost < STEP_CHARACTERS) continue
    cost = 0
    yield
  }
  return text.slice(0, maxLength).replace(/[\s\u200b-\u200d\u2060\ufeff]+/g, ' ')
}
