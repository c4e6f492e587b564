// Explicit embeddings, overrides and isolates can reverse text; plain marks (U+200E, U+200F) cannot.
const BIDI = /[\u202a-\u202e\u2066-\u2069]/g
const BREAKS = /[\t\n\v\f\r\u0085\u2028\u2029]+/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this removes
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g
const ORDINARY = /^[ -~]*$/

/** One line for a list or a JSON field: no control characters, line breaks or bidi controls. */
export function cleanLine(text: string, maxLength: number): string {
  if (text.length <= maxLength && ORDINARY.test(text)) return text.trim()
  // Removal only shortens the text: four times the length is enough input.
  const line = text
    .slice(0, maxLength * 4)
    .replace(BREAKS, ' ')
    .replace(CONTROL, '')
    .replace(BIDI, '')
    .trim()
  return cut(line, maxLength)
}

const PREVIEW_CHARACTERS = 120
// Folded blanks, controls and surrogate pairs only shorten the text.
const PREVIEW_INPUT = 4_096

/** The first characters of a text on one line, with each run of whitespace as one space. */
export function previewOf(text: string): string {
  const line = text
    .trimStart()
    .slice(0, PREVIEW_INPUT)
    .replace(/\s+/g, ' ')
    .replace(CONTROL, '')
    .replace(BIDI, '')
    .trim()
  const characters = Iterator.from(line).take(PREVIEW_CHARACTERS)
  return [...characters].join('').trimEnd().toWellFormed()
}

/** Multi-line text that is safe in JSON and in a database: no NUL, no lone surrogates. */
export function cleanText(text: string): string {
  return (text.includes('\0') ? text.replaceAll('\0', '') : text).toWellFormed()
}

/** Long text without its middle: how it begins and ends. */
export function shortened(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  const half = Math.floor(maxLength / 2)
  const omitted = ` … (${text.length - 2 * half} characters left out) … `
  return `${text.slice(0, half)}${omitted}${text.slice(-half)}`.toWellFormed()
}

/** Never splits a surrogate pair. */
function cut(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text.toWellFormed()
  const last = text.charCodeAt(maxLength - 1)
  const inside = last >= 0xd800 && last <= 0xdbff
  return text.slice(0, inside ? maxLength - 1 : maxLength).toWellFormed()
}

// What a terminal, a pager or a line parser may act on: C0 controls, DEL and C1 controls, the two Unicode line
// separators, and bidi marks.
const CONTROLS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this matches
  /[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g

/** Untrusted text, safe to print on one line: control characters are written as `\u001b`. */
export function printable(text: string): string {
  return text.replace(CONTROLS, escaped)
}

/** The same, keeping line breaks and tabs. */
export function printableLines(text: string): string {
  return text.replace(CONTROLS, (found) => (/[\n\t]/.test(found) ? found : escaped(found)))
}

function escaped(found: string): string {
  return `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`
}
