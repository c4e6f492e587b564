/**
 * Text for comparison without case, by Unicode's full case folding (ß is ss) and canonical equivalence (an accent may be a
 * character of its own). Done here and not by a database, so that both engines find the same.
 */
export function foldCase(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase()
  const safe = text.replace(MARKS, '$&\u034f')
  return safe.normalize('NFD').split(DOTLESS_I).map(foldCased).join(DOTLESS_I).normalize('NFC')
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII has them
const ASCII = /^[\u0000-\u007f]*$/

// Unicode's stream-safe format: a joiner after every 30 marks. Normalization sorts each run of marks in quadratic time.
const MARKS = /\p{M}{30}/gu

// It has no case folding, but its upper case is an ASCII I.
const DOTLESS_I = 'ı'

// Upper case joins what lower case distinguishes, as ß and ss; lower case first, because ẞ is its own upper case. A sigma at
// the end of a word becomes ς, which folds to σ.
function foldCased(text: string): string {
  return text.toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ')
}
