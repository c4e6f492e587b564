// mailauth takes time that grows with the square of the lines, of blanks or dots in a row, and of the fields if a signature lists them.
const MAX_HEADER_BYTES = 256 * 1024
const MAX_LINES = 5_000
const MAX_FIELDS = 1_000
const LONG_RUN = /(?<![ \t\r\n])[ \t\r\n]{500}|(?<!\.)\.{500}/
// Our parser may show only the beginning of longer ones (From: 4 KB), and mailauth reads nested groups in From up to 50 times.
const MAX_FROM_BYTES = 2 * 1024
const MAX_SUBJECT_BYTES = 16 * 1024

/** False if the header exceeds limits that only crafted mail exceeds. Then signatures are not checked. */
export function isCheckable(raw: Buffer): boolean {
  const header = readHeader(raw)
  return (
    header !== undefined &&
    header.split('\n').length <= MAX_LINES &&
    header.split(/\n(?![ \t])/).length <= MAX_FIELDS &&
    !LONG_RUN.test(header) &&
    fieldBytes(header, 'from') <= MAX_FROM_BYTES &&
    fieldBytes(header, 'subject') <= MAX_SUBJECT_BYTES
  )
}

/** As latin1; undefined if it is too long. */
function readHeader(raw: Buffer): string | undefined {
  const text = raw.toString('latin1', 0, MAX_HEADER_BYTES)
  const end = /^\r?\n|\n\r?\n/.exec(text)
  if (end) return text.slice(0, end.index)
  return raw.length > MAX_HEADER_BYTES ? undefined : text
}

/** Of all fields with this name. As in mailauth, a field ends before the next name and colon. */
function fieldBytes(header: string, name: string): number {
  const rest = `[^\\n]*(?:\\n(?![!-9;-~]+${COLON})[^\\n]*)*`
  const field = new RegExp(`(?:^[ \\t]*|\\n)${name}${COLON}${rest}`, 'gi')
  return (header.match(field) ?? []).join('').length
}

const COLON = '[ \\t\\r\\n]*:'

// Our parser looks for the colon in the first 256 bytes.
const FIELD_START = /^[!-9;-~]+[ \t]{0,200}:/
const BROKEN_FOLD = /\n[^ \t]/

/**
 * False for a field that mailauth reads and our parser does not, or not to its end: mailauth also joins lines without a leading
 * blank. RFC 6376 3.8: verifiers should make sure that a mail is valid by RFC 5322.
 */
export function isWellFormed(field: Buffer): boolean {
  const text = field.toString('latin1')
  return FIELD_START.test(text) && !BROKEN_FOLD.test(text)
}
