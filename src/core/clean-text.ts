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
