// Explicit embeddings, overrides and isolates can make text read backwards; plain marks (U+200E, U+200F) cannot.
const BIDI = /[\u202a-\u202e\u2066-\u2069]/g
const BREAKS = /[\t\n\v\f\r\u0085\u2028\u2029]+/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this takes out
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g
const ORDINARY = /^[ -~]*$/

/** One line for a list or a JSON field: no control characters, no line breaks, nothing that turns the text around. */
export function cleanLine(text: string, maxLength: number): string {
  if (text.length <= maxLength && ORDINARY.test(text)) return text.trim()
  // What is taken out below can only make it shorter: four times the length is enough to fill it.
  const line = text
    .slice(0, maxLength * 4)
    .replace(BREAKS, ' ')
    .replace(CONTROL, '')
    .replace(BIDI, '')
    .trim()
  return cut(line, maxLength)
}

/** Text of many lines that is safe to keep as JSON and in a database: no NUL, no half characters. */
export function cleanText(text: string): string {
  return (text.includes('\0') ? text.replaceAll('\0', '') : text).toWellFormed()
}

/** Cuts between characters, never inside one. */
function cut(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text.toWellFormed()
  const last = text.charCodeAt(maxLength - 1)
  const inside = last >= 0xd800 && last <= 0xdbff
  return text.slice(0, inside ? maxLength - 1 : maxLength).toWellFormed()
}

// What a terminal, a pager or a line reader may act on: the C0 controls, DEL and the C1 controls, the two Unicode line
// ends, and the marks that turn the reading direction.
const CONTROLS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  /[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g

/** A stranger's text, safe to show on one line: whatever could forge or hide something is written as `\u001b`. */
export function printable(text: string): string {
  return text.replace(CONTROLS, escaped)
}

/** The same, with line breaks and tabs left as they are. */
export function printableLines(text: string): string {
  return text.replace(CONTROLS, (found) => (/[\n\t]/.test(found) ? found : escaped(found)))
}

function escaped(found: string): string {
  return `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`
}
