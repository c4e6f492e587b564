/**
 * Text as words are looked up in it: full-width letters and all digits in ASCII, letters without their marks, blanks
 * plain, nothing invisible. The case stays; a lower-case copy has the same length.
 */
export function fold(text: string): string {
  if (ASCII.test(text)) return text
  return text
    .normalize('NFC')
    .replace(MA, `$1${KEPT}`)
    .replace(INVISIBLE, '')
    .replace(BLANK, ' ')
    .replace(DIGIT, (digit) =>
      String.fromCharCode(0x30 + (digit.charCodeAt(0) & 0xf) - shift(digit)),
    )
    .replace(WIDE, (wide) => String.fromCharCode(wide.charCodeAt(0) - 0xfee0))
    .normalize('NFD')
    .replace(MARK, '')
    .normalize('NFC')
    .replace(STROKE, (letter) => (letter === 'đ' ? 'd' : 'D'))
    .replaceAll(KEPT, 'ã')
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII has them
const ASCII = /^[\u0000-\u007f]*$/
/** Soft hyphens, joiners, marks of direction and the Arabic stretch: none of them changes a word. */
const INVISIBLE = /[\u00ad\u061c\u0640\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g
const BLANK = /[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/g
/** Arabic-Indic, Persian, Devanagari. */
const DIGIT = /[\u0660-\u0669\u06f0-\u06f9\u0966-\u096f]/g
const WIDE = /[\uff0d\uff10-\uff1a\uff21-\uff3a\uff41-\uff5a]/g
/** Accents of Latin letters and the short vowels of Arabic; kana keep their marks, which make other letters of them. */
const MARK = /[\u0300-\u036f\u064b-\u0652]/g
/** Vietnamese for code keeps its mark: without it is French for my. */
const MA = /(?<!\p{L})([Mm])[ãÃ](?!\p{L})/gu
const KEPT = '\ue000'
/** Unicode sees no mark in the Vietnamese letter. */
const STROKE = /[đĐ]/g

/** Devanagari counts from 6, the others from 0. */
function shift(digit: string): number {
  return digit >= '\u0966' ? 6 : 0
}
