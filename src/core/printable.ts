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
