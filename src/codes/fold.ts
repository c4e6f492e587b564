/**
 * Normalizes text for word search: full-width letters and all digits become ASCII; accents, invisible characters and emoji
 * are removed; blanks, quotes and dashes are unified. Case is kept, and lower-casing the result keeps its length.
 */
export function fold(text: string): string {
  if (ASCII.test(text)) return text
  const plain = text
    .normalize('NFC')
    .replace(MA, (_, m: string, a: string) => m + (a === 'ã' || a === 'Ã' ? CODE : BUT))
    .replace(INVISIBLE, '')
    .replace(SIGN, (sign) => SIGNS.get(sign) ?? ' ')
    .replace(DIGIT, asciiDigit)
    .replace(WIDE, (wide) => String.fromCharCode(wide.charCodeAt(0) - 0xfee0))
    .normalize('NFD')
    .replace(MARK, '')
    .normalize('NFC')
    .replace(STROKE, (letter) => STROKES.get(letter) ?? letter)
    .replaceAll(CODE, 'ã')
    .replaceAll(BUT, 'à')
  return narrow(plain)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII has them
const ASCII = /^[\u0000-\u007f]*$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: Latin-1 has them
const LATIN1 = /^[\u0000-\u00ff]*$/
/** Soft hyphens, joiners, direction marks and the Arabic tatweel. */
const INVISIBLE = /[\u00ad\u061c\u0640\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]|\ufe0f/g
/** Blanks, punctuation, currencies, arrows, emoji. */
const SIGN =
  /[\u00a0\u1680\u2000-\u200a\u2010-\u2029\u202f-\u205f\u20a0-\u20bf\u2122\u2190-\u27bf\u3000\ud83c-\ud83e\udc00-\udfff]/g
const SIGNS = new Map([
  ...[...'‐‑‒–—―'].map((dash): [string, string] => [dash, '-']),
  ...[...'‘’‚‛′'].map((quote): [string, string] => [quote, "'"]),
  ...[...'“”„‟″'].map((quote): [string, string] => [quote, '"']),
  ...[...'•‣●◦'].map((point): [string, string] => [point, '*']),
  ...[...'₣₤₦₨₩₪₫€₱₴₸₹₺₽₿'].map((money): [string, string] => [money, '¤']),
  ['…', '.'],
  ['→', '>'],
  ['‰', '%'],
])
/** Decimal digits of other scripts: Arabic-Indic, Persian, those of India (which start at 6), Thai and its neighbours. */
const DIGIT =
  /[\u0660-\u0669\u06f0-\u06f9\u0966-\u096f\u09e6-\u09ef\u0a66-\u0a6f\u0ae6-\u0aef\u0b66-\u0b6f\u0be6-\u0bef\u0c66-\u0c6f\u0ce6-\u0cef\u0d66-\u0d6f\u0e50-\u0e59\u0ed0-\u0ed9\u1040-\u1049\u17e0-\u17e9]/g
const WIDE = /[\uff0d\uff10-\uff1a\uff21-\uff3a\uff41-\uff5a]/g
/** Latin accents, Arabic short vowels and hamza, Hebrew vowels; kana keep their marks, which distinguish letters. */
const MARK = /[\u0300-\u036f\u05b0-\u05bc\u05c1\u05c2\u064b-\u0655]/g
/** Vietnamese "mã", a code, and "mà", but, stay different; without marks, "ma" is either. */
const MA = /(?<!\p{L})([Mm])([ãàáảạ])(?!\p{L})/giu
const CODE = '\ue000'
const BUT = '\ue001'
/** Not decomposed by Unicode; Arabic and Persian have their own forms of two letters. */
const STROKE = /[đĐłŁøØıيك]/g
const STROKES = new Map([...'đĐłŁøØıيك'].map((letter, at) => [letter, 'dDlLoOiیک'[at] ?? letter]))

function asciiDigit(digit: string): string {
  const code = digit.charCodeAt(0)
  return String.fromCharCode(0x30 + (code & 0xf) - (code >= 0x966 && code <= 0xd6f ? 6 : 0))
}

/** The same text as a one-byte string if possible: regular expressions then run four times as fast. */
function narrow(text: string): string {
  return LATIN1.test(text) ? Buffer.from(text, 'latin1').toString('latin1') : text
}
