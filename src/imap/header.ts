/** One header field; the name in lower case, the value on one line, one character per byte. */
export interface Field {
  name: string
  value: string
}

// Mail servers refuse much shorter ones; past this a header is there to cost us time.
export const MAX_HEADER_BYTES = 256 * 1024
const MAX_FIELDS = 2_000
const FIELD = /^([!-9;-~]+)[ \t]*:(.*)$/s

/** The fields of a header block in order, up to the empty line; lines that are none are passed over. */
export function readFields(block: Uint8Array): Field[] {
  const text = Buffer.from(block.buffer, block.byteOffset, Math.min(block.length, MAX_HEADER_BYTES))
  const fields: Field[] = []
  for (const lines of foldedLines(text.toString('latin1'))) {
    const [, name, value = ''] = FIELD.exec(lines.join(' ')) ?? []
    if (name) fields.push({ name: name.toLowerCase(), value: value.replace(BLANKS, ' ').trim() })
    if (fields.length === MAX_FIELDS) break
  }
  return fields
}

const BLANKS = /[ \t\r]+/g

/** Each field with the lines that continue it, up to the empty line. */
function foldedLines(text: string): string[][] {
  const lines = text.split('\n')
  // Cut by the limit: half a line would say something else than the whole.
  if (text.length === MAX_HEADER_BYTES) lines.pop()
  const folded: string[][] = []
  for (const line of lines) {
    if (line === '' || line === '\r') break
    if (/^[ \t]/.test(line)) folded.at(-1)?.push(line)
    else folded.push([line])
  }
  return folded
}
