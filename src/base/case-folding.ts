/**
 * Text for comparison without case, by Unicode's full case folding (ß is ss) and canonical equivalence (an accent may be a
 * character of its own). Done here and not by a database, so that both engines find the same.
 */
export function foldCase(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase()
  return decomposed(text).split(DOTLESS_I).map(foldCased).join(DOTLESS_I).normalize('NFC')
}

/** The last position up to `at` where a text can be divided: its parts fold as the whole does. */
export function foldingBoundary(text: string, at: number): number {
  if (at >= text.length) return text.length
  const start = Math.max(0, at - MAX_JOINED)
  const found = LAST_STARTER.exec(text.slice(start, at + 1))
  return found ? start + found.index : at
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII has them
const ASCII = /^[\u0000-\u007f]*$/

// Normalization sorts each run of marks in quadratic time. Unicode's stream-safe format has a joiner after every 30.
function decomposed(text: string): string {
  if (!MANY_MARKS.test(text)) return text.normalize('NFD')
  const parts = Array.from(text, (char) => char.normalize('NFD'))
  return parts.join('').replace(RUN, '$&\u034f').normalize('NFD')
}

// Decomposed, they may be 30: a letter contains up to three, a mark two.
const MANY_MARKS = /\p{M}{13}/u
const RUN = /(?:(?!\u034f)\p{M}){30}(?!\u034f)/gu

// Nothing before it joins with a character that is neither a mark, nor a vowel or final consonant of Hangul, nor a vowel of Kirat
// Rai. Half of a pair may be a mark.
const LAST_STARTER =
  /[^\p{M}\u1160-\u11ff\u{16d67}\ud800-\udbff][\p{M}\u1160-\u11ff\u{16d67}\ud800-\udbff]*$/u
const MAX_JOINED = 100

// It has no case folding, but its upper case is an ASCII I.
const DOTLESS_I = 'ı'

// Upper case joins what lower case distinguishes, as ß and ss; lower case first, because ẞ is its own upper case. A sigma at
// the end of a word becomes ς, which folds to σ.
function foldCased(text: string): string {
  return text.toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ')
}
